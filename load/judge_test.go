package load

import (
	"testing"
	"time"

	"contend/pace"
)

func TestLate(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	tests := []struct {
		name          string
		model         Model
		lag, response time.Duration
		want          bool
	}{
		{"p99 over 1 ms and over 10 %", ClosedModel, 2 * ms, 10 * ms, true},
		{"p99 over 1 ms, 10 %", ClosedModel, 2 * ms, 20 * ms, false},
		{"p99 over 10 %, 1 ms", ClosedModel, ms, 2 * ms, false},
		{"open: 6 % on average", OpenModel, 600 * us, 10 * ms, true},
		{"open: 5 % on average", OpenModel, 500 * us, 10 * ms, false},
		{"open: over 5 %, as clocks are", OpenModel, 90 * us, 200 * us, false},
		{"closed: 6 % on average", ClosedModel, 600 * us, 10 * ms, false},
	}
	for _, tt := range tests {
		r := &Result{Counts: NewCounts()}
		r.Model, r.Completed = tt.model, 1000
		r.StartLag.RecordN(tt.lag, 1000)
		r.Response.RecordN(tt.response, 1000)
		if got := r.Late() != nil; got != tt.want {
			t.Errorf("%s: late %v, want %v", tt.name, got, tt.want)
		}
		if r.Local = true; r.Late() != nil {
			t.Errorf("%s: a target in this process is late", tt.name)
		}
	}
}

func TestUnsteady(t *testing.T) {
	series := func(n int, completed func(i int) int64, response func(i int) time.Duration) []Second {
		list := make([]Second, n)
		for i := range list {
			list[i].Completed = completed(i)
			list[i].ResponseSum = time.Duration(list[i].Completed) * response(i)
		}
		return list
	}
	flat := func(i int) int64 { return 1000 + int64(i%2) }
	falling := func(i int) int64 { return 1000 - 20*int64(i) }
	quick := func(int) time.Duration { return time.Millisecond }
	slowing := func(i int) time.Duration { return time.Duration(10+i) * time.Millisecond }
	ramp, err := pace.Parse("ramp:900-1100/10s")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		pacer  *pace.Pacer
		series []Second
		want   bool
	}{
		{"flat", nil, series(10, flat, quick), false},
		{"falling", nil, series(10, falling, quick), true},
		{"nine seconds", nil, series(9, falling, quick), false},
		{"a last part of a second", nil, append(series(10, flat, quick), Second{Completed: 3}), false},
		{"closed: response times alone", nil, series(10, flat, slowing), false},
		{"open: slowing", pace.Constant(1000), series(10, flat, slowing), true},
		{"open: flat", pace.Constant(1000), series(10, flat, quick), false},
		{"open: a rate that changes by plan", ramp, series(10, falling, slowing), false},
	}
	for _, tt := range tests {
		r := &Result{Counts: NewCounts()}
		r.Plan.Pacer, r.Series = tt.pacer, tt.series
		r.Model = r.Plan.Model()
		r.Duration = min(time.Duration(len(tt.series))*time.Second, 10*time.Second+time.Second/2)
		if got := r.notSteady() != nil; got != tt.want {
			t.Errorf("%s: unsteady %v, want %v", tt.name, got, tt.want)
		}
	}
}
