package report_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/errkind"
	"contend/hist"
	"contend/internal/perf"
	"contend/load"
	"contend/metric"
	"contend/pace"
	"contend/report"
	"contend/sweep"
	"contend/trial"
)

// The documents of the tests are made in code, without a clock or a machine.

func document(command string) *report.Document {
	return &report.Document{
		Schema: report.Schema, Version: "v0.0.0-test", Command: command, Results: []report.Result{},
		Environment: report.Environment{
			Started: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC), OS: "linux", Arch: "amd64", Kernel: "Linux 6.1",
			CPU: "Test CPU @ 2.50GHz", Cores: 2, GOMAXPROCS: 2, CPULimit: 1.5, Go: "go1.26",
		},
	}
}

// spread records n durations evenly from low to high.
func spread(n int64, low, high time.Duration) *hist.Histogram {
	h := hist.New()
	for i := range n {
		h.Record(low + time.Duration(i)*(high-low)/time.Duration(max(1, n-1)))
	}
	return h
}

// closedResult is 10 s of a closed model that completed n iterations, each VU
// busy for 98% of the time.
func closedResult(target string, vus int, n int64) *load.Result {
	window := 10 * time.Second
	mean := time.Duration(0.98 * float64(window) * float64(vus) / float64(max(1, n)))
	return &load.Result{
		Target: target, Model: load.ClosedModel, Concurrency: vus, Duration: window,
		Plan:    load.Plan{VUs: vus, Duration: window, Warmup: time.Second, Timeout: 5 * time.Second, Seed: 1},
		Stopped: load.StoppedByDuration,
		Counts: load.Counts{
			Planned: n, Completed: n, Ops: n, Errored: map[errkind.Kind]int64{},
			Response: spread(n, mean/2, mean*3/2), Service: spread(n, mean/2, mean*3/2), StartLag: spread(n, 0, 1000),
			BytesIn: 120 * n, BytesOut: 80 * n,
			Answers: &load.Answers{Kinds: []load.AnswerKind{{Status: 200, ContentType: "application/json", Count: max(1, n)}},
				Bodies: []load.Bodies{{Count: max(1, n), Bytes: 20 * max(1, n)}}},
		},
		Cost: load.Cost{GeneratorCPUSec: 2.5, GeneratorCores: 2},
	}
}

// overTime is the course of a result: what ended in each second, its response times in order.
func overTime(r *load.Result, seconds ...load.Interval) *load.Course {
	counts, n := load.NewCounts(), 0.0
	counts.Course = load.NewCourse(0)
	for i, s := range seconds {
		at := time.Duration(i) * time.Second
		for range s.Completed {
			n++
			due := at - r.Response.Quantile(n/float64(r.Completed))
			counts.Record(load.Iteration{Due: due, Start: due}, at, &load.Outcome{}, nil)
		}
		in := counts.Course.At(at)
		in.Failed, in.Errored = s.Failed, s.Errored
	}
	counts.Course.Close()
	return counts.Course
}

func runDocument(r *load.Result) *report.Document {
	r.Derive()
	d := document("run")
	d.AddRun(r)
	return d
}

func closedRun() *report.Document {
	r := closedResult("http://127.0.0.1:8080/status?a=1&b=2", 50, 800)
	r.Planned, r.Failed, r.Unfinished = 880, 25, 5
	r.Errored = map[errkind.Kind]int64{errkind.Timeout: 40, errkind.Reset: 10}
	r.Examples = map[errkind.Kind]string{
		errkind.Timeout: "Get \"http://127.0.0.1:8080/status\": context deadline exceeded",
		errkind.Reset:   "read tcp 127.0.0.1:40000->127.0.0.1:8080: read: connection reset by peer",
	}
	r.Statuses = map[int]int64{200: 800, 503: 25}
	r.FailedService, r.ErroredService = spread(25, 90*time.Microsecond, 400*time.Microsecond), spread(50, time.Second, 5*time.Second)
	r.Connect, r.FirstByte = spread(50, 20*time.Microsecond, 90*time.Microsecond), spread(800, time.Millisecond, 2*time.Millisecond)
	r.StartLag = spread(800, 0, 217_292_700*time.Nanosecond)
	r.Course = overTime(r, load.Interval{Completed: 400, Failed: 25}, load.Interval{Completed: 400, Errored: r.Errored})
	r.GeneratorCPUSec = 18.4
	return runDocument(r)
}

