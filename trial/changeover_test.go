package trial

import (
	"context"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/metric"
	"contend/pace"
	"contend/stat"
)

const µs = time.Microsecond

// asked is a target whose generator needs some time for each iteration on top of the wait
// for its answer.
type asked struct {
	load.Func
	service, own time.Duration
	ownOpen      time.Duration // in the open model
	late         time.Duration // in the open model, how long an iteration that is due takes to start
	counts       *costly       // nil: nothing can be counted
}

func (t asked) Loops(int) (int, string) { return 1, "" }

func (t asked) NewLoop(context.Context, load.LoopPart) (load.Loop, error) { return t, nil }

func (asked) Close() error { return nil }

// Drive serves one VU after another, each in its turn. In fake time most of a sleep's cost is what it
// takes to leave the thread of a loop, so that is given back.
func (t asked) Drive(ctx context.Context, s *load.Shard) error {
	runtime.UnlockOSThread()
	own, late := t.own, time.Duration(0)
	if s.Model() == load.OpenModel {
		own, late = t.ownOpen, t.late
	}
	free := make([]time.Duration, s.VUs())
	for turn := 0; ctx.Err() == nil; turn++ {
		it, ok := s.Next(turn%s.VUs(), free[0])
		if !ok {
			return nil
		}
		time.Sleep(it.Due - s.Elapsed() + late)
		if !s.Begin(&it, s.Elapsed()) {
			return nil
		}
		time.Sleep(t.service)
		end := s.Elapsed()
		s.Finish(&it, end, &load.Outcome{Status: 200}, nil)
		if t.counts != nil {
			t.counts.answered.Add(1)
		}
		time.Sleep(own)
		free = append(free[1:], end)
	}
	return nil
}

func (t asked) arm(name string) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		live := &Live{Address: name, Target: t}
		if t.counts != nil {
			live.Counters = t.counts.count
		}
		return live, nil
	}}
}

// changing is a design that changes over, with all that a pacer decides among its metrics.
func changing() Design {
	d := design()
	d.Rounds, d.Pairs, d.Block, d.Levels, d.ChangesOver = 8, 2, 300*time.Millisecond, []int{1}, true
	d.Metrics = []metric.Name{metric.Throughput, metric.WallPerOp, "bytes_in_per_s", "service_mean_ns"}
	return d
}

func metricsOf(list []Comparison) []metric.Name {
	var names []metric.Name
	for _, c := range list {
		names = append(names, c.Metric)
	}
	return names
}

// 0.9 ms of the 1 ms of an iteration of a, and of the 1.05 ms of one of b, are the generator's: 1000/s
// and 952/s, whatever the server could do. 70% of 952.4 are 667, and as a block has 190 iterations, 3
// less. There b answers in 150 µs and a in 100 µs.
func TestGeneratorAtItsLimitChangesOver(t *testing.T) {
	a, b := asked{service: 100 * µs, own: 900 * µs}, asked{service: 150 * µs, own: 900 * µs}
	trials := compareInBubble(t, changing(), a.arm("a"), b.arm("b"))
	if len(trials.ChangedOver) != 1 || trials.roundsDone() != 1 {
		t.Fatalf("%d change-overs after %d rounds, want 1 after 1", len(trials.ChangedOver), trials.roundsDone())
	}
	o := trials.ChangedOver[0]
	if math.Abs(o.LimitPerSec-952.4) > 5 || math.Abs(o.RatePerSec-667) > 3.5 || !o.Reason.Is(finding.GeneratorSaturated) || o.Reason.Arm != "a" {
		t.Errorf("%+v", o.AtRate)
	}
	if want := []metric.Name{metric.ResponseP50, "response_p90_ns", "service_mean_ns"}; !slices.Equal(metricsOf(trials.Comparisons), want) {
		t.Errorf("metrics %v, want %v: p99 has 4 samples a round, and the pacer decides the rest", metricsOf(trials.Comparisons), want)
	}
	for _, c := range trials.Comparisons {
		if c.ChangedOver == nil || *c.ChangedOver != o.AtRate || c.Rounds != 8 || math.Abs(c.Ratio-1.5) > 0.01 {
			t.Errorf("%s over %d rounds: ratio %v, changed over %+v", c.Metric, c.Rounds, c.Ratio, c.ChangedOver)
		}
	}
	if c := trials.Comparisons[0]; !c.Primary || c.Verdict != stat.Slower {
		t.Errorf("primary %v: %s (%v), want SLOWER", c.Primary, c.Verdict, c.Reason)
	}
	for _, c := range o.Trials.Results {
		if math.Abs(c.ThroughputPerSec-o.RatePerSec) > 3.5 || c.Concurrency != 1 {
			t.Errorf("%s at %d VUs: %v/s, want %v/s", c.Arm, c.Concurrency, c.ThroughputPerSec, o.RatePerSec)
		}
	}
}

