package why

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// profile makes one of 1000 operations out of ns per operation.
func profile(arm string, round int, work ...Work) Profile {
	p := Profile{Arm: arm, Round: round, Concurrency: 8, Operations: 1000}
	for _, w := range work {
		w.Time *= 1000
		p.CPU += w.Time
		p.Work = append(p.Work, w)
		p.Functions = append(p.Functions, Function{Name: w.Function, Time: w.Time})
	}
	p.Samples = int64(p.CPU / 100) // of 100 ns each
	return p
}

// In round r the baseline spends 1000 + r ns in the handler and 400 − r waiting for
// locks; the candidate as much, 200 and 100 ns in two functions that hash, and 50 less in locks.
func planted(rounds int) []Profile {
	var all []Profile
	for r := 1; r <= rounds; r++ {
		handle, lock := Work{"", "main.handle", time.Duration(1000 + r)}, Work{"locks", "sync.(*Mutex).Lock", time.Duration(400 - r)}
		all = append(all, profile("A", r, handle, lock))
		lock.Time -= 50
		all = append(all, profile("B", r, handle, lock, Work{"hashing", "sha256.block", 200}, Work{"hashing", "sha256.New", 100}))
	}
	return all
}

func TestExplain(t *testing.T) {
	e, ok := Explain(planted(12), "A", "B", 8, 0.95, nil)
	if !ok || e.Rounds != 12 {
		t.Fatalf("%+v, %v", e, ok)
	}
	// 1400 a round; 300 more for hashing, 50 less for locks.
	if e.CPU.BaselineValue != 1400 || e.CPU.Value != 250 || e.CPU.CandidateValue != 1650 || e.CPU.Low != 250 {
		t.Errorf("CPU: %+v", e.CPU)
	}
	if len(e.Rows) != 2 {
		t.Fatalf("rows: %+v", e.Rows)
	}
	hashing, locks := e.Rows[0], e.Rows[1]
	if hashing.Name != "hashing" || hashing.BaselineValue != 0 || math.Abs(hashing.CandidateValue-300) > 1e-6 ||
		!slices.Equal(hashing.Functions, []string{"sha256.block", "sha256.New"}) {
		t.Errorf("%+v", hashing)
	}
	// The mean of 400 − r over 1 … 12 is 393.5; relative to the handler, which has 1000 + r and is what both share, 393.52.
	if locks.Name != "locks" || math.Abs(locks.Value+50) > 1e-6 || math.Abs(locks.BaselineValue-393.52) > 0.01 || math.Abs(locks.CandidateValue-343.52) > 0.01 ||
		!slices.Equal(locks.Functions, []string{"sync.(*Mutex).Lock"}) {
		t.Errorf("%+v", locks)
	}
	if math.Abs(e.Unnamed()) > 0.01 {
		t.Errorf("%g ns are not named", e.Unnamed())
	}
	// By functions sha256.block, sha256.New and Lock differ, and main.handle does not.
	var names []string
	for _, f := range e.Functions {
		names = append(names, f.Name)
	}
	if want := []string{"sha256.block", "sha256.New", "sync.(*Mutex).Lock"}; !slices.Equal(names, want) {
		t.Errorf("functions %q, want %q", names, want)
	}
}

// If all that the candidate does takes 10% longer, that is a part of its own: with 1400 and 1650 ns before, 10% of their mean.
func TestExplainAlike(t *testing.T) {
	for by, name := range map[float64]string{1.1: "the same work takes longer", 1 / 1.1: "the same work takes less time"} {
		profiles := planted(12)
		for i := range profiles {
			if p := &profiles[i]; p.Arm == "B" {
				p.CPU = time.Duration(by * float64(p.CPU))
				for n, w := range p.Work {
					p.Work[n].Time = time.Duration(by * float64(w.Time))
				}
			}
		}
		e, _ := Explain(profiles, "A", "B", 8, 0.95, nil)
		want := (1400 + 1650) / 2 * (by - 1)
		if math.Abs(e.Alike.Value-want) > 0.05*math.Abs(want) || e.Alike.Name != name || len(e.Parts()) != 3 || math.Abs(e.Unnamed()) > 10 {
			t.Errorf("%g times as long: %+v, want %g of %q; %g ns are not named", by, e.Parts(), want, name, e.Unnamed())
		}
	}
}

