package roundtrip

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
)

func TestRunCountsWhatTheServerCounted(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, w way, connections wire.Connections) {
		var asked, wrong atomic.Int64
		c := w.config(t, func(rw http.ResponseWriter, r *http.Request) {
			if r.Proto != "HTTP/"+w.version+".0" {
				wrong.Add(1)
			}
			if asked.Add(1)%4 == 0 {
				rw.WriteHeader(503)
			}
			_, _ = io.WriteString(rw, "12345")
		})
		c.Sharing = connections
		r := run(t, c, load.Plan{VUs: 8, Iterations: 200, Timeout: testenv.Patience})
		if asked.Load() != 200 || wrong.Load() != 0 || r.Completed != 150 || r.Failed != 50 || len(r.Errored) != 0 || r.BodyIn != 5*200 {
			t.Errorf("server: %d, %d of another version; completed %d, failed %d, errored %v, %d bytes; want 200, 0; 150, 50, none, 1000",
				asked.Load(), wrong.Load(), r.Completed, r.Failed, r.Errored, r.BodyIn)
		}
	})
}

func TestRequestSaysWhatIsConfigured(t *testing.T) {
	for _, w := range ways {
		body := bytes.Repeat([]byte("body "), 50_000)
		c := w.config(t, func(rw http.ResponseWriter, r *http.Request) {
			got, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Equal(got, body) || r.ContentLength != int64(len(body)) || r.Method != "PUT" || r.Host != "other" ||
				r.RequestURI != "/a%2fb%7Cc?b=c%20d" || strings.Join(r.Header["X-Y"], ",") != "1,2" || r.UserAgent() != "contend" || len(r.Header) != 3 {
				rw.WriteHeader(400)
				_ = r.Header.Write(rw)
			}
			rw.WriteHeader(201)
		})
		c.URL, c.Method, c.Body, c.ExpectStatus = c.URL+"/a%2fb|c?b=c d", "PUT", body, []int{201}
		c.Header = []wire.Field{{Name: "x-y", Value: "1"}, {Name: "X-Y", Value: "2"}, {Name: "host", Value: "other"}}
		v := newTestVU(t, c)
		for i := range 3 { // the first waits for a connection that took long
			out, err := v.Do(context.Background())
			if err != nil || out.Failed || out.BytesOut < 250_000 || i > 0 && out.Phases.Connect != 0 || out.Phases.FirstByte <= 0 {
				t.Errorf("%s: got %+v, %v, detail %q", w.name, out, err, out.Detail)
			}
		}
	}
}

func TestWrongAnswerSaysWhatWasExpected(t *testing.T) {
	for _, w := range ways {
		c := w.config(t, func(http.ResponseWriter, *http.Request) {})
		c.ExpectStatus = []int{201, 204}
		if out, err := newTestVU(t, c).Do(context.Background()); err != nil || !out.Failed || out.Expected != "201 or 204" {
			t.Errorf("%s: got %+v, %v", w.name, out, err)
		}
	}
}

func TestStatusDecides(t *testing.T) {
	for _, w := range ways {
		for status, failed := range map[int]bool{200: false, 204: false, 302: false, 399: false, 400: true, 404: true, 500: true} {
			c := w.config(t, func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Location", "/elsewhere")
				rw.WriteHeader(status)
				_, _ = io.WriteString(rw, strings.Repeat("x", 700))
			})
			out, err := newTestVU(t, c).Do(context.Background())
			if err != nil || out.Status != status || out.Failed != failed || failed && (len(out.Detail) != maxDetail || out.BodyIn != 700) {
				t.Errorf("%s: status %d: got %+v, %v", w.name, status, out, err)
			}
		}
	}
}

// In fake time the delay is all that there is.
func TestADelayIsMeasuredExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 30 * time.Millisecond
		pipes := make(pipeListener)
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			time.Sleep(delay)
			rw.WriteHeader(200)
			_ = http.NewResponseController(rw).Flush()
			time.Sleep(delay)
		})}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(pipes) })
		target, err := New(Config{URL: "http://pipe/", Version: "2"})
		testenv.Must(t, err)
		target.dial = pipes.dial
		made, _ := target.NewVU(t.Context(), 0)
		v := made.(*vu)
		v.SetTimeout(time.Second)
		for range 3 {
			start := time.Now()
			out, err := v.Do(t.Context())
			if err != nil || time.Since(start) != 2*delay || out.Phases.FirstByte != delay {
				t.Errorf("took %v, first byte %v, %v", time.Since(start), out.Phases.FirstByte, err)
			}
		}
		v.SetTimeout(delay)
		start := time.Now()
		if _, err := v.Do(t.Context()); errkind.Of(err) != errkind.Timeout || time.Since(start) != delay {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(time.Second) // the handler ends
		v.Close()
		close(pipes)
		server.Close()
		serving.Wait()
	})
}

type pipeListener chan net.Conn

func (l pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	l <- theirs
	return ours, nil
}

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l pipeListener) Close() error { return nil }

func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
