package trial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"contend/hist"
	"contend/load"
	"contend/metric"
)

// cell makes a cell of 1000 right answers in one second on two cores.
func cell(change func(*Cell)) Cell {
	c := Cell{Arm: "a", Result: &load.Result{
		Model: load.ClosedModel, Concurrency: 10, Duration: time.Second,
		Counts: load.Counts{
			Planned: 1000, Completed: 1000, Ops: 1000,
			Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
		},
		Cost: load.Cost{GeneratorCores: 2, GeneratorCPUSec: 0.2, Server: &load.Usage{CPUSec: 0.4}},
	}}
	c.Service.RecordN(10*time.Millisecond, 1000) // 1000/s · 10 ms = 10 VUs busy: the generator takes nothing
	c.Response.RecordN(10*time.Millisecond, 1000)
	c.StartLag.RecordN(0, 1000)
	change(&c)
	c.Derive()
	return c
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Cell)
		metric metric.Name
		want   string // code, "" for none
	}{
		{"healthy", func(*Cell) {}, metric.Throughput, ""},
		{"nothing succeeded", func(c *Cell) { c.Completed, c.Ops, c.Failed = 0, 0, 1000 }, metric.Throughput, "errors"},
		{"one lost", func(c *Cell) { c.Completed = 999 }, metric.Throughput, "miscounted"},
		{"1 % errors", func(c *Cell) { c.Completed, c.Failed = 990, 10 }, metric.Throughput, "errors"},
		{"0.1 % errors", func(c *Cell) { c.Completed, c.Failed = 999, 1 }, metric.Throughput, ""},
		{"open model, 2 % missing", func(c *Cell) { c.Model, c.Planned, c.Dropped = load.OpenModel, 1020, 20 }, metric.Throughput, "rate_missed"},
		// 1.7 of the 2 − 0.1 cores it could get is 89 %; the server used 0.1 of 0.3.
		{"generator busy, server idle", func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec = 1.7, 0.1 }, metric.Throughput, "generator_saturated"},
		// 1.2 of 2 − 0.75 = 96 %; 0.75 of 2 − 1.2 = 94 %: both busy is a finding.
		{"both busy", func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec = 1.2, 0.75 }, metric.Throughput, ""},
		{"server busy", func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec = 0.3, 1.6 }, metric.Throughput, ""},
		{"no server sampled", func(c *Cell) { c.GeneratorCPUSec, c.Server = 1.9, nil }, metric.Throughput, ""},
		// 1000/s · 5 ms = 5 of 10 VUs busy: half of each cycle in the generator.
		{"half the cycle in the generator", halfCycle, "response_p99_ns", "generator_saturated"},
		{"the same for throughput", halfCycle, metric.Throughput, ""},
		// Others used 2 − 0.2 − 0.4 = 1.4 of 2 s, all that there was: 70 %.
		{"others took the cores that a side waited for", func(c *Cell) { crowded(c); c.Server.WaitedSec = 0.5 }, metric.Throughput, "machine_busy"},
		{"others took what both left", crowded, metric.Throughput, ""},
		// 1.9 s of 2 is full; 1.8 is not.
		{"a core is idle now and then", func(c *Cell) { crowded(c); c.Server.WaitedSec, c.MachineCPUSec = 0.5, 1.8 }, metric.Throughput, ""},
		// 1000/s · 4 ms = 4 of 10 VUs busy: 60 % in the generator.
		{"over half of the cycle", shortService, metric.Throughput, "generator_saturated"},
		// 1.5 of the 2 − 0.3 cores that it could get is 88 %.
		{"over half of the cycle, server busy", func(c *Cell) { shortService(c); c.GeneratorCPUSec, c.Server.CPUSec = 0.3, 1.5 }, metric.Throughput, ""},
		// 0.28 of the 0.3 s that one event loop ran.
		{"loop stopped 70 % of the time", oneLoop(func(c *Cell) { c.GeneratorCPUSec, c.GeneratorStalledSec = 0.28, 0.7 }), metric.Throughput, "generator_saturated"},
		{"loop stopped, and idle between", oneLoop(func(c *Cell) { c.GeneratorCPUSec, c.GeneratorStalledSec = 0.15, 0.7 }), metric.Throughput, ""},
		// 0.36 of the 1 − 0.6 s in which it did not wait for a core.
		{"loop waits for a core", oneLoop(func(c *Cell) { c.GeneratorCPUSec, c.GeneratorWaitedSec = 0.36, 0.6 }), metric.Throughput, "generator_saturated"},
		// Two threads for 0.3 s are 0.6, of which the server took 0.2: 0.36 of 0.4.
		{"goroutines stopped", func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec, c.GeneratorStalledSec = 0.36, 0.2, 0.7 }, metric.Throughput, "generator_saturated"},
		{"CPU limit used up", func(c *Cell) { c.GeneratorCPUSec, c.GeneratorCPULimit = 0.27, 0.3 }, metric.Throughput, "generator_saturated"},
		{"CPU limit not used up", func(c *Cell) { c.GeneratorCPUSec, c.GeneratorCPULimit = 0.2, 0.3 }, metric.Throughput, ""},
		{"pinned apart, both busy", pinned(0.95, 0.9), metric.Throughput, ""},
		{"pinned apart, the generator busy", pinned(0.95, 0.5), metric.Throughput, "generator_saturated"},
		// Others used 2 − 0.8 = 60 %, and both sides waited longer for a core than they had one.
		{"others took the machine", crowdedBy(0.4, 0.4, 1.2), metric.Throughput, "machine_busy"},
		// Others used 30 %, all of it from both sides: 0.7 of 2 − 0.7 − 0.6.
		{"others took a part", crowdedBy(0.7, 0.7, 2), metric.Throughput, ""},
		// They used what neither side wanted: nobody waited.
		{"others used the rest", crowdedBy(0.4, 0.4, 0), metric.Throughput, ""},
		{"late arrivals", late(2 * time.Millisecond), "response_p99_ns", "start_lag"},
		{"6 % late on average", late(600 * time.Microsecond), "response_p99_ns", "start_lag"},
		{"4 % late on average", late(400 * time.Microsecond), "response_p99_ns", ""},
		{"late arrivals, throughput", late(2 * time.Millisecond), metric.Throughput, ""},
		{"late in the closed model", func(c *Cell) { late(2 * time.Millisecond)(c); c.Model = load.ClosedModel }, "response_p99_ns", ""},
		{"falling from second to second", falling, metric.Throughput, "not_steady"},
		{"the same, memory", falling, metric.ServerRSS, ""},
		{"in this process", func(c *Cell) { halfCycle(c); c.Local, c.Server = true, nil }, "response_p99_ns", ""},
	}
	for _, tt := range tests {
		c := cell(tt.change)
		got := ""
		if reason := refuse(c, tt.metric); reason != nil {
			got = reason.Code
		}
		if got != tt.want {
			t.Errorf("%s: refused as %q, want %q", tt.name, got, tt.want)
		}
	}
}