func openRun() *report.Document {
	r := closedResult("grpc://127.0.0.1:50055/counter.incrementCounter/increment", 20, 9_700)
	r.Model, r.Timer, r.Stopped = load.OpenModel, pace.Precise, load.StoppedByDuration
	r.Plan.Pacer, _ = pace.Parse("steps:500/5s,1500/5s")
	r.Plan.StartLag, r.StartLagAllowed = pace.Tolerance(250*time.Microsecond), 250*time.Microsecond
	r.Planned, r.Dropped, r.Unfinished = 10_000, 280, 20
	r.Exchange = spread(9_700, 100*time.Microsecond, 900*time.Microsecond)
	return runDocument(r)
}

func nothingSucceeded() *report.Document {
	r := closedResult("http://127.0.0.1:1/", 1, 0)
	r.Planned, r.Errored, r.GeneratorCPUSec = 3, map[errkind.Kind]int64{errkind.Refused: 3}, 0.01
	r.Examples = map[errkind.Kind]string{errkind.Refused: "dial tcp 127.0.0.1:1: connect: connection refused"}
	r.ErroredService = spread(3, 40*time.Microsecond, 60*time.Microsecond)
	return runDocument(r)
}

// uplinks are a run of 500 of them.
func uplinks() *report.Document {
	d := document("uplink demo")
	r := closedResult("ws://127.0.0.1:8080/api/v1/stream/upstream/", 1, 500)
	r.Course = overTime(r, load.Interval{Completed: 200}, load.Interval{Completed: 300})
	r.Course.Intervals[0].Planned = 500
	d.AddUplink(trial.Cell{Result: r}, report.Uplink{
		Redis: "embedded", Generation: "A", Duplicated: 1, Unsolved: 2, FirstChallenge: 4096, MeanChallenge: 18.5,
		Parts: []report.UplinkPart{{Name: "generator", CPUSec: 0.001}, {Name: "router", CPUSec: 0.0025}},
	})
	return d
}

// guards are two designs in process, the slower one first.
func guards() *report.Document {
	d := document("guard")
	for _, g := range []struct {
		name, class, kind string
		callers           int
		ops               int64
	}{
		{"mutex", "linearizable", "add-get", 1, 300_000_000}, {"atomic", "linearizable", "add-get", 1, 2_000_000_000},
		{"mutex", "linearizable", "add-get", 100, 250_000_000}, {"inputq", "linearizable", "add-get", 100, 20_000_000},
		{"striped", "eventually exact", "add", 100, 1_900_000_000},
	} {
		r := closedResult("guard:"+g.name, g.callers, 500)
		r.Ops, r.GeneratorCPUSec, r.BytesIn, r.BytesOut, r.Local = g.ops, 19.9, 0, 0, true
		if g.name == "inputq" {
			r.Failed, r.Planned = 5, 505
		}
		r.Derive()
		d.AddInProcess(trial.Cell{Arm: g.name, Result: r}, report.InProcess{
			Design: g.name, Class: g.class, Kind: g.kind, Latency: spread(200, 20, 2000), ClockPair: 45,
			Jain: 0.97, MinMax: 0.8, AllocsPerOp: 0.04,
		})
	}
	d.Notes = []string{"Kinds are not ranked together: a blind add asks for less than a value returned."}
	return d
}

