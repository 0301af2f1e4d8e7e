package trial

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/failure"
	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/setting"
	"contend/stat"
	"contend/subject"
)

// sleeping is an arm whose answers take a fixed time.
func sleeping(name string, d time.Duration) Arm {
	return funcArm(name, func(context.Context) (load.Outcome, error) {
		time.Sleep(d)
		return load.Outcome{}, nil
	})
}

func funcArm(name string, f load.Func) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		return &Live{Address: name, Target: f}, nil
	}}
}

func design() Design {
	return Design{Rounds: 6, Pairs: 2, Block: 100 * time.Millisecond,
		Metrics: []metric.Name{metric.Throughput}, Margin: new(0.02), Confidence: 0.95, Seed: 1}
}

func compareInBubble(t *testing.T, d Design, arms ...Arm) *Trials {
	t.Helper()
	var trials *Trials
	synctest.Test(t, func(t *testing.T) {
		var err error
		trials, err = Compare(t.Context(), arms, load.Plan{VUs: 4}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
	})
	return trials
}

// 10 ms against 12.5 ms an answer: throughput ratio 10 ÷ 12.5 = 0.8, response
// time ratio 1.25; in fake time without any noise. 8 pairs of 100 ms and 4 VUs are
// 256 iterations of the slower a round, 128 of them beyond the median.
func TestPlantedDifferenceIsFound(t *testing.T) {
	d := design()
	d.Pairs, d.Metrics = 8, []metric.Name{metric.Throughput, "response_p50_ns"}
	trials := compareInBubble(t, d, sleeping("a", 10*time.Millisecond), sleeping("b", 12500*time.Microsecond))
	for i, want := range []struct {
		metric  metric.Name
		ratio   float64
		verdict stat.Verdict
	}{
		{metric.Throughput, 0.8, stat.Slower},
		{"response_p50_ns", 1.25, stat.Slower},
	} {
		c := trials.Comparisons[i]
		if c.Metric != want.metric || math.Abs(c.Ratio-want.ratio) > 0.001 || c.Verdict != want.verdict || c.Primary != (i == 0) {
			t.Errorf("comparison %d is %s %s with ratio %v, want %s %s with %v",
				i, c.Metric, c.Verdict, c.Ratio, want.metric, want.verdict, want.ratio)
		}
	}
	if !trials.InProcess {
		t.Error("arms without a process were not marked")
	}
}

// Six rounds find equal arms EQUIVALENT, five decide nothing.
func TestFewRoundsDecideNothing(t *testing.T) {
	for rounds, want := range map[int]stat.Verdict{6: stat.Equivalent, 5: stat.Inconclusive} {
		d := design()
		d.Rounds = rounds
		trials := compareInBubble(t, d, sleeping("a", 10*time.Millisecond), sleeping("b", 10*time.Millisecond))
		if c := trials.Comparisons[0]; c.Verdict != want || c.Ratio != 1 || c.RoundsNeeded != 6-rounds {
			t.Errorf("%d rounds: %s with ratio %v and %d further rounds, want %s with 1", rounds, c.Verdict, c.Ratio, c.RoundsNeeded, want)
		}
	}
}

// Every pair holds each arm once, and the order turns around from pair to pair.
func TestBlocksAreInterleaved(t *testing.T) {
	d := design()
	d.Levels = []int{1, 3}
	trials := compareInBubble(t, d, sleeping("a", time.Millisecond), sleeping("b", time.Millisecond), sleeping("c", time.Millisecond))
	if want := d.Rounds * d.Pairs * 2 * 3; len(trials.Blocks) != want {
		t.Fatalf("%d blocks, want %d", len(trials.Blocks), want)
	}
	first := map[string]int{}
	for i := 0; i < len(trials.Blocks); i += 6 {
		var order []string
		for _, b := range trials.Blocks[i : i+6] {
			order = append(order, b.Arm)
		}
		back := slices.Clone(order[:3])
		slices.Reverse(back)
		if !slices.Equal(order[3:], back) {
			t.Errorf("order %v does not turn around", order)
		}
		first[order[0]]++
	}
	if len(first) < 2 {
		t.Errorf("the same arm always starts: %v", first)
	}
}

// A block says when it was, and how long its answers took: of 10 and 20 ms, one after the other.
func TestBlocksOverTime(t *testing.T) {
	took := map[string]time.Duration{"a": 10 * time.Millisecond, "b": 20 * time.Millisecond}
	trials := compareInBubble(t, design(), sleeping("a", took["a"]), sleeping("b", took["b"]))
	over := time.Duration(0) // the block before
	for i, b := range trials.Blocks {
		if b.Start < over || b.Start > trials.Elapsed {
			t.Errorf("block %d begins at %v, that before ends at %v", i, b.Start, over)
		}
		over = b.Start + b.Duration
		for _, got := range []time.Duration{b.P50, b.P99} {
			if off := got - took[b.Arm]; off < 0 || off > took[b.Arm]/1000 {
				t.Errorf("block %d of %s took %v, want %v", i, b.Arm, got, took[b.Arm])
			}
		}
	}
	text, err := json.Marshal(trials.Blocks)
	var again Blocks
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if b, want := again[1], trials.Blocks[1]; err != nil || b.Start != want.Start || b.P50 != want.P50 || b.P99 != want.P99 {
		t.Errorf("read again: %+v, want %+v (%v)", b, want, err)
	}
}

// Noise that is the same for neighbours cancels: a drift of 30% over the trial
// leaves a planted 10% difference clear and equal arms undecided or equivalent.
func TestDriftCancels(t *testing.T) {
	for _, tt := range []struct {
		slower float64
		want   []stat.Verdict
	}{
		{1.1, []stat.Verdict{stat.Slower}},
		{1, []stat.Verdict{stat.Equivalent, stat.Inconclusive}},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			drifting := func(name string, factor float64) Arm {
				random := rand.New(rand.NewPCG(3, 4))
				return funcArm(name, func(context.Context) (load.Outcome, error) {
					drift := 1 + 0.3*time.Since(began).Seconds()/10
					time.Sleep(time.Duration(factor * drift * (0.9 + 0.2*random.Float64()) * float64(5*time.Millisecond)))
					return load.Outcome{}, nil
				})
			}
			d := design()
			d.Rounds, d.Pairs = 8, 4
			trials, err := Compare(t.Context(), []Arm{drifting("a", 1), drifting("b", tt.slower)}, load.Plan{VUs: 1}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c := trials.Comparisons[0]; !slices.Contains(tt.want, c.Verdict) {
				t.Errorf("slower by %v: %s, ratio %v [%v, %v]; want one of %v", tt.slower, c.Verdict, c.Ratio, c.Low, c.High, tt.want)
			}
		})
	}
}

