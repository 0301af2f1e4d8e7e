package why

import (
	"math"
	"slices"
	"testing"
	"time"

	"contend/why/gotrace"
)

func waitOf(reason gotrace.Reason, function, through string, goroutines float64) gotrace.Wait {
	return gotrace.Wait{Place: gotrace.Place{For: reason, Function: function, Through: through}, Goroutines: goroutines}
}

// slower makes 12 rounds of 8 callers: A answers in 2 ms, 4000 a second, and B, with the same work, in
// 4 ms, 2000 a second. In round r 1 + r/100 goroutines of A wait for a lock, and 5 of B.
func slower() []Profile {
	var all []Profile
	for r := 1; r <= 12; r++ {
		a := profile("A", r, Work{"", "main.handle", 1000})
		a.Response = 1000 * 2 * time.Millisecond
		a.Traced = NewTraced(&gotrace.Trace{Processors: 2, Waits: []gotrace.Wait{
			waitOf(gotrace.Receive, "main.idle", "", 6), // workers, who have less to do of B
			waitOf(gotrace.Sleep, "main.tick", "", 1),
			waitOf(gotrace.Lock, "main.handle", "", 1+float64(r)/100),
			waitOf(gotrace.Sleep, "main.rare", "", 0.003), // below 0.05% of 8
		}}, 4000, 8)
		b := a
		b.Arm, b.Response = "B", 1000*4*time.Millisecond
		b.Traced = NewTraced(&gotrace.Trace{Processors: 1, Waits: []gotrace.Wait{
			waitOf(gotrace.Receive, "main.idle", "", 5),
			waitOf(gotrace.Sleep, "main.tick", "", 1),
			waitOf(gotrace.Lock, "main.handle", "", 1),
			waitOf(gotrace.Lock, "main.handle", "database/sql.(*DB).Query", 4),
			waitOf(gotrace.Processor, "", "", 0.5),
		}}, 2000, 8)
		all = append(all, a, b)
	}
	return all
}

func TestWaits(t *testing.T) {
	e, _ := Explain(slower(), "A", "B", 8, 0.95, nil)
	if len(e.Waits) != 2 || e.Places != 4 || e.Processors != [2]int{2, 1} {
		t.Fatalf("of %d places %+v with %d processors", e.Places, e.Waits, e.Processors)
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-6*math.Abs(want) {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	lock, processor := e.Waits[0], e.Waits[1]
	if lock.For != gotrace.Lock || lock.Name != "main.handle" || !slices.Equal(lock.Functions, []string{"database/sql.(*DB).Query"}) {
		t.Errorf("%+v", lock)
	}
	near("goroutines", lock.Goroutines.Value, 5-1.065)           // the median of r/100 is 0.065
	near("a lock's time in A", lock.BaselineValue, 1.065e9/4000) // L ÷ λ
	near("a lock's time in B", lock.CandidateValue, 5e9/2000)
	if processor.For != gotrace.Processor || processor.Name != "" {
		t.Errorf("%+v", processor)
	}
	near("a processor's time in B", processor.CandidateValue, 0.5e9/2000)

	// With the sides exchanged the same places delayed the baseline, and the candidate waits less
	// there.
	e, _ = Explain(slower(), "B", "A", 8, 0.95, nil)
	if len(e.Waits) != 2 || e.Waits[0].For != gotrace.Lock || e.Waits[0].Value >= 0 || len(e.Waits[0].Functions) != 1 {
		t.Errorf("the other way round: %+v", e.Waits)
	}
}

// If waiting does not clearly differ, places are named of the side that answers later, without the
// processors if both have as many.
func TestWaitsOfTheLater(t *testing.T) {
	all := slower()
	for i := range all {
		p := &all[i]
		p.Response, p.Traced.Processors = time.Second, 2
		if p.Arm == "B" {
			p.CPU, p.Response = 2*p.CPU, 2*time.Second // as its work explains
		}
	}
	e, _ := Explain(all, "A", "B", 8, 0.95, nil)
	if len(e.Waits) != 1 || e.Waits[0].For != gotrace.Lock || e.Wait.Excludes0() {
		t.Errorf("%+v, waiting %+v", e.Waits, e.Wait)
	}
	for i := range all {
		if p := &all[i]; p.Arm == "A" {
			p.Response = 3 * time.Second
		}
	}
	// In each round 1 goroutine more of A, and 4 fewer, wait for something to do and for the lock.
	if e, _ := Explain(all, "A", "B", 8, 0.95, nil); len(e.Waits) != 1 || e.Waits[0].Name != "main.idle" {
		t.Errorf("of A, which answers later: %+v", e.Waits)
	}
	for i := range all {
		all[i].Response = time.Second
	}
	if e, _ := Explain(all, "A", "B", 8, 0.95, nil); len(e.Waits) != 2 {
		t.Errorf("of either, as both answer after the same time: %+v", e.Waits)
	}
}

// A round in which either arm was not traced, or answered nothing during the trace, is left out. With fewer
// rounds less can be shown to differ: at least 8 are needed for one place, at 1.25% (2/2⁸ = 0.78%).
func TestWaitsOfSomeRounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		without int
		change  func(*Profile)
		named   bool
	}{
		{"a round without a trace", 1, func(p *Profile) { p.Traced = nil }, true},
		{"two rounds without an answer", 2, func(p *Profile) { p.Traced.PerSec = 0 }, true},
		{"seven rounds", 5, func(p *Profile) { p.Traced = nil }, false},
		{"none", 12, func(p *Profile) { p.Traced = nil }, false},
	} {
		all := slower()
		for i := range c.without {
			c.change(&all[2*i+i%2]) // of A or of B
		}
		e, ok := Explain(all, "A", "B", 8, 0.95, nil)
		if named := len(e.Waits) > 0 && e.Waits[0].Name == "main.handle"; !ok || named != c.named || (e.Places > 0) != (c.without < 12) {
			t.Errorf("%s: of %d places %+v", c.name, e.Places, e.Waits)
		}
	}
}