// ladder are results of pipelines, each with a label of its own.
func ladder() *report.Document {
	d := document("pipe")
	for _, s := range []struct {
		label string
		items int64
	}{
		{"pipe:chan, GOMAXPROCS 2", 28_000_000}, {"pipe:chan?buffer=10000, GOMAXPROCS 2", 160_000_000},
		{"pipe:spsc?buffer=10000&batch=64, GOMAXPROCS 2", 1_900_000_000},
	} {
		target, _, _ := strings.Cut(s.label, ",")
		r := closedResult(target, 1, 2000)
		r.Ops, r.Local = s.items, true
		d.AddCell(trial.MergeCells([]trial.Cell{{Arm: s.label, Result: r}}))
	}
	d.Notes = []string{"chan: a Go channel; order: kept; unpublished: none"}
	return d
}

// arm is what an arm does in one round: iterations in a second and the CPU
// that the server spent on each.
type arm struct {
	completed, failed int64
	serverNS          float64
	generatorSec      float64
}

// roundOf adds a round of one arm at a level, with one block.
func roundOf(t *trial.Trials, name string, level, round int, a arm) {
	mean := time.Duration(0.98 * float64(time.Second) * float64(level) / float64(max(1, a.completed)))
	r := &load.Result{
		Target: "http://127.0.0.1:8080/" + name, Model: load.ClosedModel, Concurrency: level, Duration: time.Second,
		Plan:    load.Plan{VUs: level, Duration: time.Second},
		Stopped: load.StoppedByDuration,
		Counts: load.Counts{
			Planned: a.completed + a.failed, Completed: a.completed, Failed: a.failed, Ops: a.completed,
			Errored: map[errkind.Kind]int64{}, Response: hist.New(), Service: hist.New(), StartLag: hist.New(),
		},
		Cost: load.Cost{GeneratorCPUSec: a.generatorSec, GeneratorCores: 2,
			Server: &load.Usage{CPUSec: a.serverNS * float64(a.completed) / 1e9, RSSBytes: 20 << 20, Threads: 8}},
	}
	for i, h := range []*hist.Histogram{r.Response, r.Service, r.StartLag} {
		if i == 2 {
			mean = 0
		}
		h.RecordN(mean*4/5, a.completed/2)
		h.RecordN(mean*6/5, a.completed-a.completed/2)
	}
	c := trial.Cell{Arm: name, Round: round, Result: r}
	t.Rounds = append(t.Rounds, c)
	c.Pair, c.Order = 1, len(t.Blocks)+1
	t.Blocks = append(t.Blocks, c)
}

// wobble is the noise of a round, -2 to 2.
func wobble(round int) int64 { return int64(round*7%5) - 2 }

// verdicts has a level for every kind of verdict: 10 FASTER, 20 SLOWER, 30
// EQUIVALENT, 40 INCONCLUSIVE, and INVALID at 50 and above.
func verdicts(levels ...int) *trial.Trials {
	t := &trial.Trials{Arms: []string{"mutex", "inputq"}, Design: trial.Design{
		Rounds: 7, Pairs: 1, Block: time.Second, Warmup: time.Second, Levels: levels,
		Metrics:   []metric.Name{metric.Throughput, "response_p90_ns", metric.ServerCPUPerOp},
		MaxErrors: 0.001, Margin: new(0.02), Confidence: 0.95, Seed: 1,
	}}
	for round := 1; round <= t.Design.Rounds; round++ {
		w := wobble(round)
		base := arm{completed: 10_000 + 20*w, serverNS: 30_000, generatorSec: 0.4}
		with := func(change func(*arm)) arm {
			a := base
			change(&a)
			return a
		}
		candidates := map[int]arm{
			10: with(func(a *arm) { a.completed, a.serverNS = 11_000+10*w, 27_000+float64(w) }), // FASTER, LESS
			20: with(func(a *arm) { a.completed, a.serverNS = 9_000+10*w, 33_000+float64(w) }),  // SLOWER, MORE
			30: with(func(a *arm) { a.completed += 5 * w }),                                     // EQUIVALENT
			40: with(func(a *arm) { a.completed += 300 * w }),                                   // INCONCLUSIVE
			50: with(func(a *arm) { a.completed, a.failed = 9_500, 500 }),                       // INVALID errors
			60: with(func(a *arm) { a.serverNS, a.generatorSec = 20_000, 1.75 }),                // INVALID generator_saturated
			70: with(func(a *arm) { a.completed, a.failed, a.serverNS = 0, 10_000, 0 }),         // INVALID errors, no figure
		}
		for _, level := range levels {
			roundOf(t, "mutex", level, round, base)
			roundOf(t, "inputq", level, round, candidates[level])
		}
	}
	t.Derive()
	return t
}

