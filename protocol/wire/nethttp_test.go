package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

// Each error that net/http tells by its text is provoked: another version of Go may say it otherwise.
func TestTextsOfNetHTTP(t *testing.T) {
	byPeer := func(err error) bool { _, byPeer, _ := OfStream(err); return byPeer }
	for name, tt := range map[string]struct {
		server func(net.Conn)
		before int  // requests that are answered
		ends   bool // the connection, before it is used again
		text   string
		is     func(error) bool
	}{
		"idle connection closed": {answersOnce, 1, true, closedIdle, ClosedIdle},
		"stream reset":           {wiretest.Streams(resets), 0, false, resetByPeer, byPeer},
		"shutdown":               {wiretest.Streams(sendsAway(http2.ErrCodeNo)), 0, false, shutsDown, ShutsDown},
		"shutdown is an end":     {wiretest.Streams(sendsAway(http2.ErrCodeNo)), 0, false, goneAway, IsGone},
		"sent away":              {wiretest.Streams(sendsAway(http2.ErrCodeProtocol)), 0, false, goneAway, IsGone},
		"no answer to a ping":    {wiretest.Streams(func(wiretest.Stream) {}), 0, false, pingLost, IsGone},
		"never started":          {neverStarts, 0, true, neverStarted, IsGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var config *http.HTTP2Config
			if tt.text == pingLost {
				config = &http.HTTP2Config{SendPingTimeout: 20 * time.Millisecond, PingTimeout: 20 * time.Millisecond}
			}
			conn := dial(t, wiretest.Listen(t, tt.server), tt.before > 0, config)
			for range tt.before {
				testenv.Must(t, ask(t, conn))
			}
			for wait := time.Now(); tt.ends && conn.Err() == nil; time.Sleep(time.Millisecond) {
				if time.Since(wait) > testenv.Patience {
					t.Fatal("the end of the connection is not seen")
				}
			}
			if err := ask(t, conn); err == nil || !tt.is(err) || !says(err, tt.text) {
				t.Errorf("%q is not recognised: %v", tt.text, err)
			}
		})
	}
}

// A connection of HTTP/2 that takes no more requests says so in words of its own, and so does one that is closed.
func TestTextsOfEndedHTTP2(t *testing.T) {
	conn := dial(t, wiretest.Listen(t, wiretest.Streams(sendsAway(http2.ErrCodeNo))), false, nil)
	_ = ask(t, conn)
	if err := ask(t, conn); err == nil || !IsGone(err) || !says(err, notUsable) {
		t.Errorf("%q is not recognised: %v", notUsable, err)
	}
	conn.Close()
	if err := conn.Err(); err == nil || !IsGone(err) || !says(err, closed) {
		t.Errorf("%q is not recognised: %v", closed, err)
	}
}

// So does one that is closed under a request, as by another that shares it.
func TestTextOfAConnectionClosedUnderARequest(t *testing.T) {
	arrived, failed := make(chan struct{}), make(chan error, 1)
	conn := dial(t, wiretest.Listen(t, wiretest.Streams(func(wiretest.Stream) { close(arrived) })), false, nil)
	go func() { failed <- ask(t, conn) }()
	<-arrived
	conn.Close()
	if err := <-failed; err == nil || !IsGone(err) || !says(err, forceClosed) {
		t.Errorf("%q is not recognised: %v", forceClosed, err)
	}
}

// dial opens a connection of net/http.
func dial(t *testing.T, address string, http1 bool, config *http.HTTP2Config) *http.ClientConn {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(http1)
	protocols.SetUnencryptedHTTP2(!http1)
	transport := &http.Transport{Protocols: protocols, HTTP2: config}
	conn, err := transport.NewClientConn(t.Context(), "http", address)
	testenv.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ask makes a request that net/http may not repeat, and reads its answer.
func ask(t *testing.T, conn *http.ClientConn) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/", io.NopCloser(strings.NewReader("x")))
	testenv.Must(t, err)
	answer, err := conn.RoundTrip(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// answersOnce answers one request of HTTP/1.1 and closes the connection, which is a reset if it has not read all.
func answersOnce(conn net.Conn) {
	defer conn.Close()
	if request, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
		_, _ = io.Copy(io.Discard, request.Body)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}

// neverStarts closes a connection of HTTP/2 before it says anything.
func neverStarts(conn net.Conn) {
	_, _ = io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
	wiretest.HalfClose(conn)
}

func resets(s wiretest.Stream) { _ = s.WriteRSTStream(s.ID, http2.ErrCodeInternal) }

// sendsAway says that no stream was taken.
func sendsAway(code http2.ErrCode) func(wiretest.Stream) {
	return func(s wiretest.Stream) { _ = s.WriteGoAway(0, code, nil) }
}
