package loop

import (
	"fmt"
	"net"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
)

// A fan sends one request over each of its lanes, and its iteration ends when all have come to something.
type fan struct {
	RoamerSlots
	all  *fans
	rays []*ray
	left int
	lost error
}

// Fans count what becomes of all.
type fans struct {
	width                        int
	answered, abandoned, strayed int
}

// A ray is a lane of a fan that speaks lines, and the Slots of these.
type ray struct {
	lines
	Slots
	fan    *fan
	number int
}

var _ Fan = (*fan)(nil)

func (a *fans) config(s *server) Config {
	return s.config(func([]int) Conversation { return &fan{all: a} })
}

func (f *fan) Bind(slots RoamerSlots) { f.RoamerSlots = slots }

func (f *fan) Lane(i int) Lane {
	for i >= len(f.rays) {
		f.rays = append(f.rays, &ray{fan: f, number: len(f.rays)})
	}
	return f.rays[i]
}

func (f *fan) Open(out []byte) []byte { return f.rays[0].Open(out) }

func (f *fan) Start(out []byte, _ int) []byte {
	f.left, f.lost = f.all.width, nil
	f.Await()
	for i := 1; i < f.all.width; i++ {
		f.Carry(i)
	}
	f.Carries()
	return f.rays[0].Start(out, 0)
}

func (f *fan) Resume(out []byte, _ int) []byte {
	if f.left > 0 {
		f.Await()
		return out
	}
	f.End(0, &load.Outcome{Status: 1}, f.lost)
	return out
}

func (f *fan) Receive(out, in []byte, slots Slots) ([]byte, error) {
	return f.rays[0].Receive(out, in, slots)
}

func (f *fan) Lost(int, error) bool { f.all.strayed++; return false }
func (f *fan) Abandon(int)          { f.all.abandoned++ }

func (r *ray) Opened(net.Addr) {}
func (r *ray) Written()        {}

func (r *ray) Start(out []byte, _ int) []byte { return r.lines.Start(out, r.number) }

func (r *ray) Receive(out, in []byte, slots Slots) ([]byte, error) {
	r.Slots = slots
	return r.lines.Receive(out, in, r)
}

func (r *ray) FirstByte(int) {}

func (r *ray) End(slot int, _ *load.Outcome, _ error) {
	if slot != r.number || r.fan.left == 0 {
		r.fan.all.strayed++
	}
	r.fan.all.answered++
	r.ends()
}

func (r *ray) Lost(err error) {
	r.fan.lost = err
	r.ends()
}

func (r *ray) ends() {
	r.fan.left--
	r.fan.Carried(r.number)
}

// An iteration has several requests in flight, each over a connection that the next iteration uses again.
func TestLanes(t *testing.T) {
	t.Parallel()
	const vus, width, iterations = 3, 4, 30
	for _, c := range []struct {
		name        string
		answer      string // of lane 2; "": its connection is closed; "-": no answer comes
		answered    int
		connections int
		errors      errkind.Kind
		abandoned   int
	}{
		{"all are answered", "2 0\n", width * iterations, width * vus, "", 0},
		{"a server ends connections after the answer", "bye\n2 0\n", width * iterations, (width-1)*vus + iterations, "", 0},
		{"a server closes a connection instead", "", (width - 1) * iterations, (width-1)*vus + iterations, errkind.Closed, 0},
		{"a server is silent", "-", 0, 0, errkind.Timeout, iterations},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "tcp", func(_ int, conn net.Conn) {
				requests(conn, func(lane string) bool {
					switch {
					case lane != "2":
						fmt.Fprintf(conn, "%s 0\n", lane)
					case c.answer != "-":
						fmt.Fprint(conn, c.answer)
					}
					return lane != "2" || c.answer != ""
				})
			})
			plan := load.Plan{VUs: vus, Iterations: iterations}
			if c.answer == "-" {
				plan.Timeout, plan.Grace = 20*time.Millisecond, testenv.Patience // less than 2 s together, after which a run without responses ends
			}
			all := &fans{width: width}
			r := run(t, all.config(s), plan)
			if c.errors == "" {
				clean(t, r, iterations)
			} else if r.Errored[c.errors] != iterations {
				t.Errorf("errored %v, want %d %s", r.Errored, iterations, c.errors)
			}
			if all.abandoned != c.abandoned || all.strayed > 0 {
				t.Errorf("%d abandoned, want %d; %d calls that should not come", all.abandoned, c.abandoned, all.strayed)
			}
			if plan.Timeout == 0 && (all.answered != c.answered || s.count() != c.connections) { // else others may be late, too
				t.Errorf("%d answers over %d connections, want %d, %d", all.answered, s.count(), c.answered, c.connections)
			}
		})
	}
}

// The end of a run cuts off what lanes carry, and where nobody listens each lane reports it.
func TestLanesEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, "tcp", func(_ int, conn net.Conn) {
		requests(conn, func(string) bool { return true })
	})
	all := &fans{width: 3}
	r := run(t, all.config(s), load.Plan{VUs: 2, Duration: 50 * time.Millisecond, Grace: time.Millisecond})
	if r.Unfinished != r.Planned || all.abandoned != int(r.Planned) || all.strayed > 0 {
		t.Errorf("%d planned, %d unfinished, %d abandoned, %d strayed", r.Planned, r.Unfinished, all.abandoned, all.strayed)
	}
	s.stop()
	all = &fans{width: 3}
	r = run(t, all.config(s), load.Plan{VUs: 2, Iterations: 10})
	if r.ErroredTotal() != 10 || all.strayed+all.abandoned > 0 {
		t.Errorf("errored %v, %d strayed, %d abandoned, want 10 errors", r.Errored, all.strayed, all.abandoned)
	}
}
