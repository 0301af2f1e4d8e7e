package trial

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/internal/perf"
	"contend/load"
	"contend/metric"
	"contend/probe"
	"contend/stat"
)

// A costly arm executes so many instructions for each answer, and 100 events of any
// other kind.
type costly struct {
	instructions uint64
	answered     atomic.Uint64
	open, opened int          // counters
	timed        atomic.Int64 // answers while no counter was open
	lacks        perf.Event   // the machine has no counter for it
}

func (c *costly) arm(name string) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		return &Live{Address: name, Counters: c.count, Target: load.Func(func(context.Context) (load.Outcome, error) {
			time.Sleep(time.Millisecond)
			c.answered.Add(1)
			if c.open == 0 {
				c.timed.Add(1)
			}
			return load.Outcome{}, nil
		})}, nil
	}}
}

func (c *costly) count(events ...perf.Event) (Counters, error) {
	if slices.Contains(events, c.lacks) {
		return nil, &perf.UnavailableError{Event: c.lacks, Reason: "perf_event_paranoid is 3", Advice: "sysctl kernel.perf_event_paranoid=2"}
	}
	c.open++
	c.opened++
	return &costlyCounters{costly: c, events: events}, nil
}

type costlyCounters struct {
	*costly
	events []perf.Event
	from   uint64
}

func (c *costlyCounters) Start() error { c.from = c.answered.Load(); return nil }
func (c *costlyCounters) Close() error { c.open--; return nil }

func (c *costlyCounters) Stop() (perf.Counts, error) {
	counts := perf.Counts{}
	for _, e := range c.events {
		counts[e] = 100 * (c.answered.Load() - c.from)
		if e == perf.Instructions {
			counts[e] = c.instructions * (c.answered.Load() - c.from)
		}
	}
	return counts, nil
}

// 30,300 ÷ 30,000 = 1.01: beyond the margin of 0.5% of counted events, while the
// throughputs are the same within 2%.
func TestEventsAreCountedInBlocksOfTheirOwn(t *testing.T) {
	d := design()
	d.Rounds, d.Pairs, d.Margin, d.Metrics = 8, 4, nil, []metric.Name{metric.Throughput, metric.ServerInstructions, "server_cycles_per_op"}
	a, b := &costly{instructions: 30_000}, &costly{instructions: 30_300}
	trials := compareInBubble(t, d, a.arm("a"), b.arm("b"))
	for i, want := range []struct {
		metric  metric.Name
		ratio   float64
		verdict stat.Verdict
	}{
		{metric.Throughput, 1, stat.Equivalent},
		{metric.ServerInstructions, 1.01, stat.More},
		{"server_cycles_per_op", 1, stat.Equivalent},
	} {
		c := trials.Comparisons[i]
		if c.Metric != want.metric || math.Abs(c.Ratio-want.ratio) > 1e-9 || c.Verdict != want.verdict {
			t.Errorf("comparison %d is %s %s with ratio %v, want %s %s with %v", i, c.Metric, c.Verdict, c.Ratio, want.metric, want.verdict, want.ratio)
		}
	}
	counted := 0
	for _, block := range trials.Blocks {
		if block.Counted == nil {
			continue
		}
		counted++
		if block.Completed != 0 || block.Throughput() != 0 {
			t.Errorf("time was taken in a block in which events were counted: %+v", block)
		}
	}
	if want := trials.roundsDone() * countedPairs * 2; counted != want {
		t.Errorf("%d blocks counted, want %d", counted, want)
	}
	if sum, _ := trials.Result("a", 4); sum.Completed > a.timed.Load() {
		t.Errorf("%d answers were timed, but only %d came while nothing was counted", sum.Completed, a.timed.Load())
	}
	if a.open != 0 || b.open != 0 {
		t.Errorf("%d and %d counters were left open", a.open, b.open)
	}
	again := reread(t, trials)
	if !reflect.DeepEqual(again.Comparisons, trials.Comparisons) {
		t.Errorf("from the document: %+v\nwant %+v", again.Comparisons, trials.Comparisons)
	}
}

func reread(t *testing.T, trials *Trials) *Trials {
	t.Helper()
	text, err := json.Marshal(trials)
	if err != nil {
		t.Fatal(err)
	}
	again := &Trials{}
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	again.Derive()
	return again
}

func TestCountedPrimaryMetricTakesNoTime(t *testing.T) {
	d := design()
	d.Margin, d.Metrics = nil, []metric.Name{metric.ServerInstructions}
	a, b := &costly{instructions: 1000}, &costly{instructions: 1000}
	trials := compareInBubble(t, d, a.arm("a"), b.arm("b"))
	if a.opened != d.Rounds || a.open != 0 {
		t.Errorf("counters were opened %d times and %d are open, want once for each of %d rounds and none", a.opened, a.open, d.Rounds)
	}
	for _, block := range trials.Blocks {
		if block.Counted == nil || len(block.Counted.Events) != 1 {
			t.Errorf("block %+v, want one in which only instructions are counted", block)
		}
	}
	if c := trials.Comparisons[0]; c.Verdict != stat.Equivalent || c.Reason != nil {
		t.Errorf("verdict is %s (%v), want EQUIVALENT", c.Verdict, c.Reason)
	}
	if c, _ := trials.Result("a", 4); len(c.Warnings) > 0 {
		t.Errorf("warnings about times that were not taken: %v", c.Warnings)
	}
}

