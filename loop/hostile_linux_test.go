package loop

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
	"contend/protocol/wire/wiretest"
)

// hostile is what a conversation has to survive, whether it looks at bodies or skips them.
func hostile() wiretest.Protocol {
	const much = "0 1000000000000000000\n"
	late := []errkind.Kind{errkind.Timeout}
	p := wiretest.Protocol{
		Asked:   wiretest.AfterRead,
		Answers: []string{"0 20\n01234567890123456789"},
		Foreign: []errkind.Kind{errkind.Protocol, errkind.Closed},      // as its bytes have an end of a line or none
		Wants:   map[string][]errkind.Kind{"plain to a TLS port": nil}, // which waits for more than a short request
		Peers: []wiretest.Peer{
			{Name: "another line", Serve: wiretest.AfterRead(wiretest.Say(0, "what?\n")), Want: []errkind.Kind{errkind.Protocol}},
			{Name: "endless", Serve: wiretest.AfterRead(wiretest.Endless(much, strings.Repeat("x", 100_000))), Want: late, Endless: true},
			{Name: "a byte at a time", Serve: wiretest.AfterRead(wiretest.Say(wiretest.Short/10, strings.Split(strings.Repeat("7", 100), "")...)), Want: late},
		},
	}
	for name, conversation := range map[string]func([]int) Conversation{
		"reading":  plain,
		"skipping": func(vus []int) Conversation { return skipping{plain(vus).(*lines)} },
	} {
		p.Ways = append(p.Ways, wiretest.Way{Name: name, Plain: true, Secure: true, Open: func(_ testing.TB, s wiretest.Server) load.Target {
			c := Config{Network: "tcp", Address: s.Address, New: conversation}
			if s.Secure {
				c.TLS = &tls.Config{InsecureSkipVerify: s.CA == nil && !s.Strict, ServerName: cmp.Or(s.Name, "127.0.0.1"), RootCAs: x509.NewCertPool()}
				c.TLS.RootCAs.AppendCertsFromPEM(s.CA)
			}
			return &target{config: c}
		}})
	}
	return p
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	hostile().Hostile(t)
}

func TestEndlessServers(t *testing.T) { hostile().Endless(t) }

func TestRestarted(t *testing.T) {
	t.Parallel()
	hostile().Restarted(t, wiretest.OnTCP(func(l net.Listener) func() {
		return wiretest.Serve(l, func(conn net.Conn) { echo(1)(0, conn) })
	}), errkind.Refused)
}

// feeds count what a server has written to each connection.
type feeds struct {
	opened  atomic.Int64
	written [100]atomic.Int64
}

// serve writes to a connection, whose first line is its number, without end. The kernel
// lets it go on when a quarter of the buffer is left, which is to be more than one read.
func (f *feeds) serve(_ int, conn net.Conn) {
	conn.(*net.UnixConn).SetWriteBuffer(16 * readSize)
	requests(conn, func(number string) bool {
		n, _ := strconv.Atoi(number)
		for block := []byte("0 1000000000000000000\n"); ; block = make([]byte, readSize/2) {
			if _, err := conn.Write(block); err != nil {
				return false
			}
			f.written[n].Add(int64(len(block)))
		}
	})
}

// A fed conversation does not go on before as much as it reads at a time has arrived.
type fed struct {
	*lines
	feeds *feeds
	n     int64
	read  int64
}

func (c *fed) Open(out []byte) []byte {
	c.n, c.read = c.feeds.opened.Add(1), 0
	c.hello = fmt.Sprintln(c.n)
	return c.lines.Open(out)
}

func (c *fed) Receive(out, in []byte, slots Slots) ([]byte, error) {
	c.read += int64(len(in))
	for i := 0; i < 1000 && len(in) > 0 && c.feeds.written[c.n].Load() < c.read+readSize; i++ {
		time.Sleep(100 * time.Microsecond)
	}
	return c.lines.Receive(out, in, slots)
}

// Where a connection always has more to read the loop never waits, and ends what
// takes too long all the same.
func TestTimeoutsAmongCrowds(t *testing.T) {
	var feeds feeds
	s := serve(t, "unix", feeds.serve)
	plan := load.Plan{VUs: 2, Timeout: 100 * time.Millisecond, Grace: testenv.Patience}
	plan.Pacer, plan.Iterations = pace.Constant(20), 6 // one times out amid another's answer
	r := run(t, s.config(func([]int) Conversation { return &fed{lines: &lines{}, feeds: &feeds} }), plan)
	if n := r.Errored[errkind.Timeout]; n < 2 || n+r.Dropped != 6 {
		t.Errorf("%d time out and %d are dropped, want 6 in all: %v", n, r.Dropped, r.Errored)
	}
}

// A givingUp conversation gives up an answer, and tells of it when it starts again.
type givingUp struct {
	*lines
	gaveUp bool
	tell   func()
}

func (c *givingUp) Start(out []byte, slot int) []byte {
	if c.gaveUp {
		c.tell()
	}
	return c.lines.Start(out, slot)
}