func crowded(c *Cell) { c.MachineCPUSec, c.MachineCores = 2, 2 }

func halfCycle(c *Cell) {
	c.Service = hist.New()
	c.Service.RecordN(5*time.Millisecond, 1000)
}

func shortService(c *Cell) {
	c.Service = hist.New()
	c.Service.RecordN(4*time.Millisecond, 1000)
}

// oneLoop is a generator of one event loop beside a server that uses little.
func oneLoop(change func(*Cell)) func(*Cell) {
	return func(c *Cell) {
		c.Engine, c.Loops, c.Server.CPUSec = load.EventLoop, 1, 0.2
		change(c)
	}
}

// pinned has one CPU for each side.
func pinned(generator, server float64) func(*Cell) {
	return oneLoop(func(c *Cell) {
		c.GeneratorCPUSec, c.GeneratorCores, c.GeneratorCPUs = generator, 1, 1
		*c.Server = load.Usage{CPUSec: server, CPUs: 1}
	})
}

// crowdedBy is a machine without an idle core whose processes waited for one.
func crowdedBy(generator, server, waited float64) func(*Cell) {
	return func(c *Cell) {
		c.MachineCPUSec, c.MachineCores = 2, 2
		c.GeneratorCPUSec, c.GeneratorWaitedSec = generator, waited
		*c.Server = load.Usage{CPUSec: server, WaitedSec: waited}
	}
}

// late starts all arrivals of an open model late, at response times of 10 ms.
func late(lag time.Duration) func(*Cell) {
	return func(c *Cell) {
		c.Model, c.StartLag = load.OpenModel, hist.New()
		c.StartLag.RecordN(lag, 1000)
	}
}

// falling loses 10 of 100 iterations each second.
func falling(c *Cell) {
	c.Duration, c.Concurrency = 10*time.Second, 1 // 1000 · 10 ms in 10 s
	for i := range int64(10) {
		c.Series = append(c.Series, load.Second{Completed: 150 - 10*i})
	}
}