// fewRounds cannot support a verdict; its arms are no fresh processes.
func fewRounds() *report.Document {
	t := &trial.Trials{Arms: []string{"a", "b"}, InProcess: true, Design: trial.Design{
		Rounds: 2, Pairs: 1, Block: time.Second, Levels: []int{1}, Metrics: []metric.Name{metric.Throughput},
		Margin: new(0.02), Confidence: 0.95,
	}}
	for round := 1; round <= 2; round++ {
		roundOf(t, "a", 1, round, arm{completed: 1000 + wobble(round), serverNS: 1000})
		roundOf(t, "b", 1, round, arm{completed: 1100, serverNS: 1000})
	}
	t.Derive()
	d := document("compare")
	d.Add(report.Place{}, t)
	return d
}

// counted compares two arms at one caller whose throughput is the same, while the
// candidate executes 6% more instructions and fewer cycles for each.
func counted() *report.Document {
	t := &trial.Trials{Arms: []string{"old", "new"}, Design: trial.Design{
		Rounds: 8, Pairs: 1, Block: time.Second, Levels: []int{1},
		Metrics:    []metric.Name{metric.Throughput, metric.ServerCPUPerOp, metric.ServerInstructions, "server_cache_misses_per_op"},
		Confidence: 0.95, MaxErrors: 0.001,
	}}
	for round := 1; round <= t.Design.Rounds; round++ {
		for _, a := range []struct {
			name               string
			user, kernel, each uint64 // instructions in user space and in the kernel, and cycles for ten of them
		}{{"old", 30_000, 14_000, 11}, {"new", 32_640, 14_000 + uint64(3*round), 10}} {
			roundOf(t, a.name, 1, round, arm{completed: 10_000 + 50*wobble(round+len(a.name)), serverNS: 30_000, generatorSec: 0.3})
			cell := t.Rounds[len(t.Rounds)-1]
			const ops = 1000
			user, kernel := (a.user+uint64(round))*ops, a.kernel*ops
			cell.Counted = &load.Counted{Planned: ops, Completed: ops, Ops: ops, Duration: 120 * time.Millisecond, Events: map[perf.Event]load.Events{
				perf.Instructions: {Count: user, Ops: ops}, perf.KernelInstructions: {Count: kernel, Ops: ops},
				perf.Cycles: {Count: user * a.each / 10, Ops: ops}, perf.KernelCycles: {Count: kernel * a.each / 10, Ops: ops},
				perf.CacheMisses: {Count: 12*ops + uint64(wobble(round)+2)*100, Ops: ops},
			}}
		}
	}
	t.Derive()
	d := document("compare")
	d.Add(report.Place{}, t)
	return d
}

func comparison() *report.Document {
	d := document("compare")
	d.Add(report.Place{}, verdicts(10, 20, 30, 40, 50, 60, 70))
	return d
}

// sweepOf measures throughputs at levels, each once.
func sweepOf(name string, levels []int, x []int64) *sweep.Curve {
	c := &sweep.Curve{Arm: name, Design: sweep.Design{Levels: levels, Visits: 1, Block: time.Second, Warmup: time.Second, Seed: 1}}
	t := new(trial.Trials)
	for i, n := range levels {
		roundOf(t, name, n, 1, arm{completed: x[i], serverNS: 10_000, generatorSec: 0.2})
	}
	c.Visits = t.Rounds
	c.Derive()
	return c
}