// How many instructions an answer takes depends neither on the machine's speed
// nor on a change of the throughput, which is longer here than the warm-up.
func TestCountingNeedsNoSteadyMachine(t *testing.T) {
	for _, test := range []struct {
		metric metric.Name
		timed  bool
	}{{metric.Throughput, true}, {metric.ServerInstructions, false}} {
		d := design()
		d.Rounds, d.Warmup, d.Metrics = 1, 100*time.Millisecond, []metric.Name{test.metric}
		looks := 0
		d.Probe = func() probe.Sample { looks++; return probe.Sample{} }
		settling := starting("a", 2200*time.Millisecond)
		counted := Arm{Name: "a", Start: func(ctx context.Context, s Setup) (*Live, error) {
			live, err := settling.Start(ctx, s)
			live.Counters = (&costly{instructions: 1000}).count
			return live, err
		}}
		trials := compareInBubble(t, d, counted, (&costly{instructions: 1000}).arm("b"))
		for _, w := range trials.Warmups {
			if longer := w.Duration > d.Warmup; longer != (test.timed && w.Arm == "a") || w.Steady == longer {
				t.Errorf("%s: %s warmed up for %v, steady %v", test.metric, w.Arm, w.Duration, w.Steady)
			}
		}
		if (looks > 0) != test.timed {
			t.Errorf("%s: the machine was looked at %d times", test.metric, looks)
		}
	}
}

func TestEventsOfEachSet(t *testing.T) {
	for _, test := range []struct {
		metrics []metric.Name
		sets    [][]perf.Event
		only    bool
	}{
		{[]metric.Name{metric.Throughput}, nil, false},
		{[]metric.Name{metric.Throughput, metric.ServerInstructions}, turns, false},
		{[]metric.Name{metric.Throughput, "server_cache_misses_per_op"}, [][]perf.Event{{perf.CacheMisses}}, false},
		{[]metric.Name{metric.ServerInstructions}, [][]perf.Event{{perf.Instructions}}, true},
		{[]metric.Name{metric.ServerInstructions, "server_cycles_per_op", metric.Throughput},
			[][]perf.Event{{perf.Instructions, perf.Cycles}}, true},
		{[]metric.Name{"server_branch_misses_per_op", "server_cycles_per_op", "server_kernel_cycles_per_op", "server_page_faults_per_op", metric.ServerInstructions},
			[][]perf.Event{{perf.BranchMisses, perf.Cycles, perf.KernelCycles, perf.PageFaults}, {perf.Instructions}}, true},
	} {
		if c := (Design{Metrics: test.metrics}).counting(); !reflect.DeepEqual(c.sets, test.sets) || c.only != test.only {
			t.Errorf("%v: got %v, %v, want %v, %v", test.metrics, c.sets, c.only, test.sets, test.only)
		}
	}
}

func TestWhatCannotBeCountedIsAbsentWithTheReason(t *testing.T) {
	d := design()
	d.Metrics = []metric.Name{metric.Throughput, metric.ServerInstructions}
	trials := compareInBubble(t, d, (&costly{}).arm("a"), (&costly{lacks: perf.Instructions}).arm("b"))
	if len(trials.Comparisons) != 1 || trials.Comparisons[0].Metric != metric.Throughput {
		t.Errorf("comparisons %+v, want that of the throughput", trials.Comparisons)
	}
	i := slices.IndexFunc(trials.Comparisons[0].Warnings, func(w finding.Warning) bool { return w.Is(finding.NotCounted) })
	if i < 0 || !strings.Contains(trials.Comparisons[0].Warnings[i].Text, "perf_event_paranoid") {
		t.Errorf("warnings %v do not say why", trials.Comparisons[0].Warnings)
	}
	d.Metrics = []metric.Name{metric.ServerInstructions}
	synctest.Test(t, func(t *testing.T) {
		_, err := Compare(t.Context(), []Arm{(&costly{}).arm("a"), (&costly{lacks: perf.Instructions}).arm("b")}, load.Plan{VUs: 4}, d, nil)
		if unavailable := (*perf.UnavailableError)(nil); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "b: ") {
			t.Errorf("error is %v, want one that names arm b and says why", err)
		}
	})
}