// Blocks are stretched to four response times after a lead-in of two.
func TestBlocksFitTheResponseTime(t *testing.T) {
	tests := []struct {
		block, response, leadIn, measured time.Duration
		pairs                             int
	}{
		{250, 1, 50, 250, 4},      // 250/5 ; 250 ; all 4 pairs
		{250, 100, 200, 400, 3},   // 2·100 ; 4·100 ; 4·250/400 = 2.5, rounded
		{250, 300, 600, 1200, 1},  // 2·300 ; 4·300 ; 4·250/1200 = 0.8
		{1000, 300, 600, 1200, 3}, // 2·300 > 200 ; 4·300 > 1000 ; 4·1000/1200 = 3.3
	}
	for _, tt := range tests {
		got := lengthen(tt.block*time.Millisecond, tt.response*time.Millisecond, 4)
		if got.leadIn != tt.leadIn*time.Millisecond || got.measured != tt.measured*time.Millisecond || got.pairs != tt.pairs {
			t.Errorf("lengthen(%d ms, %d ms) = %v", tt.block, tt.response, got)
		}
	}
}

// Without a length a block holds 200 answers of the slowest arm, and is 50 to 500 ms; all
// pairs measure as long as 8 of 50 ms, 400 ms, or are two.
func TestLengthOfBlocksIsChosen(t *testing.T) {
	for _, tt := range []struct {
		perSec float64
		block  time.Duration // in ms
		pairs  int
	}{
		{0, 50, 8},     // not known
		{1e6, 50, 8},   // 0.2 ms would do
		{2000, 100, 4}, // 200 ÷ 2000
		{400, 500, 2},  // 200 ÷ 400; 0.4 ÷ 0.5 = 0.8
		{1, 500, 2},    // 200 s would be too long
	} {
		if got := (Design{Pairs: 8}).sized(tt.perSec); got.Block != tt.block*time.Millisecond || got.Pairs != tt.pairs {
			t.Errorf("at %v/s: %d pairs of %v, want %d of %d ms", tt.perSec, got.Pairs, got.Block, tt.pairs, tt.block)
		}
	}
	if got := (Design{Pairs: 8, Block: time.Second}).sized(1e6); got.Block != time.Second || got.Pairs != 8 {
		t.Errorf("a length that was given became %d pairs of %v", got.Pairs, got.Block)
	}
	// 4 VUs of 10 and of 5 ms: the slower one answers 400 times a second.
	d := design()
	d.Block, d.Pairs, d.Warmup = 0, 8, 100*time.Millisecond
	trials := compareInBubble(t, d, sleeping("a", 10*time.Millisecond), sleeping("b", 5*time.Millisecond))
	for _, b := range trials.Blocks {
		if b.Duration != 500*time.Millisecond {
			t.Fatalf("a block is %v long, want 500 ms", b.Duration)
		}
	}
	if want := 6 * 2 * 2; len(trials.Blocks) != want {
		t.Errorf("%d blocks, want %d", len(trials.Blocks), want)
	}
}

