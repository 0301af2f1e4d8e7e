package load

import (
	"testing"
	"time"

	"contend/finding"
	"contend/hist"
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
		{"p99 over 1 ms and over 10%", ClosedModel, 2 * ms, 10 * ms, true},
		{"p99 over 1 ms, 10%", ClosedModel, 2 * ms, 20 * ms, false},
		{"p99 over 10%, 1 ms", ClosedModel, ms, 2 * ms, false},
		{"open: 6% on average", OpenModel, 600 * us, 10 * ms, true},
		{"open: 5% on average", OpenModel, 500 * us, 10 * ms, false},
		{"open: over 5%, as clocks are", OpenModel, 90 * us, 200 * us, false},
		{"closed: 6% on average", ClosedModel, 600 * us, 10 * ms, false},
	}
	for _, tt := range tests {
		r := &Result{Counts: NewCounts()}
		r.Model, r.Completed = tt.model, 1000
		r.StartLag.RecordN(tt.lag, 1000)
		r.Response.RecordN(tt.response, 1000)
		if got := r.startedLate() != nil; got != tt.want {
			t.Errorf("%s: late %v, want %v", tt.name, got, tt.want)
		}
		if r.Local = true; r.startedLate() != nil {
			t.Errorf("%s: a target in this process is late", tt.name)
		}
	}
}

func TestUnsteady(t *testing.T) {
	series := func(n int, completed func(i int) int64, response func(i int) time.Duration) []Interval {
		list := make([]Interval, n)
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
		series []Interval
		want   bool
	}{
		{"flat", nil, series(10, flat, quick), false},
		{"falling", nil, series(10, falling, quick), true},
		{"nine seconds", nil, series(9, falling, quick), false},
		{"a last part of a second", nil, append(series(10, flat, quick), Interval{Completed: 3}), false},
		{"closed: response times alone", nil, series(10, flat, slowing), false},
		{"open: slowing", pace.Constant(1000), series(10, flat, slowing), true},
		{"open: flat", pace.Constant(1000), series(10, flat, quick), false},
		{"open: a rate that changes by plan", ramp, series(10, falling, slowing), false},
	}
	for _, tt := range tests {
		r := &Result{Counts: NewCounts()}
		r.Plan.Pacer, r.Course = tt.pacer, bySecond(tt.series...)
		r.Model = r.Plan.Model()
		r.Duration = min(time.Duration(len(tt.series))*time.Second, 10*time.Second+time.Second/2)
		if got := r.notSteady() != nil; got != tt.want {
			t.Errorf("%s: unsteady %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestDelayedAck(t *testing.T) {
	const ms = time.Millisecond
	const n = 1000
	times := func(d time.Duration) *hist.Histogram {
		h := hist.New()
		h.RecordN(d, n)
		return h
	}
	tests := []struct {
		name                         string
		service, firstByte, exchange time.Duration // exchange 0: nobody connects
		size                         int64
		want                         bool
	}{
		{"44 ms, 0.2 ms of them until the first byte", 44 * ms, ms / 5, 0, 2, true},
		{"a server that takes 100 ms before", 144 * ms, 100 * ms, 0, 2, true},
		{"a server that takes 44 ms", 44 * ms, 44 * ms, 0, 2, false},
		{"37 ms from the first byte on", 38 * ms, ms, 0, 2, false},
		{"51 ms from the first byte on", 52 * ms, ms, 0, 2, false},
		{"a body of 64 KiB", 44 * ms, ms, 0, 64 << 10, true},
		{"a body that takes its time", 44 * ms, ms, 0, 80 << 10, false},
		{"connecting takes 40 ms each time", 42 * ms, ms, 2 * ms, 2, false},
		{"connecting takes 40 ms, and so does the rest", 84 * ms, ms, 44 * ms, 2, true},
	}
	for _, tt := range tests {
		r := &Result{Counts: NewCounts()}
		r.Completed, r.Planned = n, n
		r.Service, r.FirstByte = times(tt.service), times(tt.firstByte)
		r.Response, r.StartLag = r.Service, times(0)
		if tt.exchange > 0 {
			r.Exchange = times(tt.exchange)
		}
		r.Answers = &Answers{Kinds: []AnswerKind{{Count: n}}, Bodies: []Bodies{{Count: n, Bytes: n * tt.size}}}
		if got := finding.DelayedAck.In(r.judge()); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if r.FirstByte = nil; r.delayedAck() != nil {
			t.Errorf("%s: said although the first byte is not known", tt.name)
		}
	}
}
