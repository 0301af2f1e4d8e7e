package static

import (
	"bufio"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // these tests wait more than they compute
	goleak.VerifyTestMain(m,           // what fasthttp never ends
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// hang is how long a test waits for what should happen at once.
const hang = testenv.Patience

// A running is a Server that serves until the test ends.
type running struct {
	*Server
	stop func()
	err  chan error // what Serve returned
}

// start serves c; before may change the server before it serves.
func start(t testing.TB, c Config, before ...func(*Server)) *running {
	t.Helper()
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	s, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range before {
		f(s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: s, stop: cancel, err: make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.err <- s.Serve(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// wait returns what Serve returned.
func (r *running) wait(t testing.TB) error {
	t.Helper()
	select {
	case err := <-r.err:
		return err
	case <-time.After(hang):
		t.Fatal("the server does not stop")
		return nil
	}
}

// files writes files into a new directory.
func files(t testing.TB, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		write(t, filepath.Join(dir, name), content, time.Unix(modified, 0))
	}
	return dir
}

// modified is the time of test files: Wed, 01 May 2024 10:00:00 GMT.
const modified = 1714557600

func write(t testing.TB, name, content string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// A client is a raw connection.
type client struct {
	net.Conn
	*bufio.Reader
}

func (c client) Read(b []byte) (int, error) { return c.Reader.Read(b) }

func dial(t testing.TB, addr net.Addr) client {
	t.Helper()
	c, err := net.Dial(addr.Network(), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(hang))
	return client{c, bufio.NewReader(c)}
}

func (c client) send(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		t.Fatal(err)
	}
}

// A reply is an answer that was read to its end.
type reply struct {
	*http.Response
	body string
}

// receive reads the answer to a request of that method.
func (c client) receive(t testing.TB, method string) reply {
	t.Helper()
	resp, err := http.ReadResponse(c.Reader, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp, string(body)}
}

// get sends one request on a connection of its own. Head is its request line
// without version, and further headers after that.
func get(t testing.TB, s *running, line string, headers ...string) reply {
	t.Helper()
	c := dial(t, s.Addr())
	defer c.Close()
	method, _, _ := strings.Cut(line, " ")
	c.send(t, line+" HTTP/1.1\r\nHost: x\r\n"+strings.Join(append(headers, "\r\n"), "\r\n"))
	return c.receive(t, method)
}

// ended checks that the server has closed the connection.
func (c client) ended(t testing.TB) {
	t.Helper()
	if n, err := c.Reader.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the last answer: %d bytes, %v; want the end", n, err)
	}
}