// Where little work is shared, operations are the control, than which nothing takes longer.
func TestExplainAlikeWithoutSharedWork(t *testing.T) {
	profiles := planted(12)
	for i := range profiles {
		p := &profiles[i]
		p.CPU, p.Work = 2*p.CPU, []Work{{"", "main.only" + p.Arm, p.CPU}}
	}
	if e, _ := Explain(profiles, "A", "B", 8, 0.95, nil); !e.CPU.Excludes0() || e.Alike.Excludes0() {
		t.Errorf("%+v of %+v takes longer", e.Alike, e.CPU)
	}
}

func TestExplainNeedsRoundsOfBoth(t *testing.T) {
	if e, ok := Explain(planted(11), "A", "B", 8, 0.95, nil); ok || e.Rounds != 11 || e.Rows != nil {
		t.Errorf("11 rounds: %+v", e)
	}
	alone := append(planted(11), profile("A", 12, Work{"", "main.handle", 1}))
	if e, ok := Explain(alone, "A", "B", 8, 0.95, nil); ok {
		t.Errorf("a round of the baseline alone counts: %+v", e)
	}
	idle := planted(12)
	idle[23].Operations = 0
	if e, ok := Explain(idle, "A", "B", 8, 0.95, nil); ok {
		t.Errorf("a round without an operation counts: %+v", e)
	}
	idle = planted(13)
	idle[23].CPU = 0
	if e, ok := Explain(idle, "A", "B", 8, 0.95, nil); !ok || e.Rounds != 12 {
		t.Errorf("12 of 13 rounds with CPU time of both: %+v", e)
	}
	if _, ok := Explain(planted(12), "A", "B", 9, 0.95, nil); ok {
		t.Error("profiles of another concurrency count")
	}
}

// Variants that share nothing are compared per operation, and what one side alone does is found.
func TestExplainNothingShared(t *testing.T) {
	var all []Profile
	for r := 1; r <= 12; r++ {
		for arm, name := range map[string]string{"A": "main.plain", "B": "main.hash"} {
			p := profile(arm, r, Work{"", name, time.Duration(1_000_000 + 1000*r)})
			p.Samples = 50
			all = append(all, p)
		}
	}
	e, _ := Explain(all, "A", "B", 8, 0.95, nil)
	if len(e.Rows) != 2 || math.Abs(math.Abs(e.Rows[0].Value)-1_006_500) > 1000 {
		t.Errorf("%+v, want one of about 1,006,500 ns less and one of as much more", e.Rows)
	}
}

// However many rows differ, all of half a per cent or more are named, and a row below that is not; what everybody has
// more of by the same share is the machine's.
func TestExplainLooksAtAll(t *testing.T) {
	var all []Profile
	for r := 1; r <= 12; r++ {
		var a, b []Work
		for i := range 60 {
			w := Work{"", fmt.Sprintf("main.f%03d", i), 1000}
			a = append(a, w)
			w.Time += 100
			b = append(b, w)
		}
		big := Work{"", "main.big", 200_000}
		all = append(all, profile("A", r, append(a, big)...), profile("B", r, append(b, big, Work{"", "main.small", 800})...))
	}
	e, _ := Explain(all, "A", "B", 8, 0.95, nil)
	if len(e.Rows) != 0 {
		t.Errorf("1100 of 266,800 ns are below 0.5%%: %d rows", len(e.Rows))
	}
	for i := range all {
		for j := range all[i].Work {
			if w := &all[i].Work[j]; w.Function == "main.big" {
				all[i].CPU -= w.Time / 3
				w.Time -= w.Time / 3
			}
		}
	}
	e, _ = Explain(all, "A", "B", 8, 0.95, nil)
	if len(e.Rows) != 60 || slices.ContainsFunc(e.Rows, func(r Row) bool { return r.Name == "main.small" || r.Name == "main.big" }) {
		t.Errorf("%d rows, the first %+v", len(e.Rows), e.Rows[0])
	}
}

