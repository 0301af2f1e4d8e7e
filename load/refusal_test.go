package load

import (
	"slices"
	"strings"
	"testing"
	"time"

	"contend/hist"
	"contend/stat"
)

// healthy makes a result of 1000 right answers in one second on two cores.
func healthy(change func(*Result)) *Result {
	r := &Result{
		Model: ClosedModel, Concurrency: 10, Duration: time.Second,
		Counts: Counts{
			Planned: 1000, Completed: 1000, Ops: 1000,
			Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
		},
		Cost: Cost{GeneratorCores: 2, GeneratorCPUSec: 0.2, Server: &Usage{CPUSec: 0.4}},
	}
	r.Service.RecordN(10*time.Millisecond, 1000) // 1000/s · 10 ms = 10 VUs busy: the generator takes nothing
	r.Response.RecordN(10*time.Millisecond, 1000)
	r.StartLag.RecordN(0, 1000)
	change(r)
	r.Derive()
	return r
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Result)
		about  stat.Kind
		want   string // code, "" for none
	}{
		{"healthy", func(*Result) {}, stat.HigherIsFaster, ""},
		{"nothing succeeded", func(r *Result) { r.Completed, r.Ops, r.Failed = 0, 0, 1000 }, stat.HigherIsFaster, "errors"},
		{"no answer within the window and the grace", func(r *Result) { r.Completed, r.Ops, r.Planned, r.Unfinished = 0, 0, 10, 10 }, stat.HigherIsFaster, "incomplete"},
		{"nothing began", func(r *Result) { r.Completed, r.Ops, r.Planned = 0, 0, 0 }, stat.HigherIsFaster, "errors"},
		{"silent at the end", silent, stat.HigherIsFaster, "errors"},
		{"one lost", func(r *Result) { r.Completed = 999 }, stat.HigherIsFaster, "miscounted"},
		{"1% errors", func(r *Result) { r.Completed, r.Failed = 990, 10 }, stat.HigherIsFaster, "errors"},
		{"0.1% errors", func(r *Result) { r.Completed, r.Failed = 999, 1 }, stat.HigherIsFaster, ""},
		{"1% errors, 0.5% allowed", func(r *Result) { r.Completed, r.Failed, r.Plan.MaxErrors = 990, 10, new(0.005) }, stat.HigherIsFaster, "errors"},
		{"1% errors, 1% allowed", func(r *Result) { r.Completed, r.Failed, r.Plan.MaxErrors = 990, 10, new(0.01) }, stat.HigherIsFaster, ""},
		{"one error, none allowed", func(r *Result) { r.Completed, r.Failed, r.Plan.MaxErrors = 999, 1, new(0.0) }, stat.HigherIsFaster, "errors"},
		{"open model, 2% missing", func(r *Result) { r.Model, r.Planned, r.Dropped = OpenModel, 1020, 20 }, stat.HigherIsFaster, "incomplete"},
		{"closed model, 2% missing", func(r *Result) { r.Planned, r.Unfinished = 1020, 20 }, stat.Amount, "incomplete"},
		{"1% missing", func(r *Result) { r.Planned, r.Dropped, r.Unfinished = 1010, 5, 5 }, stat.HigherIsFaster, ""},
		{"3% missing, 4% allowed", func(r *Result) { r.Planned, r.Unfinished, r.Plan.MaxUnfinished = 1030, 30, 0.04 }, stat.HigherIsFaster, ""},
		{"0.1% missing, 0.05% allowed", func(r *Result) { r.Planned, r.Unfinished, r.Plan.MaxUnfinished = 1001, 1, 0.0005 }, stat.HigherIsFaster, "incomplete"},
		// 1.7 of the 2 − 0.1 cores it could get is 89%; the server used 0.1 of 0.3.
		{"generator busy, server idle", func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.7, 0.1 }, stat.HigherIsFaster, "generator_saturated"},
		{"one of several generators busy", several(0.9), stat.HigherIsFaster, "generator_saturated"},
		{"none of several busy", several(0.8), stat.HigherIsFaster, ""},
		// 1.2 of 2 − 0.75 = 96%; 0.75 of 2 − 1.2 = 94%: both busy is a finding.
		{"both busy", func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.2, 0.75 }, stat.HigherIsFaster, ""},
		{"server busy", func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 0.3, 1.6 }, stat.HigherIsFaster, ""},
		{"no server sampled", func(r *Result) { r.GeneratorCPUSec, r.Server = 1.9, nil }, stat.HigherIsFaster, ""},
		// 1000/s · 5 ms = 5 of 10 VUs busy: half of each cycle in the generator.
		{"half the cycle in the generator", halfCycle, stat.LowerIsFaster, "generator_saturated"},
		{"the same for throughput", halfCycle, stat.HigherIsFaster, ""},
		// Others used 2 − 0.2 − 0.4 = 1.4 of 2 s, all that there was: 70%.
		{"others took the cores that a side waited for", func(r *Result) { crowded(r); r.Server.WaitedSec = 0.5 }, stat.HigherIsFaster, "machine_busy"},
		{"others took what both left", crowded, stat.HigherIsFaster, ""},
		// 1.9 s of 2 is full; 1.8 is not.
		{"a core is idle now and then", func(r *Result) { crowded(r); r.Server.WaitedSec, r.MachineCPUSec = 0.5, 1.8 }, stat.HigherIsFaster, ""},
		// 1000/s · 4 ms = 4 of 10 VUs busy: 60% in the generator.
		{"over half of the cycle", shortService, stat.HigherIsFaster, "generator_saturated"},
		// 1.5 of the 2 − 0.3 cores that it could get is 88%.
		{"over half of the cycle, server busy", func(r *Result) { shortService(r); r.GeneratorCPUSec, r.Server.CPUSec = 0.3, 1.5 }, stat.HigherIsFaster, ""},
		// 0.28 of the 0.3 s that one event loop ran.
		{"loop stopped 70% of the time", oneLoop(func(r *Result) { r.GeneratorCPUSec, r.GeneratorStalledSec = 0.28, 0.7 }), stat.HigherIsFaster, "generator_saturated"},
		{"loop stopped, and idle between", oneLoop(func(r *Result) { r.GeneratorCPUSec, r.GeneratorStalledSec = 0.15, 0.7 }), stat.HigherIsFaster, ""},
		// 0.36 of the 1 − 0.6 s in which it did not wait for a core.
		{"loop waits for a core", oneLoop(func(r *Result) { r.GeneratorCPUSec, r.GeneratorWaitedSec = 0.36, 0.6 }), stat.HigherIsFaster, "generator_saturated"},
		// Two threads for 0.3 s are 0.6; the server took 0.2 of it: 0.36 of 0.4.
		{"goroutines stopped", func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec, r.GeneratorStalledSec = 0.36, 0.2, 0.7 }, stat.HigherIsFaster, "generator_saturated"},
		{"CPU limit used up", func(r *Result) { r.GeneratorCPUSec, r.GeneratorCPULimit = 0.27, 0.3 }, stat.HigherIsFaster, "generator_saturated"},
		{"CPU limit not used up", func(r *Result) { r.GeneratorCPUSec, r.GeneratorCPULimit = 0.2, 0.3 }, stat.HigherIsFaster, ""},
		{"pinned apart, both busy", pinned(0.95, 0.9), stat.HigherIsFaster, ""},
		{"pinned apart, the generator busy", pinned(0.95, 0.5), stat.HigherIsFaster, "generator_saturated"},
		// Others used 2 − 0.8 = 60%, and both sides waited longer for a core than they had one.
		{"others took the machine", crowdedBy(0.4, 0.4, 1.2), stat.HigherIsFaster, "machine_busy"},
		// Others used 30%, all of it from both sides: 0.7 of 2 − 0.7 − 0.6.
		{"others took a part", crowdedBy(0.7, 0.7, 2), stat.HigherIsFaster, ""},
		// They used what neither side wanted: nobody waited.
		{"others used the rest", crowdedBy(0.4, 0.4, 0), stat.HigherIsFaster, ""},
		{"late arrivals", late(2 * time.Millisecond), stat.LowerIsFaster, "start_lag"},
		{"6% late on average", late(600 * time.Microsecond), stat.LowerIsFaster, "start_lag"},
		{"4% late on average", late(400 * time.Microsecond), stat.LowerIsFaster, ""},
		// Others used 2 − 0.2 − 0.4 = 1.4 of the 2 s, and so much of the wait: 0.105 s of the 0.2 + 0.105 the load generator needed.
		{"late as others had the cores", lateBy(0.15), stat.LowerIsFaster, "machine_busy"},
		// 0.05 · 1.4 ÷ 2 = 0.035 s of 0.235.
		{"late, and others had idle cores", lateBy(0.05), stat.LowerIsFaster, "start_lag"},
		{"late as others had the cores, throughput", lateBy(0.15), stat.HigherIsFaster, ""},
		{"late, nothing known of the server", func(r *Result) { lateBy(0.15)(r); r.Server = nil }, stat.LowerIsFaster, "start_lag"},
		{"late arrivals, throughput", late(2 * time.Millisecond), stat.HigherIsFaster, ""},
		{"late in the closed model", func(r *Result) { late(2 * time.Millisecond)(r); r.Model = ClosedModel }, stat.LowerIsFaster, ""},
		{"falling from second to second", falling, stat.HigherIsFaster, "not_steady"},
		{"the same, memory", falling, stat.Amount, ""},
		{"in this process", func(r *Result) { halfCycle(r); r.Local, r.Server = true, nil }, stat.LowerIsFaster, ""},
	}
	for _, tt := range tests {
		r := healthy(tt.change)
		got := ""
		if reason := r.Refusal(tt.about); reason != nil {
			got = reason.Code
		}
		if got != tt.want {
			t.Errorf("%s: refused as %q, want %q", tt.name, got, tt.want)
		}
	}
}