// An iteration of 300 ms does not fit a run of 100 ms: the run is stretched to
// 4·300 ms after 2·300 ms, in which each of 3 VUs is due 4 times.
func TestSettledRunsHoldIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _ := sleeping("slow", 300*time.Millisecond).Start(t.Context(), Setup{})
		s, err := live.Open(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		r, err := live.Settled(t.Context(), s, load.Plan{VUs: 3, Warmup: 10 * time.Millisecond, Duration: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r.Completed != 12 || r.Duration != 1200*time.Millisecond {
			t.Errorf("completed %d in %v, want 12 in 1.2s", r.Completed, r.Duration)
		}
	})
}

// A verdict that was asked for is not left out silently.
func TestPrimaryMetricWithoutFigures(t *testing.T) {
	d := design()
	d.Metrics = []metric.Name{metric.ServerCPUPerOp, metric.Throughput}
	trials := compareInBubble(t, d, sleeping("a", time.Millisecond), sleeping("b", time.Millisecond))
	if c := trials.Comparisons[0]; !c.Primary || c.Verdict != stat.Invalid || c.Reason.Code != "no_figure" || len(trials.Comparisons) != 2 {
		t.Errorf("%s, reason %v, %d comparisons; want 2, and INVALID no_figure: no server was sampled", c.Verdict, c.Reason, len(trials.Comparisons))
	}
}

// A process that dies in mid-trial ends it with an error and what there was.
func TestDeathEndsTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mortal := &mortal{done: make(chan struct{})}
		time.AfterFunc(700*time.Millisecond, func() { close(mortal.done) })
		arm := sleeping("b", time.Millisecond)
		dying := Arm{Name: "b", Start: func(ctx context.Context, s Setup) (*Live, error) {
			live, err := arm.Start(ctx, s)
			live.Subject = mortal
			return live, err
		}}
		trials, err := Compare(t.Context(), []Arm{sleeping("a", time.Millisecond), dying}, load.Plan{VUs: 1}, design(), nil)
		var died *DiedError
		if !errors.As(err, &died) || died.Arm != "b" || !errors.Is(err, errDied) {
			t.Errorf("error %v, want arm b to have died", err)
		}
		if f := failure.All(err); len(f) != 1 || f[0].Arm != "b" || !f[0].Died || f[0].Cause != errDied.Error() {
			t.Errorf("it carries %+v", f)
		}
		if len(trials.Blocks) == 0 || len(trials.Results) == 0 {
			t.Error("the blocks before the death are lost")
		}
	})
}

// So does one that goes silent: warm-ups and blocks add up, which are shorter than the
// timeout each.
func TestSilenceEndsTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hanging := funcArm("b", func(ctx context.Context) (load.Outcome, error) {
			if time.Since(began) < 2*time.Second {
				time.Sleep(time.Millisecond)
				return load.Outcome{}, nil
			}
			<-ctx.Done()
			return load.Outcome{}, ctx.Err()
		})
		d := design()
		d.Pairs, d.Rounds = 50, 1
		trials, err := Compare(t.Context(), []Arm{sleeping("a", time.Millisecond), hanging}, load.Plan{VUs: 1, Timeout: 5 * time.Second}, d, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "b: nothing succeeded for 15s") {
			t.Errorf("error %v, want arm b to be given up", err)
		}
		if took := time.Since(began); took > 30*time.Second || len(trials.Blocks) == 0 {
			t.Errorf("ended after %v with %d blocks", took, len(trials.Blocks))
		}
	})
}

var errDied = errors.New("killed")

