package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"contend/calibrate"
	"contend/errkind"
	"contend/expect"
	"contend/failure"
	"contend/hist"
	"contend/load"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
	"contend/why"
)

// oneLevel is a comparison with the primary verdict of one level of verdicts.
func oneLevel(level int) *report.Document {
	d := document("compare")
	d.Arms = []report.Arm{{Name: "mutex", Does: "./orders -mode lock -listen {{addr}}"}, {Name: "inputq", Does: "./orders -mode queue -listen {{addr}}"}}
	d.Add(report.Place{}, verdicts(level))
	return d
}

// oneSweep has one of the curves of swept.
func oneSweep(i int) *report.Document {
	d := swept()
	d.Curves = d.Curves[i : i+1]
	return d
}

// screens are documents with the most lines that their page may have.
func screens() map[string]struct {
	d    *report.Document
	most int
} {
	type page = struct {
		d    *report.Document
		most int
	}
	settled := oneLevel(40)
	settled.SettleBy(report.Step{Purpose: report.MeasureLonger, Command: "contend compare -d 3m --url http://{{addr}}/ -- './orders -mode lock' './orders -mode queue'"})
	all := allDocuments()
	return map[string]page{
		"faster": {followed(oneLevel(10), "see whether it holds at other concurrencies", "contend compare -c 1,10,100 --url http://{{addr}}/ -- './orders -mode lock -listen {{addr}}' './orders -mode queue -listen {{addr}}'"), 15}, "slower": {oneLevel(20), 15}, "equivalent": {oneLevel(30), 15},
		"inconclusive": {settled, 15}, "errors": {oneLevel(50), 15}, "saturated": {oneLevel(60), 15}, "nothing-right": {oneLevel(70), 15},
		"few-rounds": {all["few-rounds"], 15}, "counted": {all["counted"], 15}, "stored": {all["stored"], 15}, "instructions": {ofInstructions(stat.More, 90), 15},
		"run": {followed(runDocument(closedResult("http://localhost:8080/status", 50, 20_000)), "find the best concurrency", "contend sweep http://localhost:8080/status"), 15}, "run-failing": {all["closed"], 15}, "run-open": {all["open"], 15}, "run-flow": {all["flow"], 24},
		"run-stalled": {stalled(), 15}, "run-slow": {slower(), 15}, "run-ceased": {ceased(), 15}, "run-silent": {silent(), 15}, "differing": {differing(), 15}, "run-timeouts": {timedOut(), 15}, "both-timed-out": {bothTimedOut(), 15}, "run-short": {short(), 15}, "run-others-busy": {withOthersBusy(), 15},
		"sweep-nothing": {onlyWrong(oneSweep(0)), 18}, "rate-nothing": {onlyWrong(searched(false)), 18}, "both-nothing": {onlyWrong(oneLevel(10)), 15}, "levels-nothing": {onlyWrong(comparison()), 15 + 6},
		"run-nothing": {all["nothing"], 15}, "run-unmet": {followed(expectedOf("p99 < 20ms", "errors < 0.1%", "throughput > 100"), "find the best concurrency", "contend sweep http://localhost:8080/status"), 15}, "sweep-peaked": {followed(oneSweep(0), "measure that level alone", "contend run -c 72 http://127.0.0.1:8080/peaked"), 18}, "sweep-rising": {oneSweep(1), 18}, "sweep-refused": {oneSweep(2), 18},
		"sweep-bound": {all["sweep-bound"], 18}, "rate-found": {followed(searched(false), "see the response times at that rate in full", "contend run --rate 1542 -c 500 -d 30s http://127.0.0.1:8080/"), 18}, "rate-late": {searched(true), 18},
		"paced": {paced(1.5), 15}, "machine-busy": {crowdedOut(), 15}, "stalling": {stalling(), 15}, "noisy": {noisy(), 15}, "too-short": {glimpses(), 15}, "sweep-too-short": {glimpse(), 15}, "at-once": {atOnce(), 17}, "run-declining": {declining(), 15}, "run-starved": {starved(), 15},
		"levels": {all["comparison"], 15 + 6}, "three": {three([]int64{10_000, 25_000, 14_000}, 10), 17}, "changed-over": {all["changed-over"], 16},
		"guard": {all["guards"], 20}, "guard-one": {guardGrid([]string{"add"}, 8), 20}, "guard-grid": {guardGrid([]string{"add", "add-get", "read-mostly", "section"}, 1, 2, 8, 100), 20},
		"guard-doubted": {doubtedGuards(), 20}, "guard-inside": {inside(), 20},
		"pipe": {all["ladder"], 20}, "pipe-grid": {pipeGrid(), 20},
		"calibrate": {calibrated(calibration()), 20}, "calibrate-nothing": {calibrated(&report.Calibration{}), 20}, "calibrate-sure": {calibrated(sureCalibration()), 20},
		"calibrate-gate":       {calibrated(gated(calibrate.Gate{Rounds: 40, Accused: 47, Replays: 2000, Finds: 0.0244, FindsTwice: 0.0254})), 20},
		"calibrate-gate-blind": {calibrated(gated(calibrate.Gate{Rounds: 40, Replays: 2000})), 20},
		"run-guard":            {followed(runDocument(batched("guard:mutex?kind=add-get", 1_000_000_000)), "compare all designs", "contend guard"), 15}, "run-pipe": {followed(runDocument(batched("pipe:chan", 28_000_000)), "compare all designs", "contend pipe"), 15},
		"why": {costly(), 15 + 14}, "why-waiting": {waiting(), 15 + 3}, "why-mixed": {mixed(), 15 + 5}, "why-traced": {traced(), 15 + 7}, "why-untraced": {untraced(), 15 + 5}, "why-not": {diagnosed(oneLevel(20), 0), 15 + 2}, "why-unsampled": {unsampled(), 15 + 2}, "why-failed": {failed(), 15 + 4}, "why-untold": {untold(), 15 + 2},
		"why-levels": {diagnosed(comparison(), time.Millisecond, why.Work{Kind: "scheduler", Function: "runtime.gopark", Time: 1200}), 15 + 6 + 3},
		"bisect":     {confirmed(stat.Slower), 15}, "bisect-open": {stoppedSearch(), 18},
		"failed-died":      {failedWith(ended("B", true, 7, "listening", "out of luck")), 20},
		"failed-usage":     {failedWith(ended("A", false, 2, append([]string{"unknown flag: -bogus"}, slices.Repeat([]string{"  -flag", "\tits meaning"}, 8)...)...)), 20},
		"failed-unreached": {unreached("run", failure.Failure{Kind: failure.Refused, Address: "http://localhost:9/", Cause: "connection refused"}), 20},
		"failed-sweep":     {failedSweep(), 20},
		"failed-both":      {failedWith(ended("A", false, 2, "no port"), ended("B", false, 2, "no port")), 20},
		"failed-paths":     {failedWith(missing("A", "./orders"), missing("B", "orders")), 20},
		"failed-nobody": {unreached("compare", failure.Failure{Arm: "A", Kind: failure.Refused, Address: "http://localhost:1/", Cause: "connection refused"},
			failure.Failure{Arm: "B", Kind: failure.Refused, Address: "http://localhost:2/", Cause: "connection refused"}), 20},
		"failed-start": {failedWith(missing("B", "./orders")), 20},
		"failed-taken": {failedWith(failure.Failure{Arm: "A", Kind: failure.AddressTaken, Address: "127.0.0.1:80", Cause: "another program listens at 127.0.0.1:80, on which the command insists: end that one"}), 20},
		"failed-astray": {failedWith(failure.Failure{Arm: "A", Kind: failure.NotReady, Cause: "not ready after 10s: nobody listens at 127.0.0.1:80", More: "it listens on port 81, while the URL has the port 80; it wrote nothing",
			Advice: "put the same port into the URL and the command"}), 20},
		"failed-daemon": {failedWith(ended("A", false, 0)), 20},
		"failed-worker": {failedWith(failure.Failure{Arm: "A", Server: "orders", Worker: "w1", Kind: failure.NotReady, Cause: "not ready after 10s", Stream: "stdout", LastWords: []string{"waiting"}}), 20},
	}
}