// The gate for errors can be set: 1 % is over 0.1 % and not over 2 %.
func TestGateForErrors(t *testing.T) {
	c := cell(func(c *Cell) { c.Completed, c.Failed = 990, 10 })
	if refuseAt(c, metric.Throughput, 0.005) == nil || refuseAt(c, metric.Throughput, 0.02) != nil {
		t.Error("1 % of errors passes a gate of 0.5 %, or not one of 2 %")
	}
}

func TestCPUFindings(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Cell)
		want   []string
	}{
		{"both idle", func(*Cell) {}, nil},
		{"server busy", func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec = 0.3, 1.5 }, []string{"server_busy"}},
		{"both, on CPUs of their own", pinned(0.95, 0.9), []string{"server_busy"}},
		{"others took a part", crowdedBy(0.7, 0.7, 2), []string{"cpu_shared", "machine_busy"}},
		{"others took little", crowdedBy(0.8, 0.8, 2), []string{"cpu_shared"}},
		{"others used the rest", crowdedBy(0.4, 0.4, 0), nil},
		{"not our server", func(c *Cell) { crowdedBy(0.4, 0.4, 1.2)(c); c.Server = nil }, nil},
	}
	for _, tt := range tests {
		c := cell(tt.change)
		var got []string
		for _, w := range c.cpuFindings() {
			got = append(got, w.Code)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: found %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestBothBusyIsAFinding(t *testing.T) {
	c := cell(func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec = 1.2, 0.8 })
	found := findings(c)
	if len(found) != 1 || found[0].Code != "cpu_shared" {
		t.Errorf("findings %v, want cpu_shared alone", found)
	}
}

// The generator's own view of its CPU does not know the server's: 1.8 of 2 cores
// is 90 %, and 0.15 of the 0.2 that are left is 75 %.
func TestServerViewReplacesTheGenerators(t *testing.T) {
	sampled := cell(func(c *Cell) { c.GeneratorCPUSec, c.Server.CPUSec = 1.8, 0.15 })
	alone := cell(func(c *Cell) { c.GeneratorCPUSec, c.Server = 1.8, nil })
	for _, tt := range []struct {
		cell Cell
		want string
	}{{sampled, "generator_saturated"}, {alone, "generator_busy"}} {
		if w := tt.cell.Warnings; len(w) != 1 || w[0].Code != tt.want || strings.HasPrefix(w[0].Text, "a:") {
			t.Errorf("warnings %v, want %s alone, without the arm's name", w, tt.want)
		}
	}
	// A refusal names the arm; a finding of errors does not hide that of the CPU.
	if reason := refuse(sampled, metric.Throughput); reason == nil || !strings.HasPrefix(reason.Text, "a: the generator used") {
		t.Errorf("refused because %v", reason)
	}
	both := cell(func(c *Cell) { c.Completed, c.Failed, c.GeneratorCPUSec, c.Server.CPUSec = 900, 100, 1.8, 0.15 })
	if w := both.Warnings; len(w) < 2 || w[0].Code != "errors" || w[len(w)-1].Code != "generator_saturated" {
		t.Errorf("warnings %v, want errors … generator_saturated", w)
	}
}

func TestExpectations(t *testing.T) {
	fast, slow := cell(func(*Cell) {}), cell(func(c *Cell) { c.Ops, c.Completed, c.Planned = 500, 500, 500 })
	fast.Arm, slow.Arm = "fast", "slow"
	cells := []Cell{fast, slow}
	tests := []struct {
		text string
		held bool
	}{
		{"errors == 0", true},
		{"throughput_per_s >= 500", true},
		{"throughput_per_s >= 501", false},                           // holds for one arm, not for both
		{"fast.throughput_per_s > 2 * slow.throughput_per_s", false}, // 1000 > 1000
		{"fast.throughput_per_s >= 2*slow.throughput_per_s", true},
		{"slow.throughput_per_s < fast.throughput_per_s", true},
		{"nobody.throughput_per_s >= 0", false}, // not measured is not met
		{"connect_p50_ns < 1e9", false},
	}
	for _, tt := range tests {
		x, err := ParseExpectation(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if x.Check(cells); x.Held != tt.held || x.Held == (x.Detail != "") {
			t.Errorf("%q: held %v (%s), want %v", tt.text, x.Held, x.Detail, tt.held)
		}
	}
	for _, text := range []string{"", "errors", "errors = 0", "1 == errors", "speed > 1", "errors == many", "errors == x * errors"} {
		if _, err := ParseExpectation(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
