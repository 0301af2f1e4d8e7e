package trial

import (
	"math"
	"testing"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// visit is one round of a second of a closed model: each VU did its share of
// the completed iterations, without any time in the generator.
func visit(vus int, completed int64) Cell {
	mean := time.Duration(float64(vus) * float64(time.Second) / float64(completed))
	r := &load.Result{
		Target: "http://127.0.0.1:1/", Model: load.ClosedModel, Concurrency: vus, Duration: time.Second,
		Plan:   load.Plan{VUs: vus, Duration: time.Second},
		Engine: load.EventLoop, Loops: 1,
		Counts: load.Counts{
			Planned: completed, Completed: completed, Ops: completed,
			Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
		},
		Cost: load.Cost{GeneratorCores: 2},
	}
	r.Response.RecordN(mean, completed)
	r.Service.RecordN(mean, completed)
	r.StartLag.RecordN(0, completed)
	return Cell{Result: r}
}

func visits(vus int, completed ...int64) []Cell {
	var list []Cell
	for _, n := range completed {
		list = append(list, visit(vus, n))
	}
	return list
}

func apart(base, cand []Cell) *Apart {
	return &Apart{Baseline: Side{"old", base}, Candidate: Side{"new", cand},
		Metrics: []metric.Name{metric.Throughput, metric.ServerCPUPerOp}, Margin: new(0.02), Confidence: 0.95}
}

func TestApart(t *testing.T) {
	slow, fast := []int64{10000, 10010, 10020, 9990, 9980, 10005}, []int64{11000, 11010, 11020, 10990, 10980, 11005}
	base := func() []Cell { return visits(10, slow...) }
	with := func(change func(*load.Result)) []Cell {
		cells := visits(10, fast...)
		for _, c := range cells {
			change(c.Result)
		}
		return cells
	}
	tests := []struct {
		name       string
		base, cand []Cell
		verdict    stat.Verdict
		reason     string
	}{
		{"10% more", base(), visits(10, fast...), stat.Faster, ""},
		{"10% less", visits(10, fast...), base(), stat.Slower, ""},
		{"the same", base(), base(), stat.Equivalent, ""},
		{"five rounds", base(), visits(10, fast[:5]...), stat.Inconclusive, "too_few_rounds"},
		{"single runs", base()[:1], visits(10, fast[0]), stat.Inconclusive, "too_few_rounds"},
		{"another concurrency", base(), visits(11, fast...), stat.Inconclusive, "plans_differ"},
		{"another think time", base(), with(func(r *load.Result) { r.Plan.Think = time.Millisecond }), stat.Inconclusive, "plans_differ"},
		{"another protocol", base(), with(func(r *load.Result) { r.Target = "grpc://127.0.0.1:1/a.B/C" }), stat.Inconclusive, "plans_differ"},
		{"another address", base(), with(func(r *load.Result) { r.Target = "http://127.0.0.1:2/v2" }), stat.Faster, ""},
		{"another engine", base(), with(func(r *load.Result) { r.Engine = load.Goroutines }), stat.Inconclusive, "plans_differ"},
		{"errors", base(), with(func(r *load.Result) { r.Failed, r.Planned = 100, r.Planned+100 }), stat.Invalid, "errors"},
		{"errors before anything else", base(), with(func(r *load.Result) {
			r.Failed, r.Planned, r.Engine = 100, r.Planned+100, load.Goroutines
		}), stat.Invalid, "errors"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := apart(tt.base, tt.cand)
			if err := a.Validate(); err != nil {
				t.Fatal(err)
			}
			a.Derive()
			if len(a.Comparisons) != 1 { // server CPU was not measured
				t.Fatalf("%d comparisons, want 1", len(a.Comparisons))
			}
			c, reason := a.Comparisons[0], ""
			if c.Reason != nil {
				reason = c.Reason.Code
			}
			if c.Verdict != tt.verdict || reason != tt.reason {
				t.Errorf("%s %s, want %s %s", c.Verdict, reason, tt.verdict, tt.reason)
			}
			if len(c.Warnings) == 0 || c.Warnings[0].Code != "not_interleaved" {
				t.Errorf("warnings %v do not begin with not_interleaved", c.Warnings)
			}
			if c.Baseline != "old" || c.Candidate != "new" || !c.Primary {
				t.Errorf("%s against %s, primary %v", c.Candidate, c.Baseline, c.Primary)
			}
		})
	}
}