// stalled is a run whose longest response is over fifty times the median.
func stalled() *report.Document {
	r := closedResult("http://localhost:8080/status", 10, 20_000)
	for range 10 {
		r.Response.Record(307 * time.Millisecond)
	}
	r.Derive()
	return runDocument(r)
}

// slower is a run of a server that does not answer in time.
func slower() *report.Document {
	r := closedResult("http://localhost:8080/", 10, 0)
	r.Duration, r.Planned, r.Unfinished, r.GeneratorCPUSec = 3*time.Second, 10, 10, 0.01
	r.Plan.Duration, r.Plan.Grace = r.Duration, time.Second
	d := runDocument(r)
	d.SettleBy(report.Step{Purpose: report.MeasureLonger, Command: "contend run -d 20s --grace 10s http://localhost:8080/"})
	return d
}

// timedOut is a run of a server that takes longer than the timeout.
func timedOut() *report.Document {
	r := closedResult("http://localhost:8080/", 10, 0)
	r.Planned, r.GeneratorCPUSec, r.Errored = 20, 0.01, map[errkind.Kind]int64{errkind.Timeout: 20}
	r.Examples = map[errkind.Kind]string{errkind.Timeout: "http: no answer within 5s"}
	return runDocument(r)
}

// bothTimedOut is a comparison of servers that take longer than the timeout.
func bothTimedOut() *report.Document {
	d := onlyWrong(oneLevel(10))
	for _, c := range d.Trials[0].Rounds {
		c.Errored, c.Failed, c.Faults, c.Plan.Timeout = map[errkind.Kind]int64{errkind.Timeout: c.Wrong()}, 0, nil, 2*time.Second
		c.Examples = map[errkind.Kind]string{errkind.Timeout: "read tcp 127.0.0.1:40000->127.0.0.1:8080: i/o timeout"}
	}
	d.Derive()
	return d
}