type mortal struct{ done chan struct{} }

func (m *mortal) Sample() (subject.Sample, error) { return subject.Sample{}, nil }
func (m *mortal) Clocks() (subject.Sample, error) { return subject.Sample{}, nil }
func (m *mortal) Blocked() []subject.Blocked      { return nil }
func (m *mortal) Done() <-chan struct{}           { return m.done }
func (m *mortal) Err() error                      { return errDied }

func TestInterruptedTrialKeepsItsBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stopped := 0
		arm := sleeping("a", time.Millisecond)
		counted := Arm{Name: "a", Start: func(ctx context.Context, s Setup) (*Live, error) {
			live, err := arm.Start(ctx, s)
			live.Stop = func(ctx context.Context) error { // has time, though the trial has none
				stopped++
				if until, ok := ctx.Deadline(); ctx.Err() != nil || !ok || time.Until(until) > time.Minute {
					t.Errorf("stopped with %v until %v", ctx.Err(), until)
				}
				return nil
			}
			return live, err
		}}
		trials, err := Compare(ctx, []Arm{counted, sleeping("b", time.Millisecond)}, load.Plan{VUs: 1}, design(), nil)
		if !errors.Is(err, context.DeadlineExceeded) || len(trials.Blocks) == 0 {
			t.Errorf("error %v with %d blocks", err, len(trials.Blocks))
		}
		if stopped == 0 {
			t.Error("the arm was not stopped")
		}
	})
}

// Derive computes the same from what a document stores.
func TestDeriveFromStoredForm(t *testing.T) {
	trials := compareInBubble(t, design(), sleeping("a", 10*time.Millisecond), sleeping("b", 11*time.Millisecond))
	stored, err := json.Marshal(trials)
	if err != nil {
		t.Fatal(err)
	}
	var again Trials
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	again.Derive()
	derived, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != string(derived) {
		t.Errorf("stored:\n%s\nrecomputed:\n%s", stored, derived)
	}
	// What is not stored must be recomputed to the same.
	same := reflect.DeepEqual(again.Comparisons, trials.Comparisons) && len(again.Comparisons) > 0
	if !same || len(again.Results) != 2 || again.Results[1].Completed != trials.Results[1].Completed {
		t.Errorf("%+v, %+v, recomputed %+v, %+v", trials.Comparisons, trials.Results, again.Comparisons, again.Results)
	}
}

// An edited figure of a round or block does not survive.
func TestDeriveRecomputesRoundsAndBlocks(t *testing.T) {
	trials := compareInBubble(t, design(), sleeping("a", 10*time.Millisecond), sleeping("b", 11*time.Millisecond))
	block, round := trials.Blocks[0].ThroughputPerSec, trials.Rounds[0].ThroughputPerSec
	trials.Blocks[0].ThroughputPerSec, trials.Rounds[0].ThroughputPerSec = 1, 2
	trials.Derive()
	text, err := json.Marshal(trials.Blocks)
	if err == nil {
		err = json.Unmarshal(text, &trials.Blocks)
	}
	if err != nil {
		t.Fatal(err)
	}
	if trials.Blocks[0].ThroughputPerSec != block || trials.Rounds[0].ThroughputPerSec != round {
		t.Errorf("throughputs %v and %v, want %v and %v", trials.Blocks[0].ThroughputPerSec,
			trials.Rounds[0].ThroughputPerSec, block, round)
	}
	(&Trials{Design: trials.Design}).Derive() // no arms: nothing to derive
}

func TestDesignMistakesAllAtOnce(t *testing.T) {
	err := Design{Rounds: -1, Block: -1, Margin: new(-1.0), Metrics: []metric.Name{"speed", "errors", "errors"}, Levels: []int{8, 0, 8}}.Validate()
	for pairs, ok := range map[int]bool{MaxPairs: true, MaxPairs + 1: false} {
		d := NewDesign()
		d.Pairs = pairs
		if got := d.Validate() == nil; got != ok {
			t.Errorf("%d pairs are allowed: %v", pairs, got)
		}
	}
	if share := NewDesign().MaxErrors; share != finding.Errors.Refuses {
		t.Errorf("the default share of errors is %v, and %v where no design says it", share, finding.Errors.Refuses)
	}
	if len(setting.Mistakes(err)) != 9 {
		t.Errorf("mistakes: %v\nwant nine: rounds, pairs, block, margin, confidence, metric, level, errors twice, 8 twice", err)
	}
}
