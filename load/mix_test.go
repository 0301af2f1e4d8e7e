package load

import (
	"testing"
	"testing/synctest"
	"time"

	"contend/pace"
)

// Loads side by side begin together, each by its own plan, and add up to one result.
func TestMix(t *testing.T) {
	mix := &Mix{Loads: []MixedLoad{
		{Name: "closed", Kind: "constant-vus", Target: sleeper(100 * time.Millisecond), Plan: Plan{VUs: 2, Duration: 2 * time.Second, Grace: time.Second}},
		{Name: "late", Kind: "ramping-vus", Target: sleeper(200 * time.Millisecond), Plan: Plan{VUs: 3, Callers: callers(t, "0/1s,3/3s"), Duration: 4 * time.Second, Grace: time.Second}},
		{Name: "few", Kind: "per-vu-iterations", Target: sleeper(100 * time.Millisecond), Plan: Plan{VUs: 2, PerVU: 3, Iterations: 6, Duration: time.Minute, Grace: time.Second}},
		{Name: "open", Kind: "constant-arrival-rate", Target: sleeper(300 * time.Millisecond), Plan: Plan{VUs: 1, Pacer: pace.Constant(5), Duration: 3 * time.Second, Grace: time.Second}},
	}}
	var edges []Edge
	last := Progress{}
	var r *Result
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), "mix", mix, 8)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		plan := Plan{VUs: 8, Duration: time.Minute, Grace: time.Second, Timer: pace.Runtime, AtEdge: func(e Edge) { edges = append(edges, e) },
			Progress: func(p Progress) { last = p }, Until: func(p Progress) bool { return p.Counts().Completed > 1000 }}
		if r, err = s.Run(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	})
	checkSum(t, r)
	// closed 2 × 20, late 3 × 15, few 6; open 15 due, each longer than the time between two
	want := map[string]int64{"closed": 40, "late": 45, "few": 6}
	var planned, completed int64
	for _, s := range r.Scenarios {
		planned, completed = planned+s.Planned, completed+s.Completed
		if n, ok := want[s.Name]; ok && s.Completed != n {
			t.Errorf("%s: %d iterations, want %d", s.Name, s.Completed, n)
		}
		if s.Name == "open" && (s.Planned != 15 || s.Dropped == 0) {
			t.Errorf("open: planned %d, dropped %d; want 15, and some", s.Planned, s.Dropped)
		}
	}
	if len(r.Scenarios) != 4 || planned != r.Planned || completed != r.Completed || last.Completed != completed {
		t.Errorf("scenarios %+v of planned %d, completed %d, seen %d", r.Scenarios, r.Planned, r.Completed, last.Completed)
	}
	if r.Duration != 4*time.Second || r.Model != MixedModel || r.Concurrency != 8 {
		t.Errorf("%v of %s model, concurrency %d", r.Duration, r.Model, r.Concurrency)
	}
	if len(edges) != 2 || edges[0] != WindowOpens || edges[1] != WindowCloses {
		t.Errorf("edges %v", edges)
	}
}

// Each load has a grace of its own, which that of the run bounds, and which may be fixed.
func TestMixGrace(t *testing.T) {
	for _, c := range []struct {
		run, a, b time.Duration
		length    time.Duration
		fixed     bool
		want      [2]int64 // completed iterations of 3 s
	}{
		{10 * time.Second, 0, 5 * time.Second, time.Second, false, [2]int64{0, 1}},
		{10 * time.Second, 5 * time.Second, time.Second, time.Second, false, [2]int64{1, 0}},
		{time.Second, 5 * time.Second, 5 * time.Second, time.Second, false, [2]int64{0, 0}},
		{10 * time.Second, time.Second, 2 * time.Second, 4 * time.Second, false, [2]int64{2, 2}}, // 3.3 s, as the first took 3 s
		{10 * time.Second, time.Second, 3 * time.Second, 4 * time.Second, true, [2]int64{1, 2}},
	} {
		synctest.Test(t, func(t *testing.T) {
			mix := &Mix{}
			for i, grace := range []time.Duration{c.a, c.b} {
				mix.Loads = append(mix.Loads, MixedLoad{Name: string(rune('a' + i)), Target: sleeper(3 * time.Second), Plan: Plan{VUs: 1, Duration: c.length, Grace: grace, FixedGrace: c.fixed}})
			}
			s, err := Open(t.Context(), "mix", mix, 2)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := s.Run(t.Context(), Plan{VUs: 2, Duration: time.Minute, Grace: c.run})
			if err != nil {
				t.Fatal(err)
			}
			for i, own := range r.Scenarios {
				if own.Completed != c.want[i] || own.Unfinished != own.Planned-c.want[i] {
					t.Errorf("%+v: %s has %d completed, %d unfinished", c, own.Name, own.Completed, own.Unfinished)
				}
			}
		})
	}
}

// Each of several generators drives its share of all loads, and together they do what one does.
func TestMixInParts(t *testing.T) {
	loads := func() []MixedLoad {
		return []MixedLoad{
			{Name: "one", Target: sleeper(100 * time.Millisecond), Plan: Plan{VUs: 1, Duration: 2 * time.Second}},
			{Name: "ramp", Target: sleeper(100 * time.Millisecond), Plan: Plan{VUs: 3, Callers: callers(t, "0/1s,3/1s"), Duration: 2 * time.Second}},
			{Name: "few", Target: sleeper(100 * time.Millisecond), Plan: Plan{VUs: 1, Iterations: 4, Duration: time.Minute}},
			{Name: "open", Target: sleeper(time.Millisecond), Plan: Plan{VUs: 4, Pacer: pace.Constant(10), Duration: 2 * time.Second}},
		}
	}
	plan := Plan{VUs: 9, Duration: time.Minute, Grace: time.Second, Timer: pace.Runtime}
	plans, err := plan.Split([]int{1, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	planned, vus := int64(0), 0
	for _, part := range plans {
		synctest.Test(t, func(t *testing.T) {
			s, err := Open(t.Context(), "mix", &Mix{Loads: loads(), Share: part.Share}, part.VUs)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := s.Run(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			planned, vus = planned+r.Planned, vus+r.Concurrency
			if r.Concurrency != part.VUs {
				t.Errorf("%d VUs, want %d", r.Concurrency, part.VUs)
			}
		})
	}
	// 20, three times 10 in the second second, 4, and 20 arrivals.
	if planned != 20+30+4+20 || vus != 9 {
		t.Errorf("planned %d by %d VUs, want 74 by 9", planned, vus)
	}
}