// short is a run of 10 ms.
func short() *report.Document {
	r := closedResult("http://localhost:8080/", 10, 400)
	r.Duration = 10 * time.Millisecond
	r.Derive()
	return followed(runDocument(r), "measure longer", "contend run -d 10s http://localhost:8080/")
}

// withOthersBusy is a run of a server that was found, while others used 1.2 of 2 cores.
func withOthersBusy() *report.Document {
	r := closedResult("http://localhost:8080/", 10, 20_000)
	seconds := r.Duration.Seconds()
	r.GeneratorCPUSec, r.Server, r.MachineCores, r.MachineCPUSec = 0.2*seconds, &load.Usage{CPUSec: 0.3 * seconds, Foreign: true}, 2, 1.7*seconds
	r.Derive()
	return runDocument(r)
}

// ceased is a run of a server that is gone in the fourth second.
func ceased() *report.Document {
	r := closedResult("http://localhost:8080/", 10, 3500)
	r.GeneratorCPUSec = 18.4 // for errors
	r.Planned, r.Errored = 10_500, map[errkind.Kind]int64{errkind.Refused: 6990, errkind.Reset: 10}
	r.Examples = map[errkind.Kind]string{errkind.Refused: "dial tcp 127.0.0.1:8080: connect: connection refused", errkind.Reset: "read: connection reset by peer"}
	seconds := []load.Interval{{Completed: 1000}, {Completed: 1000}, {Completed: 1000}, {Completed: 500, Errored: map[errkind.Kind]int64{errkind.Refused: 390, errkind.Reset: 10}}}
	for range 6 {
		seconds = append(seconds, load.Interval{Errored: map[errkind.Kind]int64{errkind.Refused: 1100}})
	}
	r.Course = overTime(r, seconds...)
	return runDocument(r)
}

