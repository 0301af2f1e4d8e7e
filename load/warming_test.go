package load

import (
	"strings"
	"testing"
	"time"

	"contend/finding"
	"contend/pace"
)

// secondsOf has one second for each cost of an operation in µs, of a server that is busy all the time.
func secondsOf(costs ...float64) []Interval {
	list := make([]Interval, len(costs))
	for i, cost := range costs {
		n := int64(1e6 / cost)
		list[i] = Interval{Completed: n, Ops: n, ServerCPU: time.Second}
	}
	return list
}

func TestStillWarming(t *testing.T) {
	node := []float64{320, 130, 80, 56, 55, 56, 55, 56, 55, 56} // 3,125/s in the first second, 17,857/s in the last
	for _, tt := range []struct {
		name   string
		costs  []float64
		change func(r *Result)
		want   string // "": no warning
	}{
		{"a compiler", node, nil, "3,125/s in the first second, 17,857/s in the last; --warmup 3s excludes that"},
		{"level", []float64{56, 55, 57, 55, 56, 54, 55, 56, 55, 56}, nil, ""},
		{"a quarter more, and no more than that", []float64{68, 55, 57, 55, 56, 54, 55, 56, 55, 56}, nil, ""},
		{"comes and goes", []float64{90, 55, 57, 90, 92, 54, 55, 56, 90, 56}, nil, ""},
		{"grows", []float64{50, 55, 60, 65, 70, 75, 80, 85, 90, 95}, nil, ""},
		{"falls to the end", []float64{400, 350, 300, 250, 220, 190, 160, 130, 100, 70}, nil, "2,500/s in the first second, 14,285/s in the last"},
		{"two seconds", node[:2], nil, ""},
		// The machine has 2 cores: 10 s of others' CPU time are half of it, so 200% more must be seen.
		{"a neighbour that goes", []float64{90, 90, 90, 55, 55, 54, 55, 56, 55, 56}, func(r *Result) { r.MachineCPUSec = 6 + 10 }, ""},
		{"little is left of the others", []float64{90, 90, 90, 55, 55, 54, 55, 56, 55, 56}, func(r *Result) { r.MachineCPUSec = 6 + 1 }, "11,111/s in the first"},
		{"the server is not known", node, func(r *Result) { r.Server, r.MachineCPUSec = nil, 1 }, "3,125/s in the first"},
		{"not known, and 40% slower", []float64{77, 55, 57, 55, 56, 54, 55, 56, 55, 56}, func(r *Result) { r.Server, r.MachineCPUSec = nil, 1 }, ""},
		{"not known, and the generator may be the limit", node, func(r *Result) { r.Server = nil; r.GeneratorCPUSec, r.GeneratorCores = 9, 1 }, ""},
		{"at a rate", node, func(r *Result) {
			r.Model, r.Plan.Pacer = OpenModel, pace.Constant(1000)
		}, "320 µs of CPU per op in the first second, 56.0 µs in the last"},
		{"a target in this process", node, func(r *Result) { r.Local = true }, ""},
	} {
		r := &Result{Counts: NewCounts(), Model: ClosedModel, Duration: time.Duration(len(tt.costs)) * time.Second}
		r.Course = bySecond(secondsOf(tt.costs...)...)
		r.Server, r.MachineCores, r.MachineCPUSec = &Usage{CPUSec: 5}, 2, 6
		r.GeneratorCPUSec = 1
		if tt.change != nil {
			tt.change(r)
		}
		got := ""
		if w := r.stillWarming(); w != nil {
			got = w.Text
		}
		if (got != "") != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A page shows the values at first and at the end after the words of the kind.
func TestStillWarmingFitsALine(t *testing.T) {
	r := &Result{Counts: NewCounts(), Model: ClosedModel, Duration: 10 * time.Second}
	r.Course = bySecond(secondsOf(9, 5, 2, 2, 2, 2, 2, 2, 2, 2)...)
	r.Server = &Usage{CPUSec: 10}
	w := r.stillWarming()
	if want := "still warming up (111,111/s in the first second, 500,000/s in the last)"; w == nil || w.Short() != want {
		t.Fatalf("%v, want %q", w, want)
	}
	if r.Completed = 1; !finding.StillWarming.In(r.judge()) || r.changes() != nil {
		t.Errorf("%v, %v", r.judge(), r.changes())
	}
}