func (c *givingUp) Cancel(out []byte, _ int) []byte {
	c.gaveUp = true
	return out
}

// Where an iteration is always due, because it fails at once, the loop never waits, and
// ends another that takes too long all the same.
func TestTimeoutsAmongFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	testenv.Must(t, err)
	defer listener.Close()
	go func() { // the first is silent, the second refused for ever
		silent, err := listener.Accept()
		if err != nil {
			return
		}
		closed, err := listener.Accept()
		if err == nil {
			listener.Close()
			closed.Close()
		}
		io.Copy(io.Discard, silent)
		silent.Close()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	c := Config{Network: "unix", Address: path, New: func([]int) Conversation { return &givingUp{lines: &lines{}, tell: cancel} }}
	plan := load.Plan{VUs: 2, Iterations: 1 << 40, Timeout: 100 * time.Millisecond, Grace: testenv.Patience}
	r, err := load.Run(ctx, "lines", &target{config: c}, plan)
	testenv.Must(t, err)
	if r.Errored[errkind.Timeout] == 0 || r.ErroredTotal() == r.Errored[errkind.Timeout] {
		t.Errorf("%v: want one that timed out among failures", r.Errored)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", echo(0))
	address := testenv.HeldAddress(t)
	for _, open := range []bool{false, true} {
		plan := load.Plan{VUs: 3, Duration: 100 * time.Millisecond, Grace: load.DefaultGrace}
		if open {
			// Long enough for one to begin in it where other programs take most of the machine.
			plan.Pacer, plan.Duration = pace.Constant(100), time.Second
		}
		for _, each := range []bool{false, true} {
			t.Run(fmt.Sprintf("open=%t/each=%t", open, each), func(t *testing.T) {
				t.Parallel()
				c := s.config(plain)
				c.Address, c.CloseEach = address, each
				start := time.Now()
				r := run(t, c, plan)
				if n := r.Errored[errkind.Refused]; n == 0 || n+r.Dropped != r.Planned {
					t.Errorf("%d of %d refused: %v", n, r.Planned, r.Examples)
				}
				if most := int64(plan.VUs) * int64(1+plan.Duration/(10*time.Millisecond)); !open && r.Errored[errkind.Refused] > most {
					t.Errorf("%d refused, want at most %d: a caller waits 10 ms after each", r.Errored[errkind.Refused], most)
				}
				if took := time.Since(start); took > testenv.Patience {
					t.Errorf("took %v", took)
				}
				want := "dial tcp " + address + ": connect: connection refused"
				if got := r.Examples[errkind.Refused]; got != want {
					t.Errorf("error is %q, want %q", got, want)
				}
			})
		}
	}
}

func TestNoSocket(t *testing.T) {
	c := Config{Network: "unix", Address: t.TempDir() + "/none", New: plain}
	r := run(t, c, load.Plan{VUs: 1, Iterations: 3})
	if r.Errored[errkind.Dial] != 3 {
		t.Errorf("errors are %v, want 3 of kind dial", r.Errored)
	}
}

// A connection that the peer closed, reset or disturbed while no iteration was
// in flight is replaced, which is not an error.
func TestIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(net.Conn){
		"close":   func(c net.Conn) { c.Close() },
		"reset":   wiretest.Reset,
		"garbage": func(c net.Conn) { fmt.Fprintln(c, "unasked") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "tcp", func(n int, conn net.Conn) {
				requests(conn, func(slot string) bool {
					fmt.Fprintf(conn, "%s 0\n", slot)
					if n < 2 {
						time.Sleep(5 * time.Millisecond)
						end(conn)
					}
					return true
				})
			})
			plan := load.Plan{VUs: 1, Think: time.Second, Iterations: 4} // two on the third connection
			r := run(t, s.config(plain), plan)
			clean(t, r, 4)
			if s.count() != 3 || r.Connect.Count() != 2 {
				t.Errorf("%d connections, %d iterations connected, want 3 and 2", s.count(), r.Connect.Count())
			}
		})
	}
}

// A connection that takes no further iterations finishes those in flight; the
// other VUs wait for that and then share a new one.
func TestDrain(t *testing.T) {
	for _, open := range []bool{false, true} {
		s := serve(t, "tcp", func(_ int, conn net.Conn) {
			n := 0
			requests(conn, func(slot string) bool {
				if n++; n == 10 {
					fmt.Fprint(conn, "bye\n")
					time.Sleep(time.Millisecond)
				}
				_, err := fmt.Fprintf(conn, "%s 2\nab", slot)
				return err == nil
			})
		})
		plan := load.Plan{VUs: 4, Iterations: 100}
		if open {
			plan.Pacer = pace.Constant(5000)
		}
		c := s.config(plain)
		c.Connections = 1
		clean(t, run(t, c, plan), 100)
		// A connection serves at least 10 and at most 13 iterations.
		if n := s.count(); n < 100/13 || n > 10 {
			t.Errorf("%d connections", n)
		}
	}
}

// A bounded conversation ends the run when enough has happened.
type bounded struct {
	cancelling
	starts *atomic.Int64
	enough func() bool
	end    func()
}