// swept has the textbook's curve with a peak at 96 (α 0.0277, β 0.000104), a
// curve that still rises, and one whose visits are INVALID.
func swept() *report.Document {
	d := document("sweep")
	levels := []int{1, 18, 36, 72, 108, 144, 216}
	d.AddCurve(report.Place{}, sweepOf("peaked", levels, []int64{6500, 99600, 165200, 185300, 182900, 177500, 170200}))
	d.AddCurve(report.Place{}, sweepOf("rising", levels[:4], []int64{6500, 99600, 165200, 185300}))
	refused := sweepOf("refused", levels[:3], []int64{6500, 99600, 165200})
	refused.Visits[1].Failed, refused.Visits[1].Planned = 900, refused.Visits[1].Completed+900
	refused.Visits[1].Faults = []load.Fault{{Status: 503, Count: 900, Example: "HTTP/1.1 503 Service Unavailable; pool exhausted"}}
	refused.Derive()
	d.AddCurve(report.Place{}, refused)
	return d
}

// bounded is a sweep in which the generator was the limit: of each cycle 90% was its own.
func bounded() *report.Document {
	d := document("sweep")
	c := sweepOf("cheap", []int{1, 10, 20}, []int64{20_000, 50_000, 51_000})
	for _, v := range c.Visits {
		mean := time.Duration(0.1 * float64(time.Second) * float64(v.Concurrency) / float64(v.Completed))
		v.Service = hist.New()
		v.Service.RecordN(mean, v.Completed)
	}
	c.Derive()
	d.AddCurve(report.Place{}, c)
	return d
}

// changedOver is a comparison at two levels. At 80 VUs 90% of each cycle were the
// generator's, so it was done again at 35,000/s, 70% of its limit.
func changedOver() *report.Document {
	t := verdicts(30)
	t.Design.Levels = append(t.Design.Levels, 80)
	paced := &trial.Trials{Arms: t.Arms, Design: t.Design}
	paced.Design.Levels = []int{80}
	paced.Design.Metrics = []metric.Name{metric.ServerCPUPerOp, metric.ResponseP50, "response_p90_ns"}
	for i, name := range t.Arms {
		roundOf(t, name, 80, 1, arm{completed: 50_000 + 1000*int64(i), serverNS: 10_000, generatorSec: 1})
		for _, c := range []trial.Cell{t.Rounds[len(t.Rounds)-1], t.Blocks[len(t.Blocks)-1]} {
			c.Service = hist.New()
			c.Service.RecordN(160*time.Microsecond, c.Completed)
		}
		for round := 1; round <= 7; round++ {
			roundOf(paced, name, 80, round, arm{completed: 35_000, serverNS: float64(10_000 + 900*int64(i) + 10*wobble(round)), generatorSec: 0.7})
			c := paced.Rounds[len(paced.Rounds)-1]
			c.Model, c.Plan.Pacer = load.OpenModel, pace.Constant(35_000)
			c.Response, c.Service = spread(35_000, 100*time.Microsecond, 200*time.Microsecond), spread(35_000, 100*time.Microsecond, 200*time.Microsecond)
		}
	}
	t.Derive()
	i := slices.IndexFunc(t.Comparisons, func(c trial.Comparison) bool { return c.Concurrency == 80 && c.Primary })
	t.ChangedOver = []trial.ChangeOver{{AtRate: trial.AtRate{Reason: *t.Comparisons[i].Reason, LimitPerSec: 50_000, RatePerSec: 35_000},
		Concurrency: 80, Candidates: t.Arms[1:], Trials: paced}}
	t.Derive()
	d := document("compare")
	d.Add(report.Place{}, t)
	return d
}

// unnamed is the sweep of one target, with errors.
func unnamed() *report.Document {
	d := document("sweep")
	c := sweepOf("", []int{1, 2}, []int64{6500, 9000})
	for _, v := range c.Visits {
		v.Target, v.Planned, v.Errored = "http://127.0.0.1:8080/", v.Completed+1, map[errkind.Kind]int64{errkind.Reset: 1}
	}
	c.Derive()
	d.AddCurve(report.Place{}, c)
	return d
}

