package static

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Requests arrive in any pieces, and are answered in order.
func TestPipeline(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	var want []int
	for i := range 40 {
		line, code := "GET /a.txt", 200
		switch i % 5 {
		case 1:
			line, code = "GET /big.bin", 200
		case 2:
			line, code = "GET /none", 404
		case 3:
			line, code = "DELETE /a.txt", 405
		}
		fmt.Fprintf(&all, "\r\n%s HTTP/1.1\r\nHost: x\r\nX-N: %d\r\n\r\n", line, i/10)
		want = append(want, code)
	}
	s := start(t, Config{Dir: testSite(t)})
	for _, piece := range []int{1, 7, 100, all.Len()} {
		c := dial(t, s.Addr())
		var wg sync.WaitGroup
		wg.Go(func() {
			for rest := all.String(); len(rest) > 0; {
				n := min(piece, len(rest))
				if _, err := io.WriteString(c.Conn, rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		})
		for i, code := range want {
			got := c.receive(t, "GET")
			if got.StatusCode != code || code == 200 && len(got.body) != []int{10, 160_000}[i%5%4%3] {
				t.Fatalf("pieces of %d, answer %d: %d, %d bytes; want %d", piece, i, got.StatusCode, len(got.body), code)
			}
		}
		wg.Wait()
	}
}

// A client that sends many requests before it reads gets all answers, and then
// that to an invalid request: 20 000 answers of 260 bytes do not fit into the
// sockets, whose window is small.
func TestPipelineThatIsReadLate(t *testing.T) {
	t.Parallel()
	const n = 20_000
	s := start(t, Config{Dir: testSite(t)})
	c := dial(t, s.Addr())
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.WriteString(c.Conn, strings.Repeat("GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", n)+"garbage\r\n\r\nmore")
	})
	if _, err := c.Peek(1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if got := get(t, s, "GET /a.txt"); got.StatusCode != 200 { // the others are answered during that
		t.Errorf("beside it: %d", got.StatusCode)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	wg.Wait()
	if got := strings.Count(string(all), "HTTP/1.1 200 OK\r\n"); got != n {
		t.Errorf("%d answers, want %d", got, n)
	}
	if !strings.HasSuffix(string(all), "\r\n\r\n400 Bad Request\n") {
		t.Errorf("the end is %q", all[max(0, len(all)-50):])
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	const ok = "GET / HTTP/1.1\r\nHost: x\r\n"
	tests := []struct {
		name, give string
		code       int
	}{
		{"garbage", "\x00\x01\x02\r\n\r\n", 400},
		{"no version", "GET /\r\n\r\n", 400},
		{"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"two hosts", ok + "Host: y\r\n\r\n", 400},
		{"space before the colon", ok + "Range : bytes=0-0\r\n\r\n", 400},
		{"bare carriage return", ok + "A: b\rC: d\r\n\r\n", 400},
		{"no name", ok + ": b\r\n\r\n", 400},
		{"NUL", ok + "A: \x00\r\n\r\n", 400},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
		{"length of letters", ok + "Content-Length: x\r\n\r\n", 400},
		{"negative length", ok + "Content-Length: -1\r\n\r\n", 400},
		{"body", ok + "Content-Length: 3\r\n\r\nabc", 413},
		{"chunked body", ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 413},
		{"posted body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70000), 413},
		{"long head", ok + "A: " + strings.Repeat("a", maxHead) + "\r\n\r\n", 431},
		{"endless head", ok + strings.Repeat("A: b\r\n", 100_000), 431},
	}
	s := start(t, Config{Dir: testSite(t)})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, s.Addr())
			go func() { _, _ = io.WriteString(c.Conn, tt.give) }() // may fail: it is refused
			if got := c.receive(t, "GET"); got.StatusCode != tt.code || !got.Close {
				t.Errorf("%d, close %v; want %d and close", got.StatusCode, got.Close, tt.code)
			}
			c.ended(t)
		})
	}
}

func TestWhoKeepsTheConnection(t *testing.T) {
	t.Parallel()
	tests := []struct {
		head string
		kept bool
	}{
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", true},
	}
	s := start(t, Config{Dir: testSite(t)})
	for _, tt := range tests {
		c := dial(t, s.Addr())
		for range 2 {
			c.send(t, tt.head)
			got := c.receive(t, "GET")
			if got.body != page || got.Close == tt.kept {
				t.Errorf("%q: %q, close %v", tt.head, got.body, got.Close)
			}
			if !tt.kept {
				c.ended(t)
				break
			}
		}
	}
}

// A client may shut down its sending side and still get its answer, and the end.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Dir: testSite(t)})
	for _, tt := range []struct {
		give  string
		sizes []int // of the bodies
	}{
		{"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", []int{10}},
		{"GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: x\r\n\r\nGET", []int{160_000, 10, len("400 Bad Request\n")}},
		{"GET", []int{len("400 Bad Request\n")}},
		{"", nil},
	} {
		for range 20 {
			c := dial(t, s.Addr())
			c.send(t, tt.give)
			if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			for _, size := range tt.sizes {
				if got := c.receive(t, "GET"); len(got.body) != size {
					t.Errorf("%q: %d bytes", tt.give, len(got.body))
				}
			}
			c.ended(t)
			_ = c.Close()
		}
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Dir: testSite(t), HeaderTimeout: 300 * time.Millisecond, IdleTimeout: 2 * time.Second})
	idle, slow := dial(t, s.Addr()), dial(t, s.Addr())
	begin := time.Now()
	slow.send(t, "GET / HTTP/1.1\r\n")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // one byte at a time does not keep it alive
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_, _ = io.WriteString(slow.Conn, "a")
			}
		}
	})
	if got := slow.receive(t, "GET"); got.StatusCode != 408 {
		t.Errorf("slow: %d", got.StatusCode)
	}
	close(stop)
	wg.Wait()
	idle.ended(t)
	if took := time.Since(begin); took > hang/2 {
		t.Errorf("took %v", took)
	}
}