// differing is a comparison of answers that differ, which was known after its first round.
func differing() *report.Document {
	d := oneLevel(10)
	t := &d.Trials[0]
	t.Rounds, t.Blocks = t.Rounds[:2], t.Blocks[:2]
	for i, c := range t.Rounds {
		c.Answers = &load.Answers{Kinds: []load.AnswerKind{{Status: 200, Count: c.Completed}}, Bodies: []load.Bodies{{Count: c.Completed, Bytes: c.Completed * int64(100+900*i)}}}
	}
	d.Derive()
	return d
}

// silent is a run of a server that answers nobody any more from the fourth second on.
func silent() *report.Document {
	r := closedResult("http://localhost:8080/", 10, 3500)
	r.Planned, r.Unfinished = 3510, 10
	r.Course = overTime(r, load.Interval{Completed: 1000}, load.Interval{Completed: 1000}, load.Interval{Completed: 1000}, load.Interval{Completed: 500})
	return runDocument(r)
}

// onlyWrong makes all answers of a document wrong, by a server that is busy.
func onlyWrong(d *report.Document) *report.Document {
	var cells []trial.Cell
	for _, t := range d.Trials {
		cells = append(cells, t.Rounds...)
	}
	for _, c := range d.Curves {
		cells = append(cells, c.Visits...)
	}
	for i, s := range d.Searches {
		cells = append(cells, *s.Alone)
		d.Searches[i].Attempts = nil
	}
	for _, c := range cells {
		c.Planned, c.Failed, c.Completed, c.Ops, c.Errored = 105, 100, 0, 0, map[errkind.Kind]int64{errkind.Reset: 5}
		c.Response, c.Service, c.StartLag, c.Answers = hist.New(), hist.New(), hist.New(), nil
		c.Faults = []load.Fault{{Status: 404, Count: 100, Example: "404 page not found"}}
		c.Examples = map[errkind.Kind]string{errkind.Reset: "read: connection reset by peer"}
		c.GeneratorCPUSec, c.Server = 0.05, &load.Usage{CPUSec: 1.9 * c.Duration.Seconds()}
	}
	d.Derive()
	return d
}

// expectedOf is a run in which only the first expectation fails, and whose instructions are not known.
func expectedOf(texts ...string) *report.Document {
	r := closedResult("http://localhost:8080/status", 50, 20_000)
	r.Uncounted = "this machine has no counters"
	r.Derive()
	d := runDocument(r)
	for i, text := range texts {
		x := expect.Expectation{Text: text, Held: i > 0}
		if !x.Held {
			x.Detail = "response time p99 was 36.5 ms"
		}
		d.Expectations = append(d.Expectations, x)
	}
	return d
}

// followed has a next step, in the words of a command line and what it is for.
func followed(d *report.Document, purpose, next string) *report.Document {
	d.Then(report.Step{Purpose: purpose, Command: next})
	return d
}

// guardGrid has the designs of the default grid; those that queue are the slower the more callers
// there are.
func guardGrid(kinds []string, levels ...int) *report.Document {
	d := document("guard")
	for _, kind := range kinds {
		for _, callers := range levels {
			for i, design := range []string{"striped", "atomic", "cas", "mutex", "rwmutex", "combining", "inputq-batch", "inputq", "inputq-pooled"} {
				if kind == "section" && i < 3 || kind == "add-get" && i == 0 {
					continue
				}
				r := closedResult("guard:"+design+"?kind="+kind, callers, 500)
				r.Local, r.GeneratorCPUSec, r.BytesIn, r.BytesOut = true, 19.9, 0, 0
				perOp := 4 * float64(int(1)<<i) * (1 + float64(i*callers)/100)
				if kind == "section" {
					perOp += 200
				}
				r.Ops = int64(1e10 / perOp)
				r.Derive()
				d.AddInProcess(trial.Cell{Arm: design, Result: r}, report.InProcess{Design: design, Kind: kind, Latency: spread(200, 20, 2000), ClockPair: 45, Jain: 1, MinMax: 1})
			}
		}
	}
	return d
}

