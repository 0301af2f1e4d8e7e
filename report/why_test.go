package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"contend/failure"
	"contend/report"
	"contend/trial"
	"contend/why"
	"contend/why/gotrace"
)

// diagnosed adds to a comparison of lock and queue at one level what 12 rounds showed of why:
// lock works for 30 µs an operation, and queue as long and for what of says, in ns.
func diagnosed(d *report.Document, wait time.Duration, of ...why.Work) *report.Document {
	t := &d.Trials[0].Trials
	diagnosis := &trial.Diagnosis{Overhead: 0.031, Elapsed: 27 * time.Second}
	for round := 1; round <= why.LeastRounds; round++ {
		lock := why.Profile{Arm: t.Arms[0], Round: round, Concurrency: t.Design.Levels[0], Operations: 1000, Samples: 500, Lost: 1, CPU: 30 * time.Millisecond, Response: 300 * time.Millisecond}
		lock.Work = []why.Work{{Function: "orders/cmd/orders.(*Service).add", Time: lock.CPU * 9 / 10}, {Kind: "garbage collection", Function: "runtime.scanobject", Time: lock.CPU / 10}}
		queue := lock
		queue.Arm, queue.Work = t.Arms[1], lock.Work
		for _, w := range of {
			w.Time = w.Time*1000 + time.Duration(round)
			queue.CPU += w.Time
			queue.Work = append(queue.Work[:len(queue.Work):len(queue.Work)], w)
			of := why.Library
			if w.Kind == "" {
				of = why.Own
			}
			queue.Functions = append(queue.Functions, why.Function{Name: w.Function, Time: w.Time, Of: of})
		}
		if queue.Response = queue.Response * queue.CPU / lock.CPU; wait > 0 {
			queue.Response += 1000 * wait
			queue.Blocked = []why.Blocked{{Call: "fsync", Time: 900 * wait}}
		}
		diagnosis.Profiles = append(diagnosis.Profiles, lock, queue)
	}
	t.Why = diagnosis
	d.Derive()
	return d
}

// costly costs more in some kinds of work and in functions of its own, one of whose names is hostile.
func costly() *report.Document {
	work := []why.Work{
		{Kind: "scheduler", Function: "runtime.gopark", Time: 120}, {Kind: "scheduler", Function: "runtime.schedule", Time: 70},
		{Kind: "channels", Function: "runtime.chanrecv", Time: 80},
		{Kind: "hashing", Function: "crypto/internal/fips140/sha256.blockSHANI", Time: 300},
		{Function: "\x1b[31mred<script>|", Time: 190},
	}
	for i := range 8 {
		work = append(work, why.Work{Function: fmt.Sprintf("orders/queue.step%d", i), Time: time.Duration(180 - i)})
	}
	d := diagnosed(oneLevel(20), 0, work...)
	d.Trials[0].Why.Profiles = packaged(allocated(offCPU(d.Trials[0].Why.Profiles)))
	d.Trials[0].Why.Calls = []why.Call{
		{Function: "all", PerOp: []float64{30_900, 32_000}}, {Function: "runtime.goexit", Depth: 1, PerOp: []float64{30_900, 32_000}},
		{Function: "net/http.(*conn).serve", Depth: 2, PerOp: []float64{28_000, 30_000}},
		{Function: "orders/cmd/orders.(*Service).add", Depth: 3, PerOp: []float64{27_000, 24_000}}, {Function: "\x1b[31mred<script>|", Depth: 3, PerOp: []float64{0, 5000}},
		{Function: "sha256.block", Depth: 2, PerOp: []float64{2000, 2000}}, {Function: "only/of.mutex", Depth: 2, PerOp: []float64{900, 0}},
	}
	d.Trials[0].Why.OwnCalls = []why.Call{
		{Function: "all", PerOp: []float64{30_900, 32_000}}, {Function: "orders/cmd/orders.(*Service).add", Depth: 1, PerOp: []float64{27_000, 28_000}},
		{Function: "orders/queue.step0", Depth: 2, PerOp: []float64{0, 180}}, {Function: "encoding/json.Marshal", Depth: 3, PerOp: []float64{0, 120}},
		{Function: "\x1b[31mred<script>|", Depth: 2, PerOp: []float64{0, 190}},
	}
	d.Derive()
	return d
}

// packaged adds packages: what the program calls for hashing calls nothing else.
func packaged(profiles []why.Profile) []why.Profile {
	for i := range profiles {
		p := &profiles[i]
		p.Packages = []why.Package{{Name: "orders/cmd/orders", Time: p.CPU, Alone: 27 * time.Millisecond}}
		if p.Arm == "inputq" {
			p.Packages = append(p.Packages, why.Package{Name: "sha256", Time: 300 * time.Microsecond, Alone: 300 * time.Microsecond},
				why.Package{Name: "\x1b[31mred<script>|", Time: 490 * time.Microsecond, Alone: 190 * time.Microsecond})
		}
	}
	return profiles
}