// The generator needs nothing in two rounds and 0.9 of 1 ms in all later ones: in k later
// rounds it waited 1.2 + 0.06·k of 1.2 + 0.6·k seconds, which is less than half of it if k
// is 3 or more.
func TestGeneratorThatComesToItsLimitChangesOver(t *testing.T) {
	arm := func(name string) Arm {
		rounds := 0
		return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
			rounds++
			target := asked{service: 100 * µs}
			if rounds > 2 {
				target.own = 900 * µs
			}
			return &Live{Address: name, Target: target}, nil
		}}
	}
	trials := compareInBubble(t, changing(), arm("a"), arm("b"))
	if len(trials.ChangedOver) != 1 || trials.roundsDone() != 5 {
		t.Errorf("changed over %+v after %d rounds, want once after 5", trials.ChangedOver, trials.roundsDone())
	}
}

// Where the generator needs 1.7 ms for each arrival 70% of the limit are too much, and a
// third less, 444/s or one in 2.25 ms, is held; where it needs 100 ms nothing is.
func TestRateIsLoweredUntilItHolds(t *testing.T) {
	slower := asked{service: 100 * µs, own: 900 * µs, ownOpen: 1700 * µs}
	trials := compareInBubble(t, changing(), slower.arm("a"), slower.arm("b"))
	if len(trials.ChangedOver) != 1 || math.Abs(trials.ChangedOver[0].RatePerSec-467) > 1 || trials.Comparisons[0].Verdict != stat.Equivalent {
		t.Errorf("changed over %+v: %s (%v)", trials.ChangedOver, trials.Comparisons[0].Verdict, trials.Comparisons[0].Reason)
	}
	slower.ownOpen = 100 * time.Millisecond
	trials = compareInBubble(t, changing(), slower.arm("a"), slower.arm("b"))
	if c := trials.Comparisons[0]; trials.ChangedOver != nil || !c.Reason.Is(finding.GeneratorSaturated) {
		t.Errorf("changed over %+v: %s (%v), want INVALID as it was", trials.ChangedOver, c.Verdict, c.Reason)
	}
}

// 30,300 ÷ 30,000 = 1.01 is beyond the 0.5% of counted events. The times are taken as well,
// in blocks of their own.
func TestInstructionsDecideWhereTheyAreCounted(t *testing.T) {
	d := changing()
	d.Margin, d.Metrics = nil, []metric.Name{metric.Throughput, metric.ServerInstructions}
	a := asked{service: 100 * µs, own: 900 * µs, counts: &costly{instructions: 30_000}}
	b := asked{service: 100 * µs, own: 900 * µs, counts: &costly{instructions: 30_300}}
	trials := compareInBubble(t, d, a.arm("a"), b.arm("b"))
	if want := []metric.Name{metric.ServerInstructions, metric.ResponseP50, "response_p90_ns"}; !slices.Equal(metricsOf(trials.Comparisons), want) {
		t.Fatalf("metrics %v, want %v", metricsOf(trials.Comparisons), want)
	}
	for i, want := range []stat.Verdict{stat.More, stat.Equivalent, stat.Equivalent} {
		if c := trials.Comparisons[i]; c.Verdict != want {
			t.Errorf("%s: %s with %v (%v), want %s", c.Metric, c.Verdict, c.Ratio, c.Reason, want)
		}
	}
}