// silent answers for a second and then no more, which leaves 10 of 4010 unfinished.
func silent(r *Result) {
	r.Planned, r.Completed, r.Ops, r.Unfinished, r.Duration = 4010, 4000, 4000, 10, 4*time.Second
	r.Course = bySecond(Interval{Completed: 4000})
	r.Service.RecordN(10*time.Millisecond, 3000)
}

func crowded(r *Result) { r.MachineCPUSec, r.MachineCores = 2, 2 }

// several generators used this much at most of what each could get.
func several(most float64) func(*Result) {
	return func(r *Result) {
		r.GeneratorCPUSec, r.Server.CPUSec = 0.3, 0.1
		r.Generators = []Generator{{Name: "a", CPUSec: 0.1, CPUShare: 0.2}, {Name: "b", CPUSec: 0.2, CPUShare: most}}
	}
}

func halfCycle(r *Result) {
	r.Service = hist.New()
	r.Service.RecordN(5*time.Millisecond, 1000)
}

func shortService(r *Result) {
	r.Service = hist.New()
	r.Service.RecordN(4*time.Millisecond, 1000)
}

// oneLoop is a generator of one event loop and a server that uses little.
func oneLoop(change func(*Result)) func(*Result) {
	return func(r *Result) {
		r.Engine, r.Loops, r.Server.CPUSec = EventLoop, 1, 0.2
		change(r)
	}
}