// doubtedGuards are all INVALID.
func doubtedGuards() *report.Document {
	d := guardGrid([]string{"add"}, 1, 100)
	for _, r := range d.Results {
		r.Failed, r.Planned = 5, r.Completed+5
		r.Derive()
	}
	return d
}

// pipeGrid is the default of two cores.
func pipeGrid() *report.Document {
	d := document("pipe")
	for _, procs := range []int{1, 2} {
		for i, design := range []string{"chan", "chan-batch", "spsc", "mpsc", "mpmc"} {
			for j, with := range []string{"", "buffer=10000&", "batch=32&buffer=10000&", "batch=1024&buffer=10000&"} {
				for k, workers := range []string{"", "&producers=4", "&consumers=4&producers=4"} {
					if i != 1 && i != 2 && j > 1 || i == 0 && j == 3 || i == 2 && k > 0 || i == 3 && k > 1 {
						continue
					}
					label := fmt.Sprintf("pipe:%s?%sitems=100000%s", design, with, workers)
					r := closedResult(label, 1, 2000)
					r.Ops, r.Local = int64((i+1)*(4*j+1)*(3-k)*10_000_000/procs), true
					d.AddCell(trial.MergeCells([]trial.Cell{{Arm: fmt.Sprintf("%s, GOMAXPROCS %d", label, procs), Result: r}}))
				}
			}
		}
	}
	return d
}

// inside is what guard --inside finds.
func inside() *report.Document {
	d := document("guard")
	r := closedResult("http://127.0.0.1:8080/status", 10, 500)
	r.Derive()
	d.AddCell(trial.Cell{Arm: "under load", Result: r})
	d.Then(report.Step{Purpose: report.FindBest, Command: "contend sweep http://127.0.0.1:8080/status"})
	d.Experiments = []report.Experiment{{ID: "inside", Title: "What a guard can change", Status: "done", Parts: []report.Part{{}}, Analyses: []report.Analysis{{
		Name: "guard_bound", Title: "Each guard in place of mutex",
		Answer:  "The guard inside http://127.0.0.1:8080/status changes throughput by at most 1.20% (inputq in place of mutex), latency by at most 1.40% (inputq)",
		Columns: []string{"guard", "CPU per call", "time per call, 1 caller", "calls/s at most", "throughput", "latency"},
		Rows:    [][]string{{"mutex", "20.0 ns", "20.0 ns", "50,000,000", "0.00%", "0.00%"}, {"inputq", "500 ns", "600 ns", "2,000,000", "-1.20%", "+1.40%"}},
		Sentence: []string{"At concurrency 10 the server held 9.8 calls at once (throughput × mean service time), so the guards were measured with 10 at once.",
			"Throughput: inputq in place of mutex changes at most 1.20% of it, if it costs there what it costs in process. That is less than the margin of 2% which counts as equal: a comparison is not worth running."}}}}}
	return d
}

func calibrated(c *report.Calibration) *report.Document {
	d := document("calibrate")
	d.Calibration = c
	if len(c.Comparisons) > 0 {
		d.Notes = []string{"Stored in calibration.json."}
	}
	return d
}

// sureCalibration has 120 comparisons with four false alarms.
func sureCalibration() *report.Calibration {
	c := calibration()
	one := c.Comparisons[:2]
	c.Comparisons = nil
	for i := range 120 {
		for _, found := range one {
			if found.Verdict = stat.Inconclusive; i%30 == 0 {
				found.Verdict = stat.Faster
			}
			found.RoundLogRatios = make([]float64, 6)
			for round := range found.RoundLogRatios {
				found.RoundLogRatios[round] = 0.06 * math.Sin(float64(6*i+round))
			}
			c.Comparisons = append(c.Comparisons, found)
		}
	}
	c.PlannedRounds, c.Elapsed = 40, 8*time.Minute
	c.Derive()
	return c
}

