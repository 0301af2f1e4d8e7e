package loop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// lines is the Conversation of a small protocol. A request is "slot\n", an
// answer "slot size\n" and as many bytes; instead of an answer "bye\n" ends the
// connection for further requests, and any other line is not an answer.
type lines struct {
	hello string
	line  []byte
	slot  int
	body  int64 // still to come, of the slot's answer
	in    int64
	eof   error // what Receive says at the peer's end
}

func (c *lines) Open(out []byte) []byte {
	c.line, c.body = c.line[:0], 0
	return append(out, c.hello...)
}

func (c *lines) Start(out []byte, slot int) []byte {
	return append(strconv.AppendInt(out, int64(slot), 10), '\n')
}

func (c *lines) Receive(out, in []byte, slots Slots) ([]byte, error) {
	if len(in) == 0 {
		return out, c.eof
	}
	for len(in) > 0 {
		if c.body > 0 {
			n := min(c.body, int64(len(in)))
			in = in[n:]
			c.Skipped(n, slots)
			continue
		}
		c.line = append(c.line, in[0])
		in = in[1:]
		if c.line[len(c.line)-1] != '\n' {
			continue
		}
		if err := c.head(string(bytes.TrimSpace(c.line)), slots); err != nil {
			return out, err
		}
		c.line = c.line[:0]
	}
	return out, nil
}

func (c *lines) head(line string, slots Slots) error {
	if line == "bye" {
		slots.Drain()
		return nil
	}
	if _, err := fmt.Sscanf(line, "%d %d", &c.slot, &c.body); err != nil || c.slot > 99 {
		return &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("lines: %q is no answer", line)}
	}
	slots.FirstByte(c.slot)
	c.in = c.body + int64(len(line)) + 1
	c.Skipped(0, slots)
	return nil
}

// Skipped counts bytes of a body, seen or not.
func (c *lines) Skipped(n int64, slots Slots) {
	if c.body -= n; c.body == 0 {
		slots.End(c.slot, &load.Outcome{Status: 1, BytesIn: c.in}, nil)
	}
}

// A skipping conversation does not look at bodies.
type skipping struct{ *lines }

func (c skipping) Skip() int64 { return c.body }

// A cancelling conversation can give up one answer.
type cancelling struct {
	*lines
	cancelled *int
}

func (c cancelling) Cancel(out []byte, slot int) []byte {
	*c.cancelled++
	return append(out, "cancel\n"...)
}

var (
	_ Skipper  = skipping{}
	_ Canceler = cancelling{}
)

// eachKind runs a test without and with bytes that are skipped.
func eachKind(t *testing.T, test func(t *testing.T, make func([]int) Conversation)) {
	t.Run("reading", func(t *testing.T) { test(t, plain) })
	t.Run("skipping", func(t *testing.T) {
		test(t, func(vus []int) Conversation { return skipping{plain(vus).(*lines)} })
	})
}

func plain([]int) Conversation { return &lines{} }

// A server answers connections by a function until it is stopped, or the test ends.
type server struct {
	net.Listener
	accepted atomic.Int64
	stop     func()
}

func serve(t testing.TB, network string, handle func(n int, conn net.Conn)) *server {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	listener, err := net.Listen(network, address)
	testenv.Must(t, err)
	return serveOn(t, listener, handle)
}

func serveOn(t testing.TB, listener net.Listener, handle func(n int, conn net.Conn)) *server {
	s := &server{Listener: listener}
	s.stop = wiretest.Serve(listener, func(conn net.Conn) { handle(int(s.accepted.Add(1))-1, conn) })
	t.Cleanup(s.stop)
	return s
}

func (s *server) count() int { return int(s.accepted.Load()) }

// echo answers each request of a connection with a body of size bytes.
func echo(size int) func(int, net.Conn) {
	return func(_ int, conn net.Conn) {
		body := bytes.Repeat([]byte{'x'}, size)
		requests(conn, func(slot string) bool {
			_, err := fmt.Fprintf(conn, "%s %d\n%s", slot, size, body)
			return err == nil
		})
	}
}

// requests calls do for each line that comes, until it returns false.
func requests(conn io.Reader, do func(slot string) bool) {
	for in := bufio.NewScanner(conn); in.Scan() && do(in.Text()); {
	}
}

// A target drives by one loop of a Config.
type target struct {
	config Config
	loop   *Loop
}

func (*target) NewVU(context.Context, int) (load.VU, error) {
	return nil, errors.New("has no VUs of its own")
}
func (*target) Loops(int) (int, string) { return 1, "" }

func (t *target) NewLoop(ctx context.Context, part load.LoopPart) (load.Loop, error) {
	c := t.config
	for i := range part.Len(part.VUs) {
		c.VUs = append(c.VUs, part.Index+i*part.Of)
	}
	var err error
	t.loop, err = New(ctx, c)
	return t.loop, err
}

func (s *server) config(make func([]int) Conversation) Config {
	return Config{Network: s.Addr().Network(), Address: s.Addr().String(), New: make}
}

// drive runs a plan once.
func run(t *testing.T, c Config, plan load.Plan) *load.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	r, err := load.Run(ctx, "lines", &target{config: c}, plan)
	testenv.Must(t, err)
	if sum := r.Completed + r.Failed + r.ErroredTotal() + r.Dropped + r.Unfinished; sum != r.Planned {
		t.Errorf("planned %d, but completed + failed + errored + dropped + unfinished is %d", r.Planned, sum)
	}
	return r
}

// clean checks that a run completed n iterations and no other thing happened.
func clean(t *testing.T, r *load.Result, n int64) {
	t.Helper()
	if r.Completed != n || r.Planned != n {
		t.Errorf("completed %d of %d planned, want %d; errors %v %v", r.Completed, r.Planned, n, r.Errored, r.Examples)
	}
}
