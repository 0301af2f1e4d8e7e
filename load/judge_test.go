package load

import (
	"strings"
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
		want   string // the numbers by the shapes above; "": it is steady
	}{
		{"flat", nil, series(10, flat, quick), ""},
		{"falling", nil, series(10, falling, quick), "gets slower: from 1,000/s to 820/s in 10.0 s"},
		{"rising", nil, series(10, func(i int) int64 { return 100 + 10*int64(i) }, quick), "gets faster: from 100/s to 190/s in 10.0 s"},
		{"jumping", nil, series(20, func(i int) int64 { return []int64{1200, 800}[i/10] + 2*int64(i%2) }, quick), "becomes slower: from 1,201/s to 801/s, 10.0 s after the start"},
		{"swinging", nil, series(40, func(i int) int64 { return []int64{1000, 1100, 1000, 900}[i%4] }, quick), "goes up and down between 901/s and 1,099/s every 4.00 s"},
		{"nine seconds", nil, series(9, falling, quick), ""},
		{"a last part of a second", nil, append(series(10, flat, quick), Interval{Completed: 3}), ""},
		{"closed: response times alone", nil, series(10, flat, slowing), ""},
		{"open: slowing", pace.Constant(1000), series(10, flat, slowing), "gets slower: from a mean response time of 10.0 ms to 19.0 ms in 10.0 s"},
		{"open: flat", pace.Constant(1000), series(10, flat, quick), ""},
		{"open: a rate that changes by plan", ramp, series(10, falling, slowing), ""},
	}
	for _, tt := range tests {
		r := &Result{Counts: NewCounts()}
		r.Plan.Pacer, r.Course = tt.pacer, bySecond(tt.series...)
		r.Model = r.Plan.Model()
		r.Duration = time.Duration(len(tt.series)) * time.Second
		if len(tt.series) == 11 {
			r.Duration -= time.Second / 2
		}
		got := ""
		if w := r.notSteady(); w != nil {
			got = w.Text
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A server that closes its connections is named, with the share of the time that opening others took: here
// 900 × 200 µs of 1000 × 1 ms.
func TestCloses(t *testing.T) {
	for parted, want := range map[int64]string{0: "", 100: "", 101: "after 101 of 1,000 responses; opening others took 18% of the service time"} {
		r := &Result{Counts: NewCounts()}
		r.Completed, r.Planned, r.Parted = 1000, 1000, parted
		r.Service, r.Connect = hist.New(), hist.New()
		r.Service.RecordN(time.Millisecond, 1000)
		r.Connect.RecordN(200*time.Microsecond, 900)
		w := r.parting()
		if (w != nil) != (want != "") || w != nil && !strings.Contains(w.Text, want) {
			t.Errorf("%d: %v, want %q", parted, w, want)
		}
	}
}

// A low limit of requests for each connection is named instead, with what it costs: here 100 of 1000 responses take
// 3.7 ms with a new connection, and the others 0.7 ms, so 100 × 3 ms of 1 s. Connections of
// different ages show no limit, and neither do two, or a limit above 100.
func TestKeepaliveLimit(t *testing.T) {
	for _, tt := range []struct {
		parted      int64
		least, most int
		want        finding.Kind
		text        string
	}{
		{100, 10, 10, finding.KeepaliveLimit, "after 10 requests, so new connections took 30% of the time"},
		{500, 2, 2, finding.KeepaliveLimit, "after 2 requests, so"},
		{10, 100, 100, finding.KeepaliveLimit, "after 100 requests, so"},
		{9, 101, 101, finding.Kind{}, ""},
		{2, 10, 10, finding.Kind{}, ""},
		{100, 9, 10, finding.Kind{}, ""},
		{101, 9, 10, finding.Closes, "after 101 of 1,000 responses"},
		{1000, 1, 1, finding.Closes, "after 1,000 of 1,000 responses"},
	} {
		r := &Result{Counts: NewCounts()}
		r.Completed, r.Planned, r.Parted, r.PartedLeast, r.PartedMost = 1000, 1000, tt.parted, tt.least, tt.most
		r.Connect = hist.New()
		r.Exchange = hist.New()
		r.Service.RecordN(700*time.Microsecond, 900)
		r.Service.RecordN(3700*time.Microsecond, 100)
		r.Connect.RecordN(200*time.Microsecond, 100)
		r.Exchange.RecordN(3500*time.Microsecond, 100)
		if w := r.parting(); (w != nil) != (tt.text != "") || w != nil && (!w.Is(tt.want) || !strings.Contains(w.Text, tt.text)) {
			t.Errorf("%d after %d to %d: %v, want %q", tt.parted, tt.least, tt.most, w, tt.text)
		}
	}
}

// 100 Continue is late from 1 ms and a tenth of the service time on; its first byte is then no sign of a delayed acknowledgement.
func TestContinueLate(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		after, service time.Duration
		want           string
	}{
		{20 * ms, 25 * ms, "100 Continue came late in 1,000 responses: after 20.0 ms, 80% of the service time"},
		{900 * time.Microsecond, ms, ""},
		{2 * ms, 25 * ms, ""},
		{ms, 41 * ms, ""},
	} {
		r := &Result{Counts: NewCounts()}
		for range 1000 {
			r.Record(Iteration{}, tt.service, &Outcome{Continued: true, Content: &Content{}, Phases: Phases{FirstByte: tt.after}}, nil)
		}
		text := ""
		if w := r.continuedLate(); w != nil {
			text = w.Text
		}
		if text != tt.want || r.delayedAck() != nil {
			t.Errorf("after %v of %v: %q, want %q; %v", tt.after, tt.service, text, tt.want, r.delayedAck())
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

// What a server uses of the CPU in its stalls tells a wait from work, if each was looked into: they last two looks at least.
func TestWhatIsUsedInStalls(t *testing.T) {
	for _, tt := range []struct {
		cores  []float64
		length time.Duration
		server bool
		want   string
	}{
		{[]float64{0, 0.05}, 600 * time.Millisecond, true, ", using no CPU, so it waited and did not collect garbage"},
		{[]float64{0.95, 1.9}, 600 * time.Millisecond, true, ", using 0.950 cores, as garbage collection or computation does"},
		{[]float64{0.05, 0.95}, 600 * time.Millisecond, true, ""}, // now this, now that
		{[]float64{0, 0}, 400 * time.Millisecond, true, ""},
		{[]float64{0, 0}, 600 * time.Millisecond, false, ""},
	} {
		r := &Result{}
		if tt.server {
			r.Server = &Usage{}
		}
		var stalls []stall
		for _, cores := range tt.cores {
			stalls = append(stalls, stall{length: tt.length, cores: cores})
		}
		if got := r.duringStalls(stalls); got != tt.want {
			t.Errorf("%v for %v: %q, want %q", tt.cores, tt.length, got, tt.want)
		}
	}
}
