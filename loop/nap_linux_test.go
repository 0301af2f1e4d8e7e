package loop

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/pace"
)

// When the loop naps, the kernel tells what an iteration took: the end of the
// answer is between the moments before and after the server wrote it, however late
// the loop read it. The difference of both clocks is not known, but it is the same
// for all iterations.
func TestNapsDoNotLengthenTimes(t *testing.T) {
	var mu sync.Mutex
	var wrote [][2]time.Duration // before and after, by connection one after another
	base := time.Now()
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			before := time.Since(base)
			_, err := fmt.Fprintf(conn, "%s 3\nabc", slot)
			mu.Lock()
			wrote = append(wrote, [2]time.Duration{before, time.Since(base)})
			mu.Unlock()
			return err == nil
		})
	})
	var ends []time.Duration
	n := paced(t, s, load.Plan{VUs: 1, Pacer: pace.Constant(400), Iterations: 600,
		Sample: func(s load.Sample) { ends = append(ends, s.End) }})
	if !n.possible || !n.stamped || n.pieces {
		t.Fatalf("the loop has not napped: %+v", n)
	}
	s.stop() // the last answer is noted
	if len(ends) != len(wrote) {
		t.Fatalf("%d ends, %d answers", len(ends), len(wrote))
	}
	// The kernel begins to stamp soon after it was asked to, on a busy machine later.
	ends, wrote = ends[300:], wrote[300:]
	best := 0
	for i := range ends {
		apart := wrote[i][1] - ends[i] // the most that is possible by this one
		agree := 0
		for j := range ends {
			if at := ends[j] + apart; at >= wrote[j][0] && at <= wrote[j][1] {
				agree++
			}
		}
		best = max(best, agree)
	}
	if best < 240 {
		t.Errorf("only %d of 300 ends lie within the writing of their answers", best)
	}
}

// An answer in pieces ends the naps of the run, or its first byte would seem late.
func TestPiecesEndNaps(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(slot string) bool {
			fmt.Fprintf(conn, "%s 3\n", slot)
			time.Sleep(2 * time.Millisecond)
			_, err := conn.Write([]byte("abc"))
			return err == nil
		})
	})
	if n := paced(t, s, load.Plan{VUs: 1, Pacer: pace.Constant(400), Iterations: 400}); !n.possible || !n.pieces {
		t.Errorf("answers in two pieces were not noticed: %+v", n)
	}
}

// A leaving conversation counts the iterations that start on a connection that the
// peer has closed.
type leaving struct {
	*lines
	opened, late int64
	closed       *atomic.Int64 // by the peer
}

func (c *leaving) Open(out []byte) []byte {
	c.opened++
	return c.lines.Open(out)
}

func (c *leaving) Start(out []byte, slot int) []byte {
	if c.closed.Load() == c.opened {
		c.late++
	}
	return c.lines.Start(out, slot)
}

// If a connection has ended by the time an iteration is due, that is seen
// before the iteration starts, even during a nap.
func TestEndsAreSeenBeforeStarts(t *testing.T) {
	for name, plan := range map[string]load.Plan{
		"naps":  {VUs: 1, Pacer: pace.Constant(200), Iterations: 100},
		"think": {VUs: 1, Think: 5 * time.Millisecond, Iterations: 100},
	} {
		t.Run(name, func(t *testing.T) {
			var closed atomic.Int64
			s := serve(t, "tcp", func(_ int, conn net.Conn) {
				requests(conn, func(slot string) bool {
					fmt.Fprintf(conn, "%s 0\n", slot)
					time.Sleep(time.Millisecond)
					conn.Close()
					closed.Add(1)
					return false
				})
			})
			c := &leaving{lines: &lines{}, closed: &closed}
			run(t, s.config(func([]int) Conversation { return c }), plan)
			// The last may come between the look and the start.
			if c.late > 10 {
				t.Errorf("%d of 100 iterations started on a connection that the peer had closed", c.late)
			}
		})
	}
}

// paced drives a server by a plan and returns how its loop has napped.
func paced(t *testing.T, s *server, plan load.Plan) *naps {
	t.Helper()
	driven := &target{config: s.config(plain)}
	r, err := load.Run(t.Context(), "lines", driven, plan)
	testenv.Must(t, err)
	clean(t, r, plan.Iterations)
	return &driven.loop.naps
}