// What the work explains of a response time is not waiting, and less work is not waiting either.
func TestWaited(t *testing.T) {
	arm := func(cpu, response time.Duration) Profile {
		return Profile{Operations: 10, CPU: cpu, Response: response}
	}
	for _, c := range []struct {
		name          string
		cpu, response time.Duration // of the baseline 100 and 400
		want          float64       // per operation
	}{
		{"the same", 100, 400, 0},
		{"in proportion to the work", 150, 600, 0},
		{"less than that", 150, 500, 0},
		{"more than that", 150, 800, (800 - 600) / 10},
		{"without more work", 100, 800, 40},
		{"with less work as long", 50, 400, 0},
		{"with less work longer", 50, 500, 10},
		{"shorter in proportion", 50, 200, 0},
		{"shorter than that", 50, 100, -(400 - 200.) / 10},
		{"shorter with the same work", 100, 300, -10},
	} {
		p := pair{arm(100, 400), arm(c.cpu, c.response)}
		if got := p.waited(); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
		if got := (pair{p[1], p[0]}).waited(); got != -c.want {
			t.Errorf("%s, the other way round: %g, want %g", c.name, got, -c.want)
		}
	}
}

// sampled draws a profile of 500 samples' time: each row's number of samples is Poisson
// about its share, and CPU per operation varies by 10% from round to round.
func sampled(random *rand.Rand, arm string, round int, means []float64) Profile {
	var work []Work
	total, samples := 0.0, 0.0
	counts := make([]float64, len(means))
	for i, m := range means {
		total += m
		counts[i] = distuv.Poisson{Lambda: m, Src: random}.Rand()
		samples += counts[i]
	}
	cpu := total * (1 + 0.1*random.NormFloat64())
	for i, n := range counts {
		work = append(work, Work{"", fmt.Sprintf("f%d", i), time.Duration(1000 * cpu * n / samples)})
	}
	p := profile(arm, round, work...)
	p.Samples = int64(samples)
	return p
}

// For equal arms work is named in at most 1 of 500 explanations, a fifth of 1%, and 8% more of the work is found and
// named first.
func TestExplainErrs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	base := []float64{100, 90, 80, 60, 50, 40, 30, 20, 10, 8, 6, 4, 2}
	more := append(slices.Clone(base), 40) // 40 of 540
	named, found, inside := 0, 0, 0
	const explanations = 400
	for range explanations {
		var equal, unlike []Profile
		for r := 1; r <= LeastRounds; r++ {
			equal = append(equal, sampled(random, "A", r, base), sampled(random, "B", r, base))
			unlike = append(unlike, sampled(random, "A", r, base), sampled(random, "B", r, more))
		}
		if e, _ := Explain(equal, "A", "B", 8, 0.95, nil); len(e.Rows) > 0 {
			named++
		}
		e, _ := Explain(unlike, "A", "B", 8, 0.95, nil)
		if len(e.Rows) > 0 && e.Rows[0].Name == "f13" {
			found++
		}
		if sum := e.CPU.Value - e.Unnamed(); sum >= e.CPU.Low && sum <= e.CPU.High {
			inside++
		}
	}
	t.Logf("of %d: equal arms named %d times, the cause first %d times, the sum of rows inside %d times", explanations, named, found, inside)
	if named > 4 || found < explanations*99/100 || inside < explanations*9/10 {
		t.Errorf("of %d: equal arms named %d times (allowed: 4), the cause first %d times (396), the sum of rows inside %d times (360)",
			explanations, named, found, inside)
	}
}

// Functions whose code has changed have a level of their own: their intervals are narrower than those of others, which stay as they are.
func TestChangedFunctionsHaveALevelOfTheirOwn(t *testing.T) {
	var all []Profile
	for round := 1; round <= 12; round++ {
		for side, arm := range []string{"A", "B"} {
			p := profile(arm, round, Work{"", "main.handle", 10_000})
			p.Functions = nil
			for f := range 20 {
				p.Functions = append(p.Functions, Function{fmt.Sprint("main.f", f), time.Duration(200+10*((round*(f+3)+side*f)%7)) * time.Microsecond, Own})
			}
			all = append(all, p)
		}
	}
	c := controlOf(pairsOf(all, "A", "B", 8))
	widths := func(changed ...string) map[string]float64 {
		of := map[string]float64{}
		for _, r := range c.sampledWith(Profile.own, ownShare, 0.999, changed, 0.99) {
			of[r.Name] = r.High - r.Low
		}
		return of
	}
	among, first := widths("main.gone"), widths("main.f3", "main.f4")
	if among["main.f3"] == 0 || first["main.f3"] >= 0.9*among["main.f3"] || first["main.f5"] != among["main.f5"] {
		t.Errorf("of one among 20 %g, of one of two that changed %g; of another %g and %g", among["main.f3"], first["main.f3"], among["main.f5"], first["main.f5"])
	}
}