// pinned has one CPU for each side.
func pinned(generator, server float64) func(*Result) {
	return oneLoop(func(r *Result) {
		r.GeneratorCPUSec, r.GeneratorCores, r.GeneratorCPUs = generator, 1, 1
		*r.Server = Usage{CPUSec: server, CPUs: 1}
	})
}

// crowdedBy is a machine without an idle core whose processes waited for one.
func crowdedBy(generator, server, waited float64) func(*Result) {
	return func(r *Result) {
		r.MachineCPUSec, r.MachineCores = 2, 2
		r.GeneratorCPUSec, r.GeneratorWaitedSec = generator, waited
		*r.Server = Usage{CPUSec: server, WaitedSec: waited}
	}
}

// late starts all arrivals of an open model late, at response times of 10 ms.
func late(lag time.Duration) func(*Result) {
	return func(r *Result) {
		r.Model, r.StartLag = OpenModel, hist.New()
		r.StartLag.RecordN(lag, 1000)
	}
}

// lateBy has late arrivals on a machine that others used up, where the generator waited so many
// seconds for a core.
func lateBy(waited float64) func(*Result) {
	return func(r *Result) {
		late(2 * time.Millisecond)(r)
		r.MachineCPUSec, r.MachineCores, r.GeneratorWaitedSec = 2, 2, waited
	}
}

// falling loses 10 of 100 iterations each second.
func falling(r *Result) {
	r.Duration, r.Concurrency = 10*time.Second, 1 // 1000 · 10 ms in 10 s
	var seconds []Interval
	for i := range int64(10) {
		seconds = append(seconds, Interval{Completed: 145 - 10*i})
	}
	r.Course = bySecond(seconds...)
}

// foreign has what both sides used, in seconds, with a server that somebody else started.
func foreign(generator, server float64) func(*Result) {
	return func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec, r.Server.Foreign = generator, server, true }
}

// The process that was found to listen may not be all of the server.
func TestNothingIsRefusedForAForeignServersUse(t *testing.T) {
	for name, change := range map[string]func(*Result){
		"saturated": foreign(1.8, 0.15),
		"crowded":   func(r *Result) { crowdedBy(0.2, 0.2, 2)(r); r.Server.Foreign, r.Server.WaitedSec = true, 1 },
	} {
		r := healthy(change)
		if reason := r.Refusal(stat.HigherIsFaster); reason != nil || r.Crowded() != nil {
			t.Errorf("%s: refused because %v", name, reason)
		}
		r.Server.Foreign = false
		if r.Derive(); r.Refusal(stat.HigherIsFaster) == nil {
			t.Errorf("%s: not refused of our own server", name)
		}
		two := Merge(healthy(change), healthy(change))
		if !two.Server.Foreign {
			t.Errorf("%s: the sum of two does not say that it is foreign", name)
		}
	}
}