// gated has a gate.
func gated(g calibrate.Gate) *report.Calibration {
	c := sureCalibration()
	c.Gate = &g
	return c
}

// batched does many operations in each of 50,000 iterations.
func batched(target string, ops int64) *load.Result {
	r := closedResult(target, 1, 50_000)
	r.Ops, r.Local, r.BytesIn, r.BytesOut = ops, true, 0, 0
	return r
}

// failedSweep is of a command that does not start.
func failedSweep() *report.Document {
	return &report.Document{Schema: report.Schema, Command: "sweep", Failure: "a text", Failures: []failure.Failure{{Server: "server", Kind: failure.NoProgram, Program: "./orders"}},
		Arms: []report.Arm{{Name: "server", Does: "./orders -listen {{addr}}"}}}
}

// failedWith is a comparison of two commands that could not be measured.
func failedWith(list ...failure.Failure) *report.Document {
	d := document("compare")
	d.Arms = []report.Arm{{Name: "A", Does: "./orders -listen {{addr}}"}, {Name: "B", Does: "./orders -queue -listen {{addr}}"}}
	d.Experiments = []report.Experiment{{ID: "compare", Title: "B against A", Status: "failed", Error: "a text", Failures: list}}
	return d
}

// unreached is of servers that do not respond.
func unreached(command string, list ...failure.Failure) *report.Document {
	d := &report.Document{Schema: report.Schema, Command: command, Failure: "a text", Failures: list}
	for _, f := range list {
		if f.Arm != "" {
			d.Arms = append(d.Arms, report.Arm{Name: f.Arm, Does: f.Address})
		}
	}
	return d
}

// ended is a server that ended before it was ready, or died under load.
func ended(name string, died bool, status int, words ...string) failure.Failure {
	f := failure.Failure{Arm: name, Server: name, Kind: failure.Exited, Died: died, Exit: &status, Cause: fmt.Sprintf("exited on its own: exit status %d", status)}
	if !died {
		f.Cause = "not ready: " + f.Cause
	}
	if f.Stream, f.LastWords = "stderr", words; words == nil {
		f.Stream, f.More = "", "it wrote nothing"
	}
	return f
}

// missing is a server whose program does not exist.
func missing(name, program string) failure.Failure {
	return failure.Failure{Arm: name, Server: name, Kind: failure.NoProgram, Program: program, Cause: "exec: not found"}
}

// apartFromContent are the lines of a page that only set its parts apart: blank ones, the count of notes, and the
// purpose of the next command.
const apartFromContent = 6

// Each page keeps to its lines and to the width of a terminal, in either alphabet.
func TestScreens(t *testing.T) {
	all := gathered{}
	for name, p := range screens() {
		for _, look := range []report.Look{{}, {ASCII: true}} {
			b := screenOf(t, p.d, look)
			lines := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
			if most := p.most + apartFromContent; len(lines) > most || len(lines) < 3 {
				t.Errorf("%s has %d lines, want 3 to %d:\n%s", name, len(lines), most, b)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > 100 {
					t.Errorf("%s has a line of %d columns: %s", name, n, line)
				}
				if strings.HasPrefix(line, "! ") && (strings.Contains(line, "…") || strings.HasSuffix(line, ".")) {
					t.Errorf("%s has a warning that is cut: %s", name, line)
				}
			}
			if !look.ASCII {
				all.add(p.d, name, b)
			} else if i := strings.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
				t.Errorf("%s is not ASCII: %q", name, b[i:i+3])
			}
		}
	}
	all.golden(t, "screen")
}

// axisOfPage is the picture of one comparison, or the axis in a row of several.
var axisOfPage = regexp.MustCompile(`(?m)^ +(slower|shorter|less) .*[─├┤●].*$| +[─├┤][ ─├┤0●]*$| +●[ ─├┤0]*[─├┤][ ─├┤0]*$`)