// A machine that counts page faults and no instructions says so, and counts those.
func TestWhatCanBeCountedIs(t *testing.T) {
	d := design()
	d.Rounds, d.Metrics = 9, []metric.Name{metric.Throughput, metric.ServerInstructions, "server_page_faults_per_op"}
	trials := compareInBubble(t, d, (&costly{lacks: perf.Instructions}).arm("a"), (&costly{lacks: perf.Instructions}).arm("b"))
	if len(trials.Comparisons) != 2 || trials.Comparisons[1].Metric != "server_page_faults_per_op" || trials.Comparisons[1].BaselineValue != 100 {
		t.Errorf("comparisons %+v, want also one of 100 page faults", trials.Comparisons)
	}
	if !finding.NotCounted.In(trials.Comparisons[0].Warnings) {
		t.Errorf("warnings %v do not say what was not counted", trials.Comparisons[0].Warnings)
	}
}

// The last stretch of blocks in which time is taken is followed by a look at the
// machine, also in the round that shows that nothing can be counted: 2 in each of 6.
func TestLooksAroundWhatIsTimed(t *testing.T) {
	d := design()
	d.Metrics = []metric.Name{metric.Throughput, "server_page_faults_per_op"}
	d.Probe = func() probe.Sample { return probe.Sample{} }
	trials := compareInBubble(t, d, (&costly{lacks: perf.PageFaults}).arm("a"), (&costly{lacks: perf.PageFaults}).arm("b"))
	if len(trials.Probes) != 12 {
		t.Errorf("%d looks at the machine, want 12", len(trials.Probes))
	}
}

// One answer in seven is wrong while events are counted.
func TestWrongAnswersRefuseCounts(t *testing.T) {
	var n atomic.Int64
	wrong := Arm{Name: "b", Start: func(context.Context, Setup) (*Live, error) {
		return &Live{Address: "b", Counters: (&costly{}).count, Target: load.Func(func(context.Context) (load.Outcome, error) {
			time.Sleep(time.Millisecond)
			return load.Outcome{Failed: n.Add(1)%7 == 0}, nil
		})}, nil
	}}
	d := design()
	d.Metrics, d.MaxErrors = []metric.Name{metric.ServerInstructions}, 0.001
	trials := compareInBubble(t, d, (&costly{instructions: 1}).arm("a"), wrong)
	if c := trials.Comparisons[0]; c.Verdict != stat.Invalid || !c.Reason.Is(finding.Errors) || c.Reason.Arm != "b" {
		t.Errorf("verdict is %s (%v), want INVALID for errors of b", c.Verdict, c.Reason)
	}
}

// 2 × 0.75 × 1 = 1.5: twice the instructions at three quarters of the cycles each,
// with the same time per cycle.
func TestFactorsOfCPUTime(t *testing.T) {
	var trials Trials
	trials.Arms = []string{"a", "b"}
	trials.Design = Design{Levels: []int{4}, Metrics: []metric.Name{metric.ServerCPUPerOp}, Confidence: 0.95}
	for round := 1; round <= 8; round++ {
		for _, arm := range []struct {
			name                 string
			cpu                  float64
			instructions, cycles uint64
		}{{"a", 1, 1000, 2000}, {"b", 1.5, 2000, 3000}} {
			r := &load.Result{Concurrency: 4, Duration: time.Second, Counts: load.NewCounts()}
			r.Planned, r.Completed, r.Ops = 1000, 1000, 1000
			r.Server = &load.Usage{CPUSec: arm.cpu * (1 + float64(round)/1000)}
			r.Counted = &load.Counted{Planned: 10, Completed: 10, Ops: 10, Events: map[perf.Event]load.Events{
				perf.Instructions: {Count: arm.instructions / 2, Ops: 10}, perf.KernelInstructions: {Count: arm.instructions / 2, Ops: 10},
				perf.Cycles: {Count: arm.cycles / 4, Ops: 10}, perf.KernelCycles: {Count: arm.cycles * 3 / 4, Ops: 10},
			}}
			trials.Rounds = append(trials.Rounds, Cell{Arm: arm.name, Round: round, Result: r})
		}
	}
	trials.Derive()
	f := trials.Comparisons[0].Factors
	if f == nil {
		t.Fatal("no factors")
	}
	for _, factor := range []struct {
		name string
		got  stat.Effect
		want float64
	}{{"instructions", f.Instructions, 2}, {"cycles per instruction", f.CyclesPerInstruction, 0.75}, {"time per cycle", f.TimePerCycle, 1}} {
		if math.Abs(factor.got.Ratio-factor.want) > 1e-9 {
			t.Errorf("%s: ratio %v, want %v", factor.name, factor.got.Ratio, factor.want)
		}
	}
	for i := range trials.Rounds {
		delete(trials.Rounds[i].Counted.Events, perf.KernelCycles)
	}
	if trials.Derive(); trials.Comparisons[0].Factors != nil {
		t.Error("factors without the kernel's part")
	}
}
