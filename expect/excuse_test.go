package expect

import (
	"testing"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/load"
	"contend/trial"
)

// measured is a run of 1000 right responses of 2 ms in a second, by 2 callers on two cores.
func measured(model load.Model, change ...func(*load.Result)) trial.Cell {
	const took = 2 * time.Millisecond
	r := &load.Result{Model: model, Concurrency: 2, Duration: time.Second,
		Counts: load.Counts{Planned: 1000, Completed: 1000, Ops: 1000, Response: hist.New(), Service: hist.New(), StartLag: hist.New()},
		Cost:   load.Cost{GeneratorCores: 2, GeneratorCPUSec: 0.2, Server: &load.Usage{CPUSec: 0.4}}}
	for _, h := range []*hist.Histogram{r.Service, r.Response} {
		h.RecordN(took, 999)
		h.RecordN(took/4, 1)
	}
	r.StartLag.RecordN(0, 1000)
	for _, c := range change {
		c(r)
	}
	r.Derive()
	return trial.Cell{Result: r}
}

// late has iterations start 3 ms after they were due: responses take 5 ms.
func late(r *load.Result) {
	r.StartLag, r.Response = hist.New(), hist.New()
	r.StartLag.RecordN(3*time.Millisecond, 1000)
	r.Response.RecordN(5*time.Millisecond, 1000)
}

// saturated has the generator use 1.7 of the 1.9 cores that it could get, and the server 0.1.
func saturated(r *load.Result) { r.GeneratorCPUSec, r.Server.CPUSec = 1.7, 0.1 }

// crowded has others use 1.4 of the 2 s that there are, for which the server waited.
func crowded(r *load.Result) {
	r.MachineCPUSec, r.MachineCores, r.Server.WaitedSec = 2, 2, 0.5
}

func failing(r *load.Result) { r.Completed, r.Ops, r.Failed = 990, 990, 10 }

func missing(r *load.Result) { r.Planned, r.Dropped = 1050, 50 }

func brief(r *load.Result) { r.Duration = 900 * time.Millisecond }

func scripted(r *load.Result) { r.Script = new(load.Script) }

// A code ends a run if it would make a claim about it false, or its figures, if there are no claims.
func TestDoubtOfARun(t *testing.T) {
	const open, closed = load.OpenModel, load.ClosedModel
	for _, tt := range []struct {
		name   string
		cell   trial.Cell
		claims []string
		failed int // claims that fail, and nothing explains it
		doubt  *finding.Kind
	}{
		{"healthy", measured(open), nil, 0, nil},
		{"late", measured(open, late), nil, 0, nil}, // a caveat
		{"late, and in time", measured(open, late), []string{"p95 < 200ms"}, 0, nil},
		{"late, else in time", measured(open, late), []string{"p95 < 4ms"}, 0, &finding.StartLag}, // 2 ms would be
		{"late, and too slow", measured(open, late), []string{"p95 < 1ms"}, 1, nil},               // also 2 ms
		{"late, one of either", measured(open, late), []string{"p95 < 4ms", "p95 < 1ms"}, 1, nil}, //
		{"late, another metric", measured(open, late), []string{"service p95 < 1ms"}, 1, nil},     // has no lag
		{"late, the other way", measured(open, late), []string{"p95 > 10ms"}, 1, nil},             // later than it was
		{"late callers", measured(closed, late), []string{"p95 < 4ms"}, 1, nil},                   // that is their cycle
		{"saturated", measured(open, saturated), nil, 0, &finding.GeneratorSaturated},             //
		{"saturated, a glimpse", measured(open, saturated, brief), nil, 0, nil},
		{"saturated, and in time", measured(open, saturated), []string{"p95 < 3ms"}, 0, nil}, //
		{"saturated, not in time", measured(open, saturated), []string{"p95 < 1ms"}, 0, &finding.GeneratorSaturated},
		{"saturated, never in time", measured(open, saturated), []string{"p95 < 400us"}, 1, nil},
		{"saturated, far from enough", measured(closed, saturated), []string{"throughput > 4000"}, 1, nil}, // the server used a third
		{"saturated, and enough", measured(closed, saturated), []string{"throughput >= 1000"}, 0, nil},
		{"saturated, not enough", measured(closed, saturated), []string{"throughput > 1000"}, 0, &finding.GeneratorSaturated},
		{"saturated, in time with fewer callers", measured(closed, saturated), []string{"p95 < 3ms"}, 0, &finding.GeneratorSaturated},
		{"saturated, at most", measured(open, saturated), []string{"throughput <= 1000"}, 0, &finding.GeneratorSaturated},
		{"saturated, by a script", measured(closed, saturated), []string{"http_req_duration p(95) < 500"}, 1, nil}, // measures none
		{"crowded", measured(closed, crowded), nil, 0, &finding.MachineBusy},
		{"crowded, and in time", measured(closed, crowded), []string{"p95 < 3ms", "errors == 0"}, 0, nil},
		{"crowded, not in time", measured(closed, crowded), []string{"p95 < 1ms"}, 0, &finding.MachineBusy},
		{"failing", measured(open, failing), nil, 0, &finding.Errors},
		{"failing, and in time", measured(open, failing), []string{"p95 < 3ms"}, 0, &finding.Errors},
		{"missing", measured(open, missing), nil, 0, &finding.Incomplete},
		{"missing, of a script", measured(open, missing, scripted), nil, 0, nil}, // as k6
		{"failing, of a script", measured(open, failing, scripted), nil, 0, nil},
		{"failing, of a script, and in time", measured(open, failing, scripted), []string{"p95 < 3ms"}, 0, nil},
		{"failing, of a script, and few", measured(open, failing, scripted), []string{"errors < 5%"}, 0, &finding.Errors}, // unless the run allows them
		{"missing", measured(open, missing), []string{"p95 < 3ms"}, 1, &finding.Incomplete},                               // 3 all the same
	} {
		var claims []Expectation
		failed := 0
		for _, text := range tt.claims {
			x, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			x.Check([]trial.Cell{tt.cell})
			x.Weigh(tt.cell)
			claims = append(claims, x)
			if !x.Held && x.Excuse == nil {
				failed++
			}
		}
		got := Doubt(tt.cell, claims)
		if failed != tt.failed || (got == nil) != (tt.doubt == nil) || got != nil && !got.Is(*tt.doubt) {
			t.Errorf("%s: %d failed, doubt %+v; want %d and %+v", tt.name, failed, got, tt.failed, tt.doubt)
		}
		if tt.doubt != nil && tt.doubt.OfRun == "" {
			t.Errorf("%s: docs/exit-codes.md has no false claim that it prevents", tt.name)
		}
	}
}