// allocated adds snapshots: lock allocates 5 kB in 40 objects an operation, queue 1.2 kB and 14 objects more, most
// of it in a function of a library; its locks have mutex profiles, and one with a hostile name waits longer.
func allocated(profiles []why.Profile) []why.Profile {
	for i := range profiles {
		p := &profiles[i]
		s := why.Snapshots{Operations: 500, PerSec: 2000, Bytes: 2_500_000, Objects: 20_000,
			Allocations: []why.Allocation{{Function: "net/http.(*conn).readRequest", Bytes: 2_500_000, Objects: 20_000}},
			Held:        []gotrace.Wait{{Place: gotrace.Place{For: gotrace.Lock, Function: "\x1b[31mred<script>|"}, Goroutines: 0.1}}}
		if p.Arm == "inputq" {
			s.Bytes, s.Objects = s.Bytes+600_000+int64(p.Round), s.Objects+7000
			s.Allocations = append(s.Allocations, why.Allocation{Function: "encoding/json.Marshal", Bytes: 450_000 + int64(p.Round), Objects: 5000},
				why.Allocation{Function: "orders/\x1b[31mred<script>|", Bytes: 150_000, Objects: 2000})
			s.Held[0].Goroutines = 0.5 + float64(p.Round)/100
		}
		p.Snapshots = &s
	}
	return profiles
}

// offCPU adds what the kernel counted of the threads: those of queue wait for cores for 14 µs more
// an operation, give theirs up twice more, and touch a page less in 100; others differ by nothing or too little.
func offCPU(profiles []why.Profile) []why.Profile {
	for i := range profiles {
		p := &profiles[i]
		p.Elapsed, p.MemoryPressure, p.DiskPressure = 500*time.Millisecond, 4*time.Millisecond, 10*time.Millisecond
		p.Ready, p.VoluntarySwitches, p.InvoluntarySwitches, p.MinorFaults = 3*time.Millisecond, 1000, 50, 20
		if p.Arm == "inputq" {
			p.Ready, p.VoluntarySwitches, p.MinorFaults = 17*time.Millisecond, 3000, 10
		}
	}
	return profiles
}

// waiting waits for a disk, with the same work.
func waiting() *report.Document { return diagnosed(oneLevel(20), 2*time.Millisecond) }

// mixed hashes more, and does as much more in one round as less in the next for reasons of its own. It has no
// frame pointers in most of its code.
func mixed() *report.Document {
	d := diagnosed(oneLevel(20), 0, why.Work{Kind: "hashing", Function: "crypto/internal/fips140/sha256.blockSHANI", Time: 300}, why.Work{Kind: "maps", Function: "std::_Rb_tree<" + strings.Repeat("x", 60) + ">::find", Time: 40})
	for i := range d.Trials[0].Why.Profiles {
		p := &d.Trials[0].Why.Profiles[i]
		if p.Response = 300 * time.Millisecond; p.Arm == "inputq" {
			more := time.Duration(1-p.Round%2*2) * 4 * time.Millisecond
			p.CPU, p.Work = p.CPU+more, append(p.Work, why.Work{Function: "orders/queue.(*Ring[go.shape.int64]).put", Time: 5*time.Millisecond + more},
				why.Work{Kind: "hashing", Function: "crypto/sha256.Sum256", Time: time.Microsecond})
		}
	}
	d.Trials[0].Why.Calls = []why.Call{{Function: "all", PerOp: []float64{30_000, 35_000}}, {Function: "[unknown]", Depth: 1, PerOp: []float64{3000, 28_000}},
		{Function: "start_thread", Depth: 1, PerOp: []float64{27_000, 7000}}}
	d.Derive()
	return d
}

// traced waits for a lock while it waits for a disk, which execution traces of both show, and
// so does a processor; idle workers are no fewer.
func traced() *report.Document {
	d := waiting()
	t := d.Trials[0].Why
	t.TraceOverhead = 0.042
	for i := range t.Profiles {
		p := &t.Profiles[i]
		more := 0.0
		if i%2 == 1 {
			more = 0.5 + float64(i)/100
		}
		p.Traced = &why.Traced{PerSec: 3000 - 1000*more, Processors: 4 - i%2*3, Waits: []gotrace.Wait{
			{Place: gotrace.Place{For: gotrace.Receive, Function: "orders/queue.(*Pool).work"}, Goroutines: 8 - more},
			{Place: gotrace.Place{For: gotrace.Lock, Function: "orders/cmd/orders.(*Service).add"}, Goroutines: 2 + 2*more},
			{Place: gotrace.Place{For: gotrace.SystemCall, Function: "orders/cmd/orders.(*Service).add", Through: "os.(*File).Sync"}, Goroutines: 0.25 + more},
			{Place: gotrace.Place{For: gotrace.Sleep, Function: "\x1b[31mred<script>|"}, Goroutines: 0.1 + more/10},
			{Place: gotrace.Place{For: gotrace.Processor}, Goroutines: 0.1 + more/3},
		}}
	}
	d.Derive()
	return d
}