// Among system calls in which no idle thread waits the longer one is named, and locks if more threads
// wait for them at the same time, but not threads that wait for one that waits for a task.
func TestBlocking(t *testing.T) {
	for _, c := range []struct {
		name    string
		a, b    time.Duration // in locks, of 12 s each; A answers 1000 times, B 500 times
		want    []string
		perOp   float64 // of locks
		swapped bool    // B is the faster one
	}{
		{"more wait", 2 * time.Second, 5 * time.Second, []string{lockCall, "fsync"}, 10e6 - 2e6, false},
		{"as many wait, twice as long", 6 * time.Second, 6 * time.Second, []string{"fsync"}, 0, false},
		{"fewer wait, and yet longer", 6 * time.Second, 5 * time.Second, []string{"fsync"}, 0, false},
		{"fewer wait, of the faster", 2 * time.Second, 5 * time.Second, []string{lockCall, "fsync"}, 2e6 - 10e6, true},
	} {
		var all []Profile
		for r := 1; r <= 12; r++ {
			arm := func(name string, operations int64, locks, disk time.Duration) Profile {
				p := profile(name, r, Work{"", "handle", time.Duration(operations)})
				p.Operations, p.Response, p.Elapsed = operations, 96*time.Second, 12*time.Second
				p.Blocked = []Blocked{{lockCall, "", locks + time.Duration(r)}, {"fsync", "log", disk / 5}, {"fsync", "save", disk*4/5 + time.Duration(r)}}
				return p
			}
			all = append(all, arm("A", 1000, c.a, time.Second), arm("B", 500, c.b, time.Second))
		}
		from, to := "A", "B"
		if c.swapped {
			from, to = to, from
		}
		e, _ := Explain(all, from, to, 8, 0.95, nil)
		var names []string
		for _, b := range e.Blocked {
			names = append(names, b.Name)
		}
		if disk := e.Blocked[len(e.Blocked)-1]; !slices.Equal(disk.Functions, []string{"save"}) { // log has a fifth of the difference
			t.Errorf("%s: fsync in %q", c.name, disk.Functions)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: %q, want %q", c.name, names, c.want)
		} else if c.perOp != 0 && math.Abs(e.Blocked[0].Value-c.perOp) > 1 {
			t.Errorf("%s: %g ns, want %g", c.name, e.Blocked[0].Value, c.perOp)
		}
	}
}