// smallDocuments are of every kind and quickly read. They are made once.
var smallDocuments = sync.OnceValue(func() map[string]*report.Document {
	sweep, compared, published, guard := document("sweep"), document("compare"), document("lab"), document("guard")
	sweep.AddCurve(report.Place{}, sweepOf("s", []int{1, 18, 36, 72, 108, 144, 216}, []int64{6500, 99600, 165200, 185300, 182900, 177500, 170200}))
	compared.Add(report.Place{}, verdicts(10))
	e := counterExperiment()
	e.Published = e.Published[1:]
	published.Experiments = []report.Experiment{e}
	published.Add(report.Place{Experiment: e.ID, Part: "handler"}, &fewRounds().Trials[0].Trials)
	published.Derive()
	guarded := closedResult("guard:mutex", 1, 5)
	guarded.Local = true
	guarded.Derive()
	guard.AddInProcess(trial.Cell{Arm: "mutex", Result: guarded},
		report.InProcess{Design: "mutex", Latency: spread(3, 1, 9)})
	return map[string]*report.Document{"stored": storedRuns(), "empty": document("run"), "bisected": found(), "builds": built(), "closed": closedRun(), "nothing": nothingSucceeded(),
		"few-rounds": fewRounds(), "compared": compared, "changed-over": changedOver(), "search": searched(true), "why": costly(), "sweep": sweep, "published": published, "guards": guard}
})

// built has arms of revisions, but no figures.
func built() *report.Document {
	d := document("compare")
	build := report.Build{Arm: "v1.0", Commit: strings.Repeat("1a2b3c4d", 5), Subject: "count \x1b[1mloudly",
		Build: "go build -o {{out}} ./cmd/app", Built: d.Environment.Started.AddDate(0, 0, -1), Kept: true}
	d.Builds = append(d.Builds, build)
	build.Arm, build.Built, build.Kept = "HEAD", d.Environment.Started, false
	d.Builds = append(d.Builds, build)
	build.Arm, build.Changed = "worktree", true
	d.Builds = append(d.Builds, build)
	return d
}

// storedRuns are two documents of one run each, compared.
func storedRuns() *report.Document {
	d := document("compare")
	once := runDocument(closedResult("http://127.0.0.1:1/", 10, 5))
	if err := d.AddStored(report.Stored{Name: "a.json", Document: once}, report.Stored{Name: "b.json", Document: once}, how()); err != nil {
		panic(err)
	}
	return d
}

// smallStored are the small documents as they are stored.
var smallStored = sync.OnceValue(func() map[string][]byte {
	all := map[string][]byte{}
	for name, d := range smallDocuments() {
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			panic(err)
		}
		all[name] = b.Bytes()
	}
	return all
})

// allDocuments are made once; tests that change one make their own.
var allDocuments = sync.OnceValue(documents)

func documents() map[string]*report.Document {
	return map[string]*report.Document{
		"closed": closedRun(), "open": openRun(), "flow": flows(), "nothing": nothingSucceeded(), "guards": guards(), "uplinks": uplinks(), "ladder": ladder(),
		"comparison": comparison(), "counted": counted(), "unnamed": unnamed(), "search": searched(false), "few-rounds": fewRounds(), "sweep": swept(), "sweep-bound": bounded(), "changed-over": changedOver(), "lab": lab(),
		"empty": document("run"), "bisected": found(), "builds": built(), "stored": storedDocuments(), "calibration": calibrated(calibration()), "why": costly(), "why-waiting": waiting(), "why-mixed": mixed(), "why-traced": traced(), "why-untraced": untraced(), "why-unsampled": unsampled(), "why-failed": failed(), "why-untold": untold(), "why-counted": executed(), "why-same": same(), "why-uncounted": uncounted(),
	}
}