// untraced waits, and its servers of Go have no pages of net/http/pprof.
func untraced() *report.Document {
	d := waiting()
	t := d.Trials[0].Why
	for i := range t.Profiles {
		t.Profiles[i].Functions = append(t.Profiles[i].Functions, why.Function{Name: "runtime.mcall", Time: time.Millisecond})
	}
	for _, arm := range d.Trials[0].Arms {
		t.WithoutSnapshots = append(t.WithoutSnapshots, trial.Silent{Arm: arm, Reason: "the mutex profile is broken"})
		t.Untraced = append(t.Untraced, trial.Silent{Arm: arm, Reason: `http://127.0.0.1:8081/debug/pprof/ answers 404: import _ "net/http/pprof" in a program in Go, or give --pprof URL`})
	}
	d.Derive()
	return d
}

// unsampled could not be sampled.
func unsampled() *report.Document {
	d := oneLevel(20)
	d.Trials[0].Why = &trial.Diagnosis{Missing: []string{"samples are not allowed: kernel.perf_event_paranoid is 3: set it to 2"}}
	d.Derive()
	return d
}

// failed has a server that died while it was sampled.
func failed() *report.Document {
	d := oneLevel(20)
	d.Trials[0].Why = &trial.Diagnosis{Failed: "inputq: its process died: exited on its own: exit status 7; end of its stderr:\n\tno more \x1b[31mlicences",
		Failures: []failure.Failure{ended("inputq", true, 7, "no more \x1b[31mlicences")}}
	d.Derive()
	return d
}

// executed has functions that execute more, in no more time: one with most of it in a library, and a hostile one of little.
func executed() *report.Document {
	d := diagnosed(oneLevel(20), 0)
	d.Trials[0].Why.Instructions = []why.Instructions{{Arm: "inputq", Tool: "valgrind-3.19.0\x1b[31m", Baseline: 262_650, Candidate: 266_361, Differ: []why.Executed{
		{Function: "orders/cmd/orders.(*Service).add", Of: why.Own, Baseline: 13_525, Candidate: 14_415}, {Function: "strings.EqualFold", Candidate: 2820},
		{Function: "\x1b[31mred<script>|", Of: why.Own, Baseline: 200, Candidate: 400}}}}
	d.Trials[0].Why.Calls = []why.Call{{Function: "all", PerOp: []float64{30_000, 30_000}}, {Function: "orders/cmd/orders.(*Service).add", Depth: 1, PerOp: []float64{27_000, 27_000}},
		{Function: "strings.EqualFold", Depth: 2, PerOp: []float64{0, 100}}}
	d.Derive()
	return d
}

// same executes the same, and uncounted was to be counted.
func same() *report.Document {
	d := diagnosed(oneLevel(20), 0)
	d.Trials[0].Why.Instructions = []why.Instructions{{Arm: "inputq", Tool: "valgrind-3.19.0", Baseline: 262_650, Candidate: 262_651, Same: true}}
	d.Derive()
	return d
}

func uncounted() *report.Document {
	d := diagnosed(oneLevel(20), 0)
	d.Trials[0].Why.Calls = []why.Call{{Function: "all", PerOp: []float64{30_000, 30_000}}, {Function: "[unknown]", Depth: 1, PerOp: []float64{3000, 24_000}}}
	d.Trials[0].Why.Uncounted = "counting instructions requires \x1b[31mvalgrind, which is not installed"
	d.Derive()
	return d
}

// What counting showed is on the page, or why it failed.
func TestWhyCounted(t *testing.T) {
	for _, tt := range []struct {
		d    *report.Document
		want []string
	}{
		{executed(), []string{"but the instructions differ:", "in orders.(*Service).add: +3,710 instructions (+1.41%); most of it strings.EqualFold",
			"red<script>|: +200 instructions (+0.0761%)", "Instructions were counted exactly under valgrind-3.19.0", "; they are not time"}},
		{same(), []string{"or waiting, and none in instructions", "Both execute the same instructions per op, within ±0.05%, counted under valgrind-3.19.0"}},
		{uncounted(), []string{"Instructions were not counted: counting instructions requires", "valgrind, which is not installed",
			"Callers unknown for 80% of the CPU time of inputq: build with -fno-omit-frame-pointer"}},
	} {
		var b bytes.Buffer
		if err := tt.d.Screen(&b, report.Look{}); err != nil {
			t.Fatal(err)
		}
		page := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range tt.want {
			if !strings.Contains(page, want) {
				t.Errorf("no %q in\n%s", want, b.String())
			}
		}
	}
}