// A client that does not read is cut off in the end.
func TestWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	p, err := NewPage(20_000_000, false)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Page: p, WriteTimeout: time.Second}
	if got := c.writeTime(81_920); got != 11*time.Second { // 1 s and 81920/8192 s
		t.Errorf("writeTime = %v", got)
	}
	s := start(t, c, func(s *Server) {
		s.config.WriteTimeout = 500*time.Millisecond - 2441*time.Second // 20 MB / 8 KiB = 2441.4
	})
	deaf := dial(t, s.Addr())
	deaf.send(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := deaf.Peek(1); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(hang); s.http.GetOpenConnectionsCount() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is never cut off")
		}
	}
	if n, _ := io.Copy(io.Discard, deaf); n >= int64(len(p.body)) {
		t.Errorf("%d bytes of a connection that was cut off", n)
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Dir: testSite(t), MaxConns: 1})
	first := dial(t, s.Addr())
	first.send(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	first.receive(t, "GET")
	second := dial(t, s.Addr())
	if got := second.receive(t, "GET"); got.StatusCode != 503 {
		t.Errorf("the second: %d", got.StatusCode)
	}
	_ = first.Close()
	for end := time.Now().Add(hang); ; time.Sleep(time.Millisecond) {
		third := dial(t, s.Addr())
		_, _ = io.WriteString(third.Conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // may be refused before
		if resp, err := http.ReadResponse(third.Reader, nil); err == nil && resp.StatusCode == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("never a third")
		}
	}
}

func TestChangesAreSeen(t *testing.T) {
	t.Parallel()
	dir := testSite(t)
	s := start(t, Config{Dir: dir})
	c := dial(t, s.Addr())
	becomes := func(what string, holds func(reply) bool) {
		t.Helper()
		for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
			c.send(t, "GET /big.bin HTTP/1.1\r\nHost: x\r\n\r\n")
			if got := c.receive(t, "GET"); holds(got) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("never: %s", what)
			}
		}
	}
	becomes("the file", func(r reply) bool { return len(r.body) == 160_000 })
	write(t, filepath.Join(dir, "new"), "other", time.Now())
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "big.bin")); err != nil {
		t.Fatal(err)
	}
	becomes("another file", func(r reply) bool { return r.body == "other" })
	if err := os.Remove(filepath.Join(dir, "big.bin")); err != nil {
		t.Fatal(err)
	}
	becomes("none", func(r reply) bool { return r.StatusCode == 404 })
}

func TestManyNames(t *testing.T) {
	t.Parallel()
	contents := map[string]string{}
	for i := range maxNames + 100 {
		contents[fmt.Sprint("f", i)] = fmt.Sprint("content ", i)
	}
	s := start(t, Config{Dir: files(t, contents)})
	c := dial(t, s.Addr())
	for range 2 {
		for name, content := range contents {
			c.send(t, "GET /"+name+" HTTP/1.1\r\nHost: x\r\n\r\n")
			if got := c.receive(t, "GET"); got.body != content {
				t.Fatalf("%s: %q", name, got.body)
			}
		}
	}
	s.site.mu.RLock()
	defer s.site.mu.RUnlock()
	if n := len(s.site.known); n > maxNames {
		t.Errorf("%d names are kept", n)
	}
}

func TestNetHTTP(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	start(t, Config{Dir: testSite(t), Addr: "unix:" + socket})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: hang}
	var wg sync.WaitGroup
	for i := range 8 {
		path, size := "/sub", 3 // redirected
		if i%2 == 0 {
			path, size = "/big.bin", 160_000
		}
		wg.Go(func() {
			for range 20 {
				resp, err := client.Get("http://host" + path)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || len(body) != size {
					t.Errorf("%s: %s, %d bytes, %v", path, resp.Status, len(body), err)
				}
			}
		})
	}
	wg.Wait()
}
