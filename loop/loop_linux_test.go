package loop

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

func TestMain(m *testing.M) {
	const parallel = 24
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), parallel)) // a loop that waits keeps a processor of Go's from others for 10 ms
	testenv.Main(m, parallel)
}

func TestClosedModel(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, size := range []int{0, 10, 5000, 300_000} {
			for _, vus := range []int{1, 7} {
				t.Run(fmt.Sprint(network, size, vus), func(t *testing.T) {
					eachKind(t, func(t *testing.T, make func([]int) Conversation) {
						s := serve(t, network, echo(size))
						r := run(t, s.config(make), load.Plan{VUs: vus, Iterations: 100})
						clean(t, r, 100)
						// "0 size\n" and the body
						if want := int64(100 * (len(fmt.Sprintf("0 %d\n", size)) + size)); r.BytesIn != want {
							t.Errorf("read %d bytes, want %d", r.BytesIn, want)
						}
						if s.count() != vus {
							t.Errorf("%d connections, want %d", s.count(), vus)
						}
						if r.Connect != nil && r.Connect.Count() > 0 {
							t.Error("an iteration connected")
						}
						if r.FirstByte.Count() != 100 {
							t.Errorf("%d first bytes, want 100", r.FirstByte.Count())
						}
					})
				})
			}
		}
	}
}

func TestCloseEach(t *testing.T) {
	eachKind(t, func(t *testing.T, make func([]int) Conversation) {
		s := serve(t, "tcp", echo(5000))
		c := s.config(make)
		c.CloseEach = true
		r := run(t, c, load.Plan{VUs: 5, Iterations: 200})
		clean(t, r, 200)
		if s.count() != 200 {
			t.Errorf("%d connections, want 200", s.count())
		}
		if r.Connect.Count() != 200 || r.Exchange.Count() != 200 {
			t.Errorf("connected %d times, exchanged %d, want 200", r.Connect.Count(), r.Exchange.Count())
		}
	})
}

func TestSharedConnections(t *testing.T) {
	s := serve(t, "tcp", echo(100))
	var shares [][]int
	c := s.config(func(vus []int) Conversation {
		shares = append(shares, vus)
		return plain(vus)
	})
	c.Connections = 3
	r := run(t, c, load.Plan{VUs: 8, Iterations: 1000})
	clean(t, r, 1000)
	if s.count() != 3 {
		t.Errorf("%d connections, want 3", s.count())
	}
	want := [][]int{{0, 3, 6}, {1, 4, 7}, {2, 5}}
	if !slices.EqualFunc(shares, want, slices.Equal) {
		t.Errorf("connections have the VUs %v, want %v", shares, want)
	}
}

// Iterations of one connection end in any order.
func TestSlotsOutOfOrder(t *testing.T) {
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		var held []string
		requests(conn, func(slot string) bool {
			if held = append(held, slot); len(held) == 4 {
				slices.Reverse(held)
				for _, slot := range held {
					fmt.Fprintf(conn, "%s 3\nabc", slot)
				}
				held = nil
			}
			return true
		})
	})
	c := s.config(plain)
	c.Connections = 1
	clean(t, run(t, c, load.Plan{VUs: 4, Iterations: 400}), 400)
}

// Answers come in two packets, cut at each byte.
func TestSplitAnswers(t *testing.T) {
	eachKind(t, func(t *testing.T, make func([]int) Conversation) {
		answer := "0 20\n01234567890123456789"
		s := serve(t, "tcp", func(_ int, conn net.Conn) {
			cut := 0
			requests(conn, func(string) bool {
				conn.Write([]byte(answer[:cut]))
				time.Sleep(time.Millisecond)
				_, err := conn.Write([]byte(answer[cut:]))
				cut++
				return err == nil
			})
		})
		r := run(t, s.config(make), load.Plan{VUs: 1, Iterations: int64(len(answer))})
		clean(t, r, int64(len(answer)))
	})
}