// untold has too few rounds in which both arms answered.
func untold() *report.Document {
	d := costly()
	d.Trials[0].Why.Profiles = d.Trials[0].Why.Profiles[:2*why.LeastRounds-1]
	d.Derive()
	return d
}

// If fewer goroutines of a program can run, the page says so once, whether or not waiting clearly differs.
func TestFewerProcessors(t *testing.T) {
	for name, d := range map[string]*report.Document{"it waits": waiting(), "it works": costly(), "a row says it": traced()} {
		for i := range d.Trials[0].Why.Profiles {
			if p := &d.Trials[0].Why.Profiles[i]; p.Traced == nil {
				p.Traced = &why.Traced{PerSec: 3000, Processors: 4 - i%2*3}
			}
		}
		d.Derive()
		for _, full := range []bool{false, true} {
			var b bytes.Buffer
			write := func(w io.Writer) error { return d.Screen(w, report.Look{}) }
			if full {
				write = d.Text
			}
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			want := 1
			if full && name == "a row says it" {
				want = 2 // of the page, and of the table
			}
			if n := strings.Count(b.String(), "GOMAXPROCS is 1 in inputq, 4 in mutex"); n != want {
				t.Errorf("%s, full %v: it is said %d times:\n%s", name, full, n, &b)
			}
		}
	}
}

// A runtime hides whose functions it runs unless it is started so, and the page says how.
func TestRuntimesHideFunctions(t *testing.T) {
	for _, tt := range []struct {
		files []string
		want  string
	}{
		{[]string{"libc.so.6", "node"}, "Functions that node runs are unknown: start node --perf-basic-prof"},
		{[]string{"python3.11"}, "Functions that Python runs are unknown: start python3 -X perf"},
		{[]string{"libpython3.12.so.1.0"}, "Functions that Python runs are unknown: start python3 -X perf"},
		{[]string{"libjvm.so"}, "Functions that Java runs are unknown: start java with an agent"},
		{[]string{"node_exporter"}, ""},
		{[]string{"node", "[jit]"}, ""}, // what it compiles has names
	} {
		d := diagnosed(oneLevel(20), 0, why.Work{Function: "handle", Time: 3 * time.Microsecond})
		p := &d.Trials[0].Why.Profiles[1]
		for _, file := range tt.files {
			p.Packages = append(p.Packages, why.Package{Name: file, Time: p.CPU})
		}
		if text := rendered(t, d.Text); tt.want != "" && !strings.Contains(text, tt.want) || tt.want == "" && strings.Contains(text, "are unknown: start") {
			t.Errorf("%v: %q is missing, or should be:\n%s", tt.files, tt.want, text)
		}
	}
}

// If the functions that explain a difference are all that it is spent on, a page does not list them twice.
func TestRowsDoNotRepeatRoots(t *testing.T) {
	d := costly()
	e := &d.Trials[0].Why.Explanations[0]
	root := e.Roots[0].Row
	e.Alike, e.Roots = why.Row{}, e.Roots[:1]
	for want, rows := range map[bool][]why.Row{false: {root}, true: {root, {Name: "hashing", Shift: root.Shift}}} {
		e.Rows = rows
		if text := rendered(t, func(w io.Writer) error { return d.Screen(w, report.Look{}) }); strings.Contains(text, "everything else") != want {
			t.Errorf("%d rows:\n%s", len(rows), text)
		}
	}
}

// Where nothing clearly differs, the page names those of the program's own functions whose machine code does.
func TestOnlyTheCodeDiffers(t *testing.T) {
	d := diagnosed(oneLevel(20), 0)
	diagnosis := d.Trials[0].Why
	for i := range diagnosis.Profiles {
		p := &diagnosis.Profiles[i]
		p.Functions = []why.Function{{Name: "orders/cmd/orders.(*Service).add", Time: p.CPU / 2, Of: why.Own}, {Name: "orders/cmd/orders.list", Time: p.CPU / 3, Of: why.Own}}
	}
	const want = "the cause is too small for these rounds; of your functions the code of orders.(*Service).add alone differs"
	for changed, shown := range map[string]bool{"orders/cmd/orders.(*Service).add": true, "runtime.lock": false} {
		diagnosis.Changed = []string{changed}
		d.Derive()
		if page := strings.Join(strings.Fields(screenOf(t, d)), " "); strings.Contains(page, want) != shown {
			t.Errorf("%s changed: %q", changed, page)
		}
	}
}
