package trial

import (
	"testing"
	"time"

	"contend/load"
)

// cell makes a cell of 1000 right answers in one second on two cores.
func cell(change func(*Cell)) Cell {
	c := Cell{Arm: "a", Result: &load.Result{
		Model: load.ClosedModel, Concurrency: 10, Duration: time.Second, Counts: load.NewCounts(),
		Cost: load.Cost{GeneratorCores: 2, GeneratorCPUSec: 0.2, Server: &load.Usage{CPUSec: 0.4}},
	}}
	c.Planned, c.Completed, c.Ops = 1000, 1000, 1000
	c.Service.RecordN(10*time.Millisecond, 1000) // 1000/s · 10 ms = 10 VUs busy: the generator takes nothing
	c.Response.RecordN(10*time.Millisecond, 1000)
	c.StartLag.RecordN(0, 1000)
	change(&c)
	c.Derive()
	return c
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