func TestThinkTime(t *testing.T) {
	s := serve(t, "tcp", echo(10))
	plan := load.Plan{VUs: 10, Think: 20 * time.Millisecond, Iterations: 130}
	start := time.Now()
	r := run(t, s.config(plain), plan)
	clean(t, r, 130)
	// A VU starts at 0, 20, 40, ... ms at the earliest, so that 10 of them have begun 130
	// times after 240 ms.
	if took := time.Since(start); took < 240*time.Millisecond {
		t.Errorf("took %v, want at least 240ms", took)
	}
	if r.StartLag.Quantile(0.5) < 0 {
		t.Error("started before it was due")
	}
}

func TestOpenModel(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", echo(10))
	for _, connections := range []int{0, 1} {
		c := s.config(plain)
		c.Connections = connections
		plan := load.Plan{VUs: 10, Pacer: pace.Constant(2000), Iterations: 600}
		clean(t, run(t, c, plan), 600)
	}
}

// An arrival without a free VU waits and is dropped at the end.
func TestOpenModelDrops(t *testing.T) {
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			time.Sleep(20 * time.Millisecond)
			fmt.Fprintf(conn, "%s 0\n", slot)
			return true
		})
	})
	plan := load.Plan{VUs: 2, Pacer: pace.Constant(1000), Duration: 200 * time.Millisecond, Grace: load.DefaultGrace}
	r := run(t, s.config(plain), plan)
	// Two VUs do at most ⌈200/20⌉ = 10 each of the 200 planned.
	if r.Planned != 200 || r.Completed > 20 || r.Dropped < 180 {
		t.Errorf("planned %d, completed %d, dropped %d", r.Planned, r.Completed, r.Dropped)
	}
}

// Kept connections serve all runs of a session, also those with fewer VUs.
func TestDriveAgain(t *testing.T) {
	s := serve(t, "tcp", echo(10))
	session, err := load.Open(t.Context(), "lines", &target{config: s.config(plain)}, 8)
	testenv.Must(t, err)
	defer session.Close()
	for _, plan := range []load.Plan{
		{VUs: 8, Iterations: 100},
		{VUs: 3, Iterations: 100},
		{VUs: 8, Iterations: 100, Pacer: pace.Constant(10_000)},
		{VUs: 8, Iterations: 100, Timeout: testenv.Patience},
	} {
		r, err := session.Run(t.Context(), plan)
		testenv.Must(t, err)
		clean(t, r, 100)
	}
	if s.count() != 8 {
		t.Errorf("%d connections, want 8", s.count())
	}
}

// The end of a run leaves iterations in flight behind, and the next run is not
// disturbed by them.
func TestDriveAfterCancel(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	s := serve(t, "tcp", func(n int, conn net.Conn) {
		if n < 4 {
			<-answer
		}
		echo(3)(n, conn)
	})
	session, err := load.Open(t.Context(), "lines", &target{config: s.config(plain)}, 4)
	testenv.Must(t, err)
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := session.Run(ctx, load.Plan{VUs: 4, Iterations: 100, Progress: cancelWith(cancel, 4)})
	if err != nil || r.Unfinished != 4 || r.Stopped != load.Interrupted {
		t.Fatalf("%d unfinished, stopped by %v, %v", r.Unfinished, r.Stopped, err)
	}
	close(answer)
	if r, err = session.Run(t.Context(), load.Plan{VUs: 4, Iterations: 100}); err != nil {
		t.Fatal(err)
	}
	clean(t, r, 100)
	if r.Connect.Count() != 4 {
		t.Errorf("connected %d times, want 4", r.Connect.Count())
	}
}

// cancelWith ends a run as soon as so many iterations are in flight.
func cancelWith(cancel func(), inFlight int64) func(load.Progress) {
	return func(now load.Progress) {
		if now.Counts().Unfinished == inFlight {
			cancel()
		}
	}
}

func TestManyConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", echo(10))
	clean(t, run(t, s.config(plain), load.Plan{VUs: 1000, Iterations: 5000, Timeout: testenv.Patience}), 5000)
}
