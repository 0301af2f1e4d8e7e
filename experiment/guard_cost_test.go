package experiment

import (
	"math"
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/load"
	"contend/trial"
)

// 100 000 calls in a second, each of 50 µs, on 2 cores: 5 at once.
func guarded(server float64, codes ...string) GuardedCall {
	r := &load.Result{
		Duration: time.Second, ThroughputPerSec: 100_000,
		Counts: load.Counts{
			Ops:     100_000,
			Service: hist.New(),
		},
		Cost: load.Cost{
			GeneratorCores:  2,
			GeneratorCPUSec: 0.5,
		},
	}
	r.Service.Record(50 * time.Microsecond)
	for _, code := range codes {
		r.Warnings = append(r.Warnings, finding.Warning{Code: code})
	}
	c := trial.Cell{Result: r}
	if server > 0 {
		c.Server = &load.Usage{CPUSec: server}
	}
	return GuardedCall{Busy: c, Alone: 40 * time.Microsecond}
}

// near is a server that is not ours on a machine that used so much CPU.
func near(machine float64) GuardedCall {
	c := guarded(0)
	c.Near, c.Busy.MachineCPUSec = true, machine
	return c
}

func TestWhatAGuardCanChange(t *testing.T) {
	base, cand := GuardCost{CPU: 100, Call: 100}, GuardCost{CPU: 400, Call: 500, Wall: 6000}
	for _, tt := range []struct {
		call       GuardedCall
		perCall    float64 // ns
		whose      string
		throughput float64
	}{
		{guarded(1), 10_000, "the server", 0.03},                              // 1 s ÷ 100 000; 300 ÷ 10 000
		{guarded(1, "cpu_shared"), 15_000, "server and generator", 0.02},      // and 0.5 s
		{guarded(1, "generator_saturated"), 15_000, "which share", 0.02},      // and 0.5 s
		{guarded(1, "generator_busy"), 15_000, "which share", 0.02},           // and 0.5 s, of a server that is not ours
		{guarded(0), 15_000, "uses all that the generator leaves of 2", 0.02}, // (2 − 0.5) s
		{near(1.7), 12_000, "everything on this machine", 0.025},              // (1.7 − 0.5) s
		{near(0), 15_000, "uses all that the generator leaves of 2", 0.02},    // not known
	} {
		perCall, whose := tt.call.CPU()
		if math.Abs(perCall-tt.perCall) > 1e-6 || !strings.Contains(whose, tt.whose) {
			t.Errorf("a call costs %s %g ns, want %s %g", whose, perCall, tt.whose, tt.perCall)
		}
		if got := tt.call.Throughput(base, cand); math.Abs(got-tt.throughput) > 1e-9 {
			t.Errorf("throughput changes by %g, want %g", got, tt.throughput)
		}
		if got := tt.call.Throughput(cand, base); math.Abs(got+tt.throughput) > 1e-9 {
			t.Errorf("the other way by %g, want %g", got, -tt.throughput)
		}
		if got := tt.call.Latency(base, cand); math.Abs(got-0.01) > 1e-9 { // 400 ns ÷ 40 µs
			t.Errorf("latency changes by %g, want 0.01", got)
		}
		if n := tt.call.Callers(); n != 5 {
			t.Errorf("%d callers, want 5", n)
		}
	}
	// 100 000 calls/s of 6 µs each keep a guard in use for 60% of the time.
	if share, queues := guarded(1).Queues(cand); math.Abs(share-0.6) > 1e-9 || !queues {
		t.Errorf("in use for %g, a queue: %v", share, queues)
	}
	if _, queues := guarded(1).Queues(base); queues {
		t.Error("a guard that takes no time queues")
	}
}

// Each figure is the median of its own.
func TestMedianCost(t *testing.T) {
	got := medianCost([]GuardCost{{1, 20, 300}, {3, 10, 100}, {2, 30, 200}})
	if want := (GuardCost{2, 20, 200}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
