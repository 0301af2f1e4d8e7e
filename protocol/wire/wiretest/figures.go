package wiretest

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/h2"
	"contend/internal/testenv"
)

// Planted are the times that a Figures server lets go by: in a handshake of TLS, before it reads what is uploaded,
// before the first byte of a slow answer, and between its halves.
const (
	PlantedHandshake = 30 * time.Millisecond
	PlantedUpload    = 60 * time.Millisecond
	PlantedFirst     = 40 * time.Millisecond
	PlantedLast      = 30 * time.Millisecond
)

// Figures is a server of HTTP that counts what a load generator has to say of it.
type Figures struct {
	Secure, Streams bool // by TLS; in HTTP/2
	// Came and Went are the bytes that it read and wrote: all of HTTP/1.1, of HTTP/2 the frames of requests and answers.
	// BelowCame and BelowWent are all bytes on its sockets.
	Came, Went, BelowCame, BelowWent atomic.Int64
	// Told is what was posted to /told.
	Told atomic.Value
}

// Serve returns the URL of the server, which serves until the test's end.
func (f *Figures) Serve(t testing.TB) string {
	t.Helper()
	l := f.Listen(t)
	s := &http.Server{Handler: f, Protocols: new(http.Protocols)}
	s.Protocols.SetHTTP1(!f.Streams)
	s.Protocols.SetUnencryptedHTTP2(f.Streams) // over TLS as well, which it knows nothing of
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Close()
		serving.Wait()
	})
	if f.Secure {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Listen returns a listener of its own whose connections are counted.
func (f *Figures) Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	return figuresListener{l, f}
}

// Counted waits until it has counted as many bytes, and up to so many more: what it wrote may be read before it counts
// it, and at the end of a connection either side may say what the other does not count.
func (f *Figures) Counted(came, went, more int64) bool {
	within := func(n, least int64) bool { return n >= least && n <= least+more }
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if within(f.Came.Load(), came) && within(f.Went.Load(), went) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// patience is how long a server may take to count.
const patience = 5 * time.Second

// ServeHTTP answers the same each time, without a date.
func (f *Figures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Date"] = nil
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/wrong":
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"wrong":true}`)
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/cut":
		panic(http.ErrAbortHandler)
	case "/told":
		told, _ := io.ReadAll(r.Body)
		f.Told.Store(string(told))
	case "/slow":
		time.Sleep(PlantedFirst)
		_, _ = w.Write(make([]byte, 1000))
		w.(http.Flusher).Flush()
		time.Sleep(PlantedLast)
		_, _ = w.Write(make([]byte, 1000))
	case "/upload":
		time.Sleep(PlantedUpload)
		fallthrough
	case "/echo":
		_, _ = io.Copy(io.Discard, r.Body)
		fallthrough
	default: // /right
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
		_, _ = io.WriteString(w, `{"right":true}`)
	}
}

// A figuresListener counts what goes over its connections.
type figuresListener struct {
	net.Listener
	of *Figures
}

func (l figuresListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10) // an upload has to wait for its reader
	all := func(b []byte) int64 { return int64(len(b)) }
	conn = &figuresConn{Conn: conn, came: all, went: all, read: &l.of.BelowCame, wrote: &l.of.BelowWent}
	protocol := "http/1.1"
	came, went := all, all
	if l.of.Streams {
		protocol = "h2"
		from, to := h2.ClientGauge(), h2.Gauge{}
		came, went = from.Count, to.Count
	}
	if l.of.Secure {
		conn.(*figuresConn).pause = PlantedHandshake
		conn = tls.Server(conn, TLS(protocol))
	}
	return &figuresConn{Conn: conn, came: came, went: went, read: &l.of.Came, wrote: &l.of.Went}, nil
}

// A figuresConn counts bytes, and begins to read after a pause.
type figuresConn struct {
	net.Conn
	came, went  func([]byte) int64
	read, wrote *atomic.Int64
	pause       time.Duration
}

func (c *figuresConn) Read(b []byte) (int, error) {
	time.Sleep(c.pause)
	c.pause = 0
	n, err := c.Conn.Read(b)
	c.read.Add(c.came(b[:n]))
	return n, err
}

func (c *figuresConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote.Add(c.went(b[:n]))
	return n, err
}