func (c bounded) Start(out []byte, slot int) []byte {
	if c.starts.Add(1); c.enough() {
		c.end()
	}
	return c.lines.Start(out, slot)
}

// An iteration that takes too long is cancelled; the others of the connection
// go on.
func TestCancel(t *testing.T) {
	var answered, starts atomic.Int64
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			if slot == "0" || slot == "cancel" {
				return true
			}
			_, err := fmt.Fprintf(conn, "%s 0\n", slot)
			answered.Add(1)
			return err == nil
		})
	})
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	cancelled := 0
	c := s.config(func([]int) Conversation {
		enough := func() bool { return cancelled >= 2 && answered.Load() >= 100 }
		return bounded{cancelling{&lines{}, &cancelled}, &starts, enough, cancel}
	})
	c.Connections = 1
	r, err := load.Run(ctx, "lines", &target{config: c}, load.Plan{VUs: 3, Iterations: 1 << 40, Timeout: 50 * time.Millisecond})
	testenv.Must(t, err)
	// Slot 0 runs into its timeout each time; on a busy machine others do as well, and so may a
	// connection that takes as long to open, where nothing is cancelled.
	n := r.Errored[errkind.Timeout]
	if n < 2 || int(n) < cancelled || n != r.ErroredTotal() {
		t.Errorf("%v, %d cancelled", r.Errored, cancelled)
	}
	if r.Completed == 0 || int(n) == cancelled && s.count() != 1 {
		t.Errorf("completed %d on %d connections", r.Completed, s.count())
	}
}

// Requests that do not fit into the socket's buffer are sent to their end.
func TestLongRequests(t *testing.T) {
	long := strings.Repeat("x", 3_000_000)
	for _, network := range []string{"tcp", "unix"} {
		for _, each := range []bool{false, true} {
			s := serve(t, network, func(_ int, conn net.Conn) {
				buf := make([]byte, 100_000)
				for rest := len(long); ; {
					n, err := conn.Read(buf)
					if rest -= n; rest == 0 {
						fmt.Fprint(conn, "0 0\n")
						rest = len(long)
					}
					if err != nil {
						return
					}
				}
			})
			c := s.config(func([]int) Conversation { return verbose{&lines{}, long} })
			c.CloseEach = each
			clean(t, run(t, c, load.Plan{VUs: 3, Iterations: 12}), 12)
		}
	}
}

type verbose struct {
	*lines
	request string
}

func (c verbose) Start(out []byte, _ int) []byte { return append(out, c.request...) }

// A peer that demands answers and does not read them does not fill memory.
func TestDeafPeer(t *testing.T) {
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		block := make([]byte, 64<<10)
		for {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	c := s.config(func([]int) Conversation { return parrot{&lines{}} })
	r := run(t, c, load.Plan{VUs: 1, Iterations: 1})
	if r.Errored[errkind.Other] != 1 || !strings.Contains(r.Examples[errkind.Other], "does not read") {
		t.Errorf("%v %v", r.Errored, r.Examples)
	}
}

type parrot struct{ *lines }

func (parrot) Receive(out, in []byte, _ Slots) ([]byte, error) { return append(out, in...), nil }

func TestConfigMistakes(t *testing.T) {
	_, err := New(t.Context(), Config{Network: "udp", Connections: -1, SendBuffer: -1})
	testenv.Says(t, err, "network", "vus", "connections", "new", "buffers")
	_, err = New(t.Context(), Config{Network: "tcp", Address: "nowhere", VUs: []int{1}, New: plain, CloseEach: true, Connections: 1})
	testenv.Says(t, err, "host:port", "shared")
}

func TestSupported(t *testing.T) {
	if ok, why := Supported(); !ok || why != "" {
		t.Error(why)
	}
}

// A name that has several addresses is served by whichever answers.
func TestNextAddress(t *testing.T) {
	s := serve(t, "tcp", echo(3)) // on 127.0.0.1 only
	_, port, _ := net.SplitHostPort(s.Addr().String())
	c := s.config(plain)
	c.Address = "localhost:" + port
	clean(t, run(t, c, load.Plan{VUs: 4, Iterations: 20}), 20)
	c.CloseEach = true
	clean(t, run(t, c, load.Plan{VUs: 4, Iterations: 20}), 20)
}

func TestIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip(err)
	}
	c := serveOn(t, listener, echo(3)).config(plain)
	clean(t, run(t, c, load.Plan{VUs: 4, Iterations: 20}), 20)
}

var errOwn = errors.New("an error of its own")

// The error that a conversation returns at the peer's end is counted.
func TestOwnErrorAtEnd(t *testing.T) {
	s := serve(t, "tcp", func(_ int, c net.Conn) { requests(c, func(string) bool { return false }) })
	c := s.config(func([]int) Conversation { return &lines{eof: errOwn} })
	r := run(t, c, load.Plan{VUs: 1, Iterations: 2})
	if r.Examples[errkind.Other] != errOwn.Error() {
		t.Errorf("%v", r.Examples)
	}
}