// Of 10 000 iterations 100 lie beyond p99 and 10 beyond p99.9.
func TestApartPercentiles(t *testing.T) {
	a := apart(visits(10, 10000, 10010, 10020, 10000, 10000, 10005), visits(10, 10000, 10010, 10020, 10000, 10000, 10005))
	a.Metrics = []metric.Name{metric.Throughput, "response_p99_ns", "response_p999_ns"}
	a.Derive()
	if len(a.Comparisons) != 2 || a.Comparisons[1].Metric != "response_p99_ns" {
		t.Errorf("%d comparisons, want 2", len(a.Comparisons))
	}
	if !finding.FewSamples.In(a.Comparisons[0].Warnings) {
		t.Errorf("warnings %v", a.Comparisons[0].Warnings)
	}
	a.Metrics = a.Metrics[2:]
	a.Derive()
	if c := a.Comparisons[0]; c.Verdict != stat.Invalid || !c.Reason.Is(finding.FewSamples) {
		t.Errorf("%s %v, want INVALID few_samples", c.Verdict, c.Reason)
	}
}

// 11 000 ÷ 10 000 of each pair of rounds, apart from their scatter of 0.2%.
func TestApartEffect(t *testing.T) {
	a := apart(visits(10, 10000, 10010, 10020, 9990, 9980, 10005), visits(10, 11000, 11010, 11020, 10990, 10980, 11005))
	a.Derive()
	c := a.Comparisons[0]
	if math.Abs(c.Ratio-1.1) > 0.001 || !(c.Low < c.Ratio && c.Ratio < c.High) || c.Rounds != 6 {
		t.Errorf("ratio %g [%g, %g] of %d rounds", c.Ratio, c.Low, c.High, c.Rounds)
	}
	// 60 005 iterations in 6 s.
	if got, want := c.BaselineValue, 60005.0/6; math.Abs(got-want) > 1e-9 {
		t.Errorf("baseline %g, want %g", got, want)
	}
	if len(a.Results) != 2 || a.Results[0].Arm != "old" || a.Results[1].Arm != "new" {
		t.Errorf("results %v", a.Results)
	}
}

// What holds for two that were measured apart holds for each metric.
func TestApartOfSeveralMetrics(t *testing.T) {
	scattered := []int64{10000, 13000, 9000, 12000, 8000, 11000}
	for _, vus := range []int{10, 11} {
		a := apart(visits(10, scattered...), visits(vus, scattered...))
		a.Metrics = []metric.Name{metric.Throughput, "response_p50_ns", "service_mean_ns"}
		a.Derive()
		if len(a.Comparisons) != 3 {
			t.Fatalf("%d comparisons, want 3", len(a.Comparisons))
		}
		for _, c := range a.Comparisons {
			if c.RoundsNeeded != 0 || len(c.Warnings) == 0 || !c.Warnings[0].Is(finding.NotInterleaved) {
				t.Errorf("%s: %d rounds needed, warnings %v; want 0, not_interleaved first", c.Metric, c.RoundsNeeded, c.Warnings)
			}
			if unlike := vus != 10; c.Verdict != stat.Inconclusive || c.Reason.Is(finding.PlansDiffer) != unlike {
				t.Errorf("%s, %d VUs: %s %v", c.Metric, vus, c.Verdict, c.Reason)
			}
		}
	}
}

// Other machines decide nothing, and what only one side has is not compared.
func TestApartEnvironmentsAndLevels(t *testing.T) {
	six := []int64{10000, 10010, 10020, 9990, 9980, 10005}
	a := apart(append(visits(10, six...), visits(20, six...)...), append(visits(20, six...), visits(40, six...)...))
	a.Environments = []string{"cores: 2 against 4"}
	a.Derive()
	if len(a.Comparisons) != 1 || a.Comparisons[0].Concurrency != 20 {
		t.Fatalf("compared %v, want level 20 only", a.Comparisons)
	}
	c := a.Comparisons[0]
	if c.Verdict != stat.Inconclusive || c.Reason.Code != "environments_differ" || !c.Bounded() {
		t.Errorf("%s %v, bounded %v", c.Verdict, c.Reason, c.Bounded())
	}
	if a.Candidate.Arm = "old"; a.Validate() == nil {
		t.Error("two arms of one name are allowed")
	}
}