// Late starts spoil the times and not what was counted: where every rate has them the last
// one, 1000/s · 0.7 · (2/3)³ = 207/s, is kept.
func TestLateStartsSpoilTheTimesAlone(t *testing.T) {
	d := changing()
	d.Margin, d.Metrics = nil, []metric.Name{metric.Throughput, metric.ServerInstructions}
	late := func() Arm {
		return asked{service: 100 * µs, own: 900 * µs, late: 2 * time.Millisecond, counts: &costly{instructions: 30_000}}.arm("b")
	}
	base := late()
	base.Name = "a"
	trials := compareInBubble(t, d, base, late())
	if len(trials.ChangedOver) != 1 || math.Abs(trials.ChangedOver[0].RatePerSec-207) > 1 {
		t.Fatalf("changed over %+v, want to 207/s", trials.ChangedOver)
	}
	if c := trials.Comparisons[0]; c.Metric != metric.ServerInstructions || c.Verdict != stat.Equivalent || c.Rounds != 8 {
		t.Errorf("%s over %d rounds: %s (%v), want EQUIVALENT", c.Metric, c.Rounds, c.Verdict, c.Reason)
	}
	if c := trials.Comparisons[1]; c.Metric != metric.ResponseP50 || !c.Reason.Is(finding.StartLag) {
		t.Errorf("%s: %s (%v), want INVALID start_lag", c.Metric, c.Verdict, c.Reason)
	}
}

// Without a length blocks of 50 ms become two of 150 ms, or, at 700/s, two in which 200
// arrive: 286 ms.
func TestBlocksAtARateAreLonger(t *testing.T) {
	d := changing()
	d.Block, d.Pairs, d.Rounds = 0, 4, 1
	for _, tt := range []struct {
		of   asked
		want time.Duration
	}{
		{asked{service: 10 * µs, own: 90 * µs}, 150 * time.Millisecond},
		{asked{service: 100 * µs, own: 900 * µs}, time.Second * 200 / 700},
	} {
		trials := compareInBubble(t, d, tt.of.arm("a"), tt.of.arm("b"))
		if len(trials.ChangedOver) != 1 {
			t.Fatalf("changed over %+v, want once", trials.ChangedOver)
		}
		if blocks := trials.ChangedOver[0].Trials.Blocks; len(blocks) != 4 || blocks[0].Duration.Round(time.Millisecond) != tt.want.Round(time.Millisecond) {
			t.Errorf("%v of the generator: %d blocks, the first of %v, want 4 of %v", tt.of.own, len(blocks), blocks[0].Duration, tt.want)
		}
	}
}

// Nothing changes over that nobody asked to, that has a rate, or whose server is the limit.
func TestNothingElseChangesOver(t *testing.T) {
	limited, serving := asked{service: 100 * µs, own: 900 * µs}, asked{service: 900 * µs, own: 10 * µs}
	for _, tt := range []struct {
		name   string
		of     asked
		asked  bool
		pacer  *pace.Pacer
		refuse bool
	}{
		{"not asked to", limited, false, nil, true},
		{"a rate", asked{service: 100 * µs, own: 900 * µs, ownOpen: 900 * µs}, true, pace.Constant(500), false},
		{"the server is the limit", serving, true, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := changing()
			d.ChangesOver = tt.asked
			trials, err := Compare(t.Context(), []Arm{tt.of.arm("a"), tt.of.arm("b")}, load.Plan{VUs: 1, Pacer: tt.pacer}, d, nil)
			testenv.Must(t, err)
			c := trials.Comparisons[0]
			if trials.ChangedOver != nil || c.Metric != metric.Throughput || trials.roundsDone() != d.Rounds || (c.Reason != nil) != tt.refuse {
				t.Errorf("%s: changed over %+v after %d rounds, %s %s (%v)", tt.name, trials.ChangedOver, trials.roundsDone(), c.Metric, c.Verdict, c.Reason)
			}
		})
	}
}

