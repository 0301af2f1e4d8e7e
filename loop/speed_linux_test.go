package loop

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

// A counting conversation sends a fixed request and takes answers of a fixed
// size, without a look at them.
type counting struct {
	request   string
	size, got int
	out       load.Outcome
}

func (c *counting) Open(out []byte) []byte { return out }

func (c *counting) Start(out []byte, _ int) []byte {
	c.got = 0
	return append(out, c.request...)
}

func (c *counting) Receive(out, in []byte, slots Slots) ([]byte, error) {
	if len(in) == 0 {
		return out, io.ErrUnexpectedEOF
	}
	if c.got == 0 {
		slots.FirstByte(0)
	}
	if c.got += len(in); c.got == c.size {
		c.out = load.Outcome{Status: 1, BytesIn: int64(c.got)}
		slots.End(0, &c.out, nil)
	}
	return out, nil
}

// reply answers what comes, in pieces of the request's size, without
// allocation.
func reply(request, answer int) func(int, net.Conn) {
	return func(_ int, conn net.Conn) {
		in, out := make([]byte, request), make([]byte, answer)
		for {
			if _, err := io.ReadFull(conn, in); err != nil {
				return
			}
			if _, err := conn.Write(out); err != nil {
				return
			}
		}
	}
}

func counter([]int) Conversation { return &counting{request: "0123456789", size: 100} }

func TestNoAllocation(t *testing.T) {
	s := serve(t, "tcp", reply(10, 100))
	session, err := load.Open(t.Context(), "count", &target{config: s.config(counter)}, 4)
	testenv.Must(t, err)
	defer session.Close()
	mallocs := func(iterations int64) (uint64, time.Duration) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := session.Run(t.Context(), load.Plan{VUs: 4, Iterations: iterations, Timeout: time.Minute})
		runtime.ReadMemStats(&after)
		testenv.Must(t, err)
		clean(t, r, iterations)
		return after.Mallocs - before.Mallocs, r.Duration
	}
	mallocs(100)
	// What is allocated by the clock (samples of CPU time, the course) was 230 a second on a busy machine.
	const clock = 500
	least := math.Inf(1) // what else the process does on a busy machine only adds
	for range 3 {
		few, _ := mallocs(100)
		many, took := mallocs(5100)
		least = min(least, (float64(many)-float64(few)-clock*took.Seconds())/5000)
	}
	// One for each iteration would be 1, one for each turn in which all four callers have an answer 0.25.
	if least > 0.1 {
		t.Errorf("%v allocations per iteration", least)
	}
}

func BenchmarkIteration(b *testing.B) {
	s := serve(b, "tcp", reply(10, 100))
	session, err := load.Open(b.Context(), "count", &target{config: s.config(counter)}, 50)
	testenv.Must(b, err)
	defer session.Close()
	b.ReportAllocs()
	b.ResetTimer()
	r, err := session.Run(b.Context(), load.Plan{VUs: 50, Iterations: int64(b.N)})
	if err != nil || r.Completed != int64(b.N) {
		b.Fatal(r.Completed, err)
	}
}

// In the closed model the VUs are busy all the time: N = X · R (Little), with what ends beyond the window.
func TestLittle(t *testing.T) {
	s := serve(t, "tcp", reply(10, 100))
	r := run(t, s.config(counter), load.Plan{VUs: 8, Duration: 500 * time.Millisecond, Grace: testenv.Patience})
	all := 8*r.Duration.Seconds() + r.Overhang.Seconds()
	if busy := float64(r.Completed) * r.Response.Mean().Seconds() / all; math.Abs(busy-1) > 0.002 {
		t.Errorf("X·R/N is %v, want 1 ± 0.002", busy)
	}
	if r.Service.Mean() > r.Response.Mean() || r.FirstByte.Mean() > r.Service.Mean() {
		t.Errorf("first byte %v, service %v, response %v", r.FirstByte.Mean(), r.Service.Mean(), r.Response.Mean())
	}
}

func TestSocketOptions(t *testing.T) {
	from := make(chan string, 10)
	s := serve(t, "tcp", func(n int, conn net.Conn) {
		from <- conn.RemoteAddr().(*net.TCPAddr).IP.String()
		echo(10_000)(n, conn)
	})
	c := s.config(plain)
	c.SendBuffer, c.ReceiveBuffer = 8192, 8192
	c.Local = netip.MustParseAddr("127.0.0.9")
	clean(t, run(t, c, load.Plan{VUs: 2, Iterations: 20}), 20)
	if got := <-from; got != "127.0.0.9" {
		t.Errorf("connected from %s", got)
	}
}

func TestAbstractSocket(t *testing.T) {
	listener, err := net.Listen("unix", "@contend-loop-"+t.Name())
	if err != nil {
		t.Skip(err)
	}
	c := serveOn(t, listener, echo(3)).config(plain)
	clean(t, run(t, c, load.Plan{VUs: 1, Iterations: 20}), 20)
}

// The end of the context ends Drive at once, whatever is in flight.
func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", func(_ int, conn net.Conn) { requests(conn, func(string) bool { return true }) })
	for _, plan := range []load.Plan{
		{VUs: 3, Duration: time.Hour},
		{VUs: 3, Duration: time.Hour, Pacer: pace.Constant(0.001)},
		{VUs: 3, Duration: time.Hour, Timeout: time.Hour},
	} {
		t.Run(fmt.Sprint(plan.Pacer != nil, plan.Timeout), func(t *testing.T) {
			t.Parallel() // each waits for a second
			ctx, cancel := context.WithCancel(t.Context())
			plan.Progress = func(load.Progress) { cancel() } // it is under way
			start := time.Now()
			r, err := load.Run(ctx, "lines", &target{config: s.config(plain)}, plan)
			cancel()
			testenv.Must(t, err)
			if r.Stopped != load.Interrupted || r.Completed != 0 {
				t.Errorf("%v, completed %d", r.Stopped, r.Completed)
			}
			if took := time.Since(start); took > testenv.Patience {
				t.Errorf("took %v", took)
			}
		})
	}
}
