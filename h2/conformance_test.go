package h2

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is a server of another implementation, with all that an answer may
// consist of.
func handler(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /long", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-long", strings.Repeat("long", 10_000))
		w.Write(bytes.Repeat([]byte("0123456789"), 100_000))
	})
	mux.HandleFunc("GET /early", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("trailer", "x-sum")
		io.WriteString(w, "body")
		w.Header().Set("x-sum", "4")
	})
	mux.HandleFunc("GET /count", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-new", time.Now().String()) // a new entry of the table each time
		io.WriteString(w, "counted")
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, r.Body); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("POST /ignore", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("GET /abort", func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	return mux
}

// A driver is the least that a Conn needs: it sends, reads and starts the next
// request of a slot when one has ended.
type driver struct {
	conn  net.Conn
	c     *Conn
	r     *recorder
	out   []byte
	ended int
}

func drive(t *testing.T, slots int, config http.HTTP2Config) *driver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	server := http.Server{Handler: handler(t), HTTP2: &config, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener)
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	testenv.Must(t, err)
	t.Cleanup(func() {
		conn.Close()
		server.Close()
		<-done
	})
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	d := &driver{conn: conn, r: &recorder{}}
	d.c = NewConn(slots, d)
	d.out = d.c.Open(nil)
	return d
}

func (d *driver) Header(slot int, h *Header, ends bool) error { return d.r.Header(slot, h, ends) }
func (d *driver) Data(slot int, p []byte) error               { return d.r.Data(slot, p) }

func (d *driver) End(slot int, err error) {
	d.ended++
	d.r.End(slot, err)
}

// until sends and reads until n streams more have ended.
func (d *driver) until(t *testing.T, n int) []string {
	t.Helper()
	n += d.ended
	buffer := make([]byte, 5000)
	for d.ended < n {
		if _, err := d.conn.Write(d.out); err != nil {
			t.Fatal(err)
		}
		read, err := d.conn.Read(buffer)
		testenv.Must(t, err)
		if d.out, err = d.c.Receive(d.out[:0], buffer[:read]); err != nil {
			t.Fatal(err)
		}
	}
	events := d.r.events
	d.r.events = nil
	return events
}

func (d *driver) start(slot int, method, path, body string) {
	fields := []Field{{":method", method}, {":scheme", "http"}, {":authority", "h"}, {":path", path}, {"x-long", strings.Repeat("x", 100)}}
	d.out = d.c.Start(d.out, slot, NewRequest(fields, []byte(body)))
}

func TestAgainstAnotherServer(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	for _, test := range []struct {
		method, path, body string
		want               []string // parts of each event
	}{
		{"GET", "/empty", "", []string{"header 200 ends=true", "end <nil>"}},
		{"HEAD", "/long", "", []string{"header 200 ends=true", "end <nil>"}},
		{"GET", "/long", "", []string{"header 200 ends=false", "data 1000000", "end <nil>"}},
		{"GET", "/early", "", []string{"header 204 ends=true", "end <nil>"}},
		{"GET", "/trailers", "", []string{"header 200 ends=false", "data 4", "header 0 ends=true x-sum: 4", "end <nil>"}},
		{"GET", "/none", "", []string{"header 404 ends=false", "data 19", "end <nil>"}},
		{"POST", "/echo", "ab", []string{"header 200 ends=false", "data 2", "end <nil>"}},
		{"POST", "/echo", big, []string{"header 200 ends=false", "data 1048576", "end <nil>"}},
		{"POST", "/ignore", big, []string{"header 403 ends=true", "end <nil>"}},
		{"GET", "/abort", "", []string{"header 200 ends=false", "end HTTP/2: the server reset the stream: INTERNAL_ERROR"}},
	} {
		t.Run(test.method+test.path, func(t *testing.T) {
			d := drive(t, 2, http.HTTP2Config{})
			for range 3 {
				d.start(1, test.method, test.path, test.body)
				events := d.until(t, 1)
				if len(events) != len(test.want) {
					t.Fatalf("%.100q, want %q", events, test.want)
				}
				for i, want := range test.want {
					if !strings.Contains(events[i], want) {
						t.Errorf("event %.100q, want %q", events[i], want)
					}
				}
			}
		})
	}
}

// Many streams at a time, more than the server takes, all arrive; each answer
// changes the table of the decoder.
func TestManyStreams(t *testing.T) {
	const slots, rounds = 20, 30
	d := drive(t, slots, http.HTTP2Config{MaxConcurrentStreams: 7})
	for slot := range slots {
		d.start(slot, "GET", "/count", "")
	}
	answered := map[int]int{}
	for d.ended < slots*rounds {
		for _, event := range d.until(t, 1) {
			var slot int
			if n, _ := fmt.Sscanf(event, "%d end", &slot); n != 1 || !strings.Contains(event, " end ") {
				continue
			}
			if !strings.HasSuffix(event, "end <nil>") {
				t.Fatal(event)
			}
			if answered[slot]++; answered[slot] < rounds {
				d.start(slot, "GET", "/count", "")
			}
		}
	}
	for slot, n := range answered {
		if n != rounds {
			t.Errorf("slot %d had %d answers", slot, n)
		}
	}
}