// The generator is the limit of fast alone: the others are compared without a rate, in all
// rounds, and fast with the baseline at 70% of the 1000/s that both came to.
func TestEachCandidateChangesOverByItself(t *testing.T) {
	base, fast, slow := asked{service: 900 * µs, own: 100 * µs}, asked{service: 50 * µs, own: 950 * µs}, asked{service: 990 * µs, own: 10 * µs}
	trials := compareInBubble(t, changing(), base.arm("base"), fast.arm("fast"), slow.arm("slow"))
	if len(trials.ChangedOver) != 1 || trials.roundsDone() != 8 {
		t.Fatalf("changed over %+v after %d rounds, want once after 8", trials.ChangedOver, trials.roundsDone())
	}
	if o := trials.ChangedOver[0]; !slices.Equal(o.Candidates, []string{"fast"}) || !slices.Equal(o.Trials.Arms, []string{"base", "fast"}) || math.Abs(o.RatePerSec-700) > 1 {
		t.Errorf("changed over %v with %v at %v/s", o.Candidates, o.Trials.Arms, o.RatePerSec)
	}
	for _, c := range trials.Comparisons {
		if (c.Candidate == "fast") != (c.ChangedOver != nil) {
			t.Errorf("%s, %s: changed over %+v", c.Candidate, c.Metric, c.ChangedOver)
		}
	}
}

// busierAt2 needs more time for itself the more VUs there are.
type busierAt2 struct{ asked }

func (t busierAt2) Drive(ctx context.Context, s *load.Shard) error {
	if s.VUs() == 1 && s.Model() == load.ClosedModel {
		t.own = 0
	}
	return t.asked.Drive(ctx, s)
}

func (t busierAt2) NewLoop(context.Context, load.LoopPart) (load.Loop, error) { return t, nil }

// At 1 VU the server is the limit and at 2 the generator: of the levels only the second
// changes over, and gets no further rounds without a rate.
func TestEachLevelChangesOverByItself(t *testing.T) {
	arm := func(name string) Arm {
		return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
			return &Live{Address: name, Target: busierAt2{asked{service: 100 * µs, own: 900 * µs}}}, nil
		}}
	}
	d := changing()
	d.Levels = []int{1, 2}
	trials := compareInBubble(t, d, arm("a"), arm("b"))
	if len(trials.ChangedOver) != 1 || trials.ChangedOver[0].Concurrency != 2 || len(trials.cells("a", 1)) != 8 || len(trials.cells("a", 2)) != 1 {
		t.Fatalf("changed over %+v with %d and %d rounds, want level 2 with 8 and 1", trials.ChangedOver, len(trials.cells("a", 1)), len(trials.cells("a", 2)))
	}
	for _, c := range trials.Comparisons {
		if (c.Concurrency == 2) != (c.ChangedOver != nil) || c.Verdict != stat.Equivalent {
			t.Errorf("%s at %d VUs: %s (%v), changed over %+v", c.Metric, c.Concurrency, c.Verdict, c.Reason, c.ChangedOver)
		}
	}
}

func TestNothingRight(t *testing.T) {
	cell := func(arm string, completed, failed int64) Cell {
		r := &load.Result{}
		r.Completed, r.Failed = completed, failed
		return Cell{Arm: arm, Result: r}
	}
	trials := &Trials{Results: []Cell{cell("wrong", 0, 5), cell("wrong", 0, 5), cell("late", 0, 0), cell("mixed", 0, 5), cell("mixed", 1, 0)}}
	for arm, want := range map[string]bool{"wrong": true, "late": false, "mixed": false} {
		if got := trials.nothingRight(arm); got != want {
			t.Errorf("%s: %v, want %v", arm, got, want)
		}
	}
	for _, tt := range []struct {
		arms []string
		want bool
	}{
		{[]string{"mixed", "wrong", "late"}, true},
		{[]string{"mixed", "wrong"}, false},
		{[]string{"wrong", "mixed"}, false},
	} {
		trials.Arms = tt.arms
		if got := trials.Explainable(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.arms, got, tt.want)
		}
	}
}