func TestCPUFindings(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Result)
		want   []string
	}{
		{"both idle", func(*Result) {}, nil},
		{"server busy", func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 0.3, 1.5 }, []string{"server_busy"}},
		{"both, on CPUs of their own", pinned(0.95, 0.9), []string{"server_busy"}},
		{"threads that one CPU keeps apart", func(r *Result) { pinned(0.5, 0.5)(r); r.Server.Parallel = true }, []string{"one_cpu"}},
		{"one thread on one CPU", pinned(0.5, 0.5), nil},
		{"threads on two CPUs", func(r *Result) { pinned(0.5, 0.5)(r); r.Server.Parallel, r.Server.CPUs = true, 2 }, nil},
		{"threads on the CPU that the generator has, too", func(r *Result) { pinned(0.5, 0.5)(r); r.Server.Parallel, r.Server.SharedCPUs = true, 1 }, []string{"cpu_shared"}},
		{"one CPU of a server that was found", func(r *Result) { pinned(0.5, 0.5)(r); r.Server.Parallel, r.Server.Foreign = true, true }, nil},
		{"others took a part", crowdedBy(0.7, 0.7, 2), []string{"cpu_shared", "machine_busy"}},
		{"others took little", crowdedBy(0.8, 0.8, 2), []string{"cpu_shared"}},
		{"others used the rest", crowdedBy(0.4, 0.4, 0), nil},
		{"both, of a server that was found", foreign(1.2, 0.8), []string{"cpu_shared"}},
		{"the generator alone, of a server that was found", foreign(1.8, 0.15), []string{"generator_busy"}},
		{"others, which may be parts of the server that was found", func(r *Result) { crowdedBy(0.7, 0.7, 2)(r); r.Server.Foreign = true }, []string{"cpu_shared"}},
		{"not our server", func(r *Result) { crowdedBy(0.4, 0.4, 1.2)(r); r.Server = nil }, nil},
	}
	for _, tt := range tests {
		r := healthy(tt.change)
		var got []string
		for _, w := range r.cpuFindings() {
			got = append(got, w.Code)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: found %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The figures in the words: of 1.2 + 0.8 s the server's are 40%; the generator's 1.8 s
// are 97% of 2 − 0.15, the server's 0.15 s 75% of 2 − 1.8; and 1.6 s are 94% of
// 2 − 0.3. Others used 2 − 1.4 of 2 s.
func TestCPUFindingsText(t *testing.T) {
	tests := []struct {
		change func(*Result)
		want   string // of the only finding, or the last
	}{
		{func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.2, 0.8 }, "40% of the CPU used was the server's, so a change of the server's cost shows in the throughput at 40%"},
		{func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.8, 0.15 }, "97% of the CPU it could get, the server 75%"},
		{func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 0.3, 1.6 }, "94% of the CPU it could get"},
		{crowdedBy(0.7, 0.7, 2), "other programs used 30%"},
	}
	for _, tt := range tests {
		found := healthy(tt.change).cpuFindings()
		if len(found) == 0 || !strings.Contains(found[len(found)-1].Text, tt.want) {
			t.Errorf("found %v, want %q", found, tt.want)
		}
	}
}

func TestBothBusyIsAFinding(t *testing.T) {
	r := healthy(func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.2, 0.8 })
	found := r.Warnings
	if len(found) != 1 || found[0].Code != "cpu_shared" {
		t.Errorf("findings %v, want cpu_shared alone", found)
	}
}

// The generator's own view of its CPU does not know the server's: 1.8 of 2 cores
// is 90%, and 0.15 of the 0.2 that are left is 75%.
func TestServerViewReplacesTheGenerators(t *testing.T) {
	sampled := healthy(func(r *Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.8, 0.15 })
	alone := healthy(func(r *Result) { r.GeneratorCPUSec, r.Server = 1.8, nil })
	for _, tt := range []struct {
		result *Result
		want   string
	}{{sampled, "generator_saturated"}, {alone, "generator_busy"}} {
		if w := tt.result.Warnings; len(w) != 1 || w[0].Code != tt.want {
			t.Errorf("warnings %v, want %s alone", w, tt.want)
		}
	}
	// A finding of errors does not hide that of the CPU.
	if reason := sampled.Refusal(stat.HigherIsFaster); reason == nil || !strings.HasPrefix(reason.Text, "the load generator used") {
		t.Errorf("refused because %v", reason)
	}
	both := healthy(func(r *Result) { r.Completed, r.Failed, r.GeneratorCPUSec, r.Server.CPUSec = 900, 100, 1.8, 0.15 })
	if w := both.Warnings; len(w) < 2 || w[0].Code != "errors" || w[len(w)-1].Code != "generator_saturated" {
		t.Errorf("warnings %v, want errors … generator_saturated", w)
	}
}