// On a narrow terminal only axes and the lengths of bars are lost, and only a single word, and what
// is quoted, may be wider than it.
func TestNarrowScreens(t *testing.T) {
	without := strings.NewReplacer(" ", "", "\n", "", "█", "", `\`, "")
	between := regexp.MustCompile(`'[^']*'`)
	for name, p := range screens() {
		whole := screenOf(t, p.d)
		want := without.Replace(axisOfPage.ReplaceAllString(whole, ""))
		for _, columns := range []int{1, 40, 60, 80} {
			narrow := screenOf(t, p.d, report.Look{Width: columns})
			for line := range strings.Lines(narrow) {
				line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), ` \`)
				words := strings.Fields(between.ReplaceAllString(line, "x"))
				if n := utf8.RuneCountInString(line); n > max(columns, 30) && len(words) > 1 {
					t.Errorf("%s at %d columns has a line of %d: %s", name, columns, n, line)
				}
			}
			if got := without.Replace(axisOfPage.ReplaceAllString(narrow, "")); got != want {
				t.Errorf("%s at %d columns has lost something:\n%s", name, columns, narrow)
			}
		}
	}
}

// The last line of a server may look like an axis.
func TestLastWordsStayInNarrowScreens(t *testing.T) {
	d := failedWith(ended("A", false, 2, "├── config.yaml ── line 3: the port is missing, or is no number"))
	b := screenOf(t, d, report.Look{Width: 40})
	if words := strings.Join(strings.Fields(b), " "); !strings.Contains(words, "│ ├── config.yaml ── line 3: the port is missing, or is no number Next:") {
		t.Error(b)
	}
}

// The brief form of a page is its first sentence, in one line and whole, with the code of what is refused.
func TestBriefIsWhole(t *testing.T) {
	pages := map[string]*report.Document{"uplinks": allDocuments()["uplinks"]}
	for name, p := range screens() {
		pages[name] = p.d
	}
	wide := 0
	for name, d := range pages {
		var page, brief bytes.Buffer
		if err := errors.Join(d.Screen(&page, report.Look{}), d.Brief(&brief, report.Look{Width: 40})); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(brief.String(), "\n")
		sentence, refused, _ := strings.Cut(line, ": INVALID")
		codes, _, _ := strings.Cut(refused, " in ") // so many comparisons
		whole := strings.Join(strings.Fields(page.String()), " ")
		if line == "" || rest != "" || !strings.HasPrefix(whole, sentence) || !strings.Contains(whole, codes) {
			t.Errorf("%s in brief is %q", name, brief.String())
		}
		if utf8.RuneCountInString(line) > 100 {
			wide++
		}
	}
	var several bytes.Buffer
	if err := pages["levels"].Brief(&several, report.Look{}); err != nil || !strings.HasSuffix(several.String(), ": INVALID (errors, generator_saturated) in 3 of 7\n") {
		t.Errorf("of several levels the brief is %q, %v", &several, err)
	}
	if wide < 3 {
		t.Errorf("only %d are wider than a page", wide)
	}
}

// A server whose command has no place for an address listens where the URL says.
func TestHowToSeeAnAnswer(t *testing.T) {
	d := onlyWrong(oneLevel(10))
	for i := range d.Arms {
		d.Arms[i].Does = "node server.js"
	}
	for asked, want := range map[string]string{
		"contend compare --url URL -- 'node a -X' 'node b'":        "(start node server.js, then curl -i 'http://localhost:8080/mutex');",
		"contend compare --data '{}' --url URL -- 'node' 'node b'": "(start node server.js, then curl -i 'http://localhost:8080/mutex' with the command's method, headers and data);",
	} {
		d.Asked = asked
		if page := strings.Join(strings.Fields(screenOf(t, d)), " "); !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// A comparison of wrong answers says what they were, by side.
func TestWrongAnswersAreShown(t *testing.T) {
	d := oneLevel(50)
	for _, r := range d.Results {
		r.Faults = []load.Fault{{Status: 404, Count: 7, Example: "HTTP/1.1 404 Not Found"}}
	}
	b := screenOf(t, d)
	for _, want := range []string{"mutex: 7 × status 404: HTTP/1.1 404 Not Found", "inputq: 7 × status 404"} {
		if !strings.Contains(b, want) {
			t.Errorf("%q is not on the page:\n%s", want, b)
		}
	}
}

// A side in which nothing began has no figure.
func TestNoFigureIsSaid(t *testing.T) {
	d := oneLevel(10)
	for _, c := range d.Trials[0].Rounds {
		if c.Arm == "inputq" {
			*c.Result = load.Result{Target: c.Target, Model: c.Model, Concurrency: c.Concurrency, Duration: c.Duration}
		}
	}
	d.Derive()
	b := screenOf(t, d)
	if !regexp.MustCompile(`\n  throughput +10,006/s +none +invalid\n`).MatchString(b) {
		t.Errorf("no figure is not said:\n%s", b)
	}
}

// A server that responded during the warm-up, and not afterwards, is not one that never did.
func TestAServerThatStopsAfterTheWarmUp(t *testing.T) {
	r := closedResult("http://127.0.0.1:8080/", 10, 0)
	r.Planned, r.Completed, r.Duration = 20, 0, 3*time.Second
	r.Errored = map[errkind.Kind]int64{errkind.Timeout: 20}
	r.Examples = map[errkind.Kind]string{errkind.Timeout: "no complete answer within 1s"}
	r.Course = &load.Course{Width: time.Second, Warmup: 1, Intervals: []load.Interval{{Completed: 20, ResponseMax: time.Millisecond}, {}, {}, {Errored: r.Errored}}}
	page := screenOf(t, runDocument(r))
	if !strings.HasPrefix(page, "The server stopped responding after the warm-up: timeout: no complete answer within 1s\nINVALID (errors)") || !strings.Contains(page, "Next: check the server log, then") {
		t.Errorf("the page is\n%s", page)
	}
}

// What cannot be measured if nothing succeeded is not on the page.
func TestPagesWithoutRightAnswers(t *testing.T) {
	for name, d := range map[string]*report.Document{"run": runDocument(onlyWrong(oneLevel(10)).Results[0].Result), "compare": onlyWrong(oneLevel(10)),
		"levels": onlyWrong(comparison()), "sweep": onlyWrong(oneSweep(0)), "rate": onlyWrong(searched(false))} {
		b := screenOf(t, d)
		page := b
		for _, want := range []string{"× status 404: 404 page not found", "× reset: read: connection reset by peer", "curl -i"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, page)
			}
		}
		for _, code := range []string{"CPU", "server_busy", "too_few_rounds", "not_steady", "nothing_succeeded"} {
			if strings.Contains(page, code) {
				t.Errorf("%s has %s:\n%s", name, code, page)
			}
		}
	}
}

// A busy server is what a comparison of throughput in the closed model asks for; the times of one
// are to be read with care.
func TestBusyServersOfComparisons(t *testing.T) {
	busy := func(metrics ...metric.Name) *report.Document {
		d := oneLevel(30)
		d.Trials[0].Design.Metrics = metrics
		for _, c := range d.Trials[0].Rounds {
			c.GeneratorCPUSec, c.Server = 0.1, &load.Usage{CPUSec: 1.85}
		}
		d.Derive()
		return d
	}
	paced := busy(metric.Throughput)
	for _, c := range paced.Trials[0].Rounds {
		c.Model = load.OpenModel
	}
	paced.Derive()
	for name, tt := range map[string]struct {
		d      *report.Document
		marked bool
	}{"throughput": {busy(metric.Throughput, "response_p90_ns"), false}, "times": {busy("response_p90_ns", metric.Throughput), true}, "at a rate": {paced, true}} {
		b := screenOf(t, tt.d)
		if page := b; strings.Contains(page, "! server_busy") != tt.marked || strings.Contains(page, "with 1 caveat (!)") != tt.marked {
			t.Errorf("%s: marked %v, want %v:\n%s", name, !tt.marked, tt.marked, page)
		}
	}
}
