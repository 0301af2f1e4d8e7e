package calibrate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/metric"
	"contend/probe"
	"contend/stat"
	"contend/trial"
	"contend/trial/trialtest"
)

func TestChooseLength(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name    string
		rounds  int
		spreads []float64 // of 10, 20, 40 ms
		want    time.Duration
	}{
		// One standard error of 57 rounds is √(0.5708/57) = 10%: up to 0.022.
		{"the best is the shortest", 57, []float64{0.02, 0.03, 0.04}, 10 * ms},
		{"within an error of the best", 57, []float64{0.0219, 0.02, 0.03}, 10 * ms},
		{"beyond an error of the best", 57, []float64{0.0221, 0.02, 0.03}, 20 * ms},
		{"the longest is by far the best", 57, []float64{0.08, 0.04, 0.02}, 40 * ms},
		// √(0.5708/6) = 31%: six rounds decide little.
		{"few rounds", 6, []float64{0.026, 0.02, 0.03}, 10 * ms},
		// Of 1000 rounds it would be 2.4%, and 5% is allowed.
		{"many rounds", 1000, []float64{0.0209, 0.02, 0.03}, 10 * ms},
		{"no noise", 6, []float64{0, 0, 0}, 10 * ms},
		{"no rounds", 0, []float64{0, 0, 0}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Given from long to short: their order does not matter.
			var lengths []Length
			for i := len(tt.spreads) - 1; i >= 0; i-- {
				lengths = append(lengths, Length{Block: 10 * ms << i, RoundSpread: tt.spreads[i],
					RoundLogRatios: make([]float64, tt.rounds), Chosen: true})
			}
			chooseLength(lengths)
			var got time.Duration
			for _, l := range lengths {
				if l.Chosen {
					got += l.Block
				}
			}
			if got != tt.want {
				t.Errorf("chose %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSpreads(t *testing.T) {
	scale := math.Sqrt(math.Pi / 2)
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"around 0: mean size 2", absoluteSpread([]float64{1, -2, 3}), 2 * scale},
		{"nothing", absoluteSpread(nil), 0},
		// Deviations 1, 0, 1 and 2, 2 of medians 5 and 2; 5 values, 3 free.
		{"within", withinSpread([][]float64{{4, 5, 6}, {0, 4}}), 6. / 5 * scale * math.Sqrt(5./3)},
		{"within single pairs", withinSpread([][]float64{{4}, {0}}), 0},
		{"within no pairs", withinSpread([][]float64{{}}), 0},
	} {
		if math.Abs(tt.got-tt.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	// Both estimate the standard deviation of normal values: 10 groups of 100.
	random := rand.New(rand.NewPCG(1, 1))
	var groups [][]float64
	var all []float64
	for range 10 {
		group := make([]float64, 100)
		for i := range group {
			group[i] = 0.03 * random.NormFloat64()
		}
		groups, all = append(groups, group), append(all, group...)
	}
	for _, got := range []float64{absoluteSpread(all), withinSpread(groups)} {
		if math.Abs(got-0.03) > 0.0025 { // three standard errors, 0.755 ÷ √1000 each
			t.Errorf("spread %v, want 0.03", got)
		}
	}
}

// comparison is the design of each A/A comparison.
func comparison() trial.Design {
	return trial.Design{Rounds: 6, Pairs: 2, Block: 100 * time.Millisecond,
		Metrics: []metric.Name{metric.Throughput}, Margin: new(0.02), Confidence: 0.95, Seed: 1}
}

func design() Design {
	d := comparison()
	d.Probe = func() probe.Sample { return probe.Sample{RoundTrip: 100, Wakeup: 2000} }
	return Design{
		Study: Study{Lengths: []time.Duration{10 * time.Millisecond, 25 * time.Millisecond}, Rounds: 3,
			Measured: 50 * time.Millisecond, Seed: 1},
		Experiments: 4, Compare: d, PlannedRounds: 8,
	}
}

// uneven arms have answers of ¼ ms in the mean of all processes; the spread of
// a process is that of each arm, so that of their log-ratio is √2 times as much.
func uneven(name string, spread float64) trial.Arm {
	random := rand.New(rand.NewPCG(uint64(name[0]), 1))
	return trial.Arm{Name: name, Start: func(context.Context, trial.Setup) (*trial.Live, error) {
		d := time.Duration(1e6 * math.Exp(spread*random.NormFloat64()) / 4)
		return &trial.Live{Address: name, Target: load.Func(func(context.Context) (load.Outcome, error) {
			time.Sleep(d)
			return load.Outcome{}, nil
		})}, nil
	}}
}

func calibrateInBubble(t *testing.T, d Design, arms ...trial.Arm) *Calibration {
	t.Helper()
	var c *Calibration
	synctest.Test(t, func(t *testing.T) {
		var err error
		last := 0.0
		c, err = Run(t.Context(), arms, load.Plan{VUs: 1}, d, func(p trial.Progress) {
			if p.Done < last || p.Done > 1 {
				t.Errorf("progress goes from %v to %v", last, p.Done)
			}
			last = p.Done
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return c
}

// The spread of processes is found, and with it what can be seen: 0.05·√2 =
// 0.071 for a round, 48 rounds.
func TestCalibrationFindsTheSpread(t *testing.T) {
	d := design()
	d.Experiments = 8
	c := calibrateInBubble(t, d, uneven("a", 0.05), uneven("b", 0.05))
	if c.Alarms.Comparisons != 8 || c.Alarms.Invalid != 0 || c.Alarms.Alarms > 2 || c.Interrupted || c.Elapsed <= 0 {
		t.Errorf("%+v, interrupted %v after %v", c.Alarms, c.Interrupted, c.Elapsed)
	}
	if low, high := stat.Binomial(c.Alarms.Alarms, 8, 0.95); c.Alarms.Low != low || c.Alarms.High != high {
		t.Errorf("interval %v to %v, want %v to %v", c.Alarms.Low, c.Alarms.High, low, high)
	}
	if len(c.Visible) == 0 || c.Visible[0].Metric != metric.Throughput {
		t.Fatalf("visible: %+v", c.Visible)
	}
	v := c.Visible[0]
	if v.Rounds != 48 || v.Spread < 0.05 || v.Spread > 0.1 || v.Smallest != stat.Smallest(v.Spread, 8, 0.95, 0.9) {
		t.Errorf("%+v", v)
	}
	if c.Design.Pairs != int(d.Study.Measured/c.Design.Block) {
		t.Errorf("%d pairs of %v", c.Design.Pairs, c.Design.Block)
	}
	for i, l := range c.Lengths {
		if l.Block != d.Study.Lengths[i] || l.Pairs != []int{5, 2}[i] || len(l.RoundLogRatios) != 3 || l.RoundSpread <= 0 {
			t.Errorf("length %d: %+v", i, l)
		}
	}
	want := &ProbeRange{Probes: c.Machine.Probes, RoundTrip: DurationRange{100, 100}, Wakeup: DurationRange{2000, 2000}}
	if c.Machine.Probes == 0 || !reflect.DeepEqual(c.Machine, want) {
		t.Errorf("machine %+v, want %+v", c.Machine, want)
	}
}

// An arm that is not equal raises an alarm in every comparison.
func TestCalibrationCountsAlarms(t *testing.T) {
	d := design()
	d.Study.Lengths = d.Study.Lengths[1:]
	c := calibrateInBubble(t, d, uneven("a", 0.01), trialtest.Sleeping("b", 350*time.Microsecond))
	if c.Lengths != nil || c.Design.Block != 25*time.Millisecond || c.Design.Pairs != 2 {
		t.Errorf("one length was studied: %+v, %+v", c.Lengths, c.Design)
	}
	if c.Alarms.Alarms != 4 || c.Alarms.Comparisons != 4 || c.Visible[0].Alarms != 4 {
		t.Errorf("%+v %+v", c.Alarms, c.Visible)
	}
}

// All verdicts are counted; INVALID comparisons do not count as rounds.
func TestDeriveCalibration(t *testing.T) {
	c := &Calibration{Design: comparison(), PlannedRounds: 8}
	for _, verdict := range []stat.Verdict{stat.Faster, stat.Slower, stat.Equivalent, stat.Inconclusive, stat.Invalid} {
		c.Comparisons = append(c.Comparisons,
			trial.Comparison{Metric: metric.Throughput, Primary: true, Verdict: verdict, RoundLogRatios: []float64{-0.01, 0.02}},
			trial.Comparison{Metric: "response_p50_ns", Verdict: verdict, RoundLogRatios: []float64{0, 0}})
	}
	c.Derive()
	low, high := stat.Binomial(2, 4, 0.95)
	if want := (Alarms{Alarms: 2, Comparisons: 4, Invalid: 1, Inconclusive: 1, Low: low, High: high}); c.Alarms != want {
		t.Errorf("%+v, want %+v", c.Alarms, want)
	}
	if len(c.Visible) != 1 || c.Visible[0].Rounds != 8 || c.Visible[0].Alarms != 2 {
		t.Errorf("%+v, want 8 rounds of throughput; the median did not vary", c.Visible)
	}
	if c.Visible[0].In(5, 0.95) != math.Inf(1) {
		t.Error("5 rounds see something at 95%")
	}
	quoted := &Calibration{Alarms: c.Alarms, Visible: c.Visible}
	quoted.Derive()
	if quoted.Alarms != c.Alarms || len(quoted.Visible) != 1 {
		t.Error("without its data a calibration is forgotten")
	}
	data, err := json.Marshal(c)
	again := new(Calibration)
	if err = errors.Join(err, json.Unmarshal(data, again)); err != nil {
		t.Fatal(err)
	}
	if again.Derive(); !reflect.DeepEqual(again.Visible, c.Visible) || again.Alarms != c.Alarms {
		t.Errorf("stored and read it is %+v", again)
	}
}

func TestInterruptedCalibration(t *testing.T) {
	for _, tt := range []struct {
		name        string
		after       time.Duration
		comparisons int
	}{
		{"in the study", 80 * time.Millisecond, 0},
		{"in a comparison", 1900 * time.Millisecond, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.after)
				defer cancel()
				d := design()
				c, err := Run(ctx, []trial.Arm{uneven("a", 0.02), uneven("b", 0.02)}, load.Plan{VUs: 1}, d, nil)
				if !errors.Is(err, context.DeadlineExceeded) || c == nil || !c.Interrupted || c.Elapsed < tt.after {
					t.Fatalf("%+v, %v", c, err)
				}
				if c.Alarms.Comparisons < tt.comparisons || c.Alarms.Comparisons >= d.Experiments {
					t.Errorf("%d comparisons", c.Alarms.Comparisons)
				}
			})
		})
	}
}

func TestCalibrationMistakesAllAtOnce(t *testing.T) {
	ms := time.Millisecond
	d := Design{Study: Study{Lengths: []time.Duration{ms, ms, time.Second}, Rounds: 1, Measured: 100 * ms, Warmup: -1}}
	err := d.Validate()
	for _, want := range []string{"rounds is 1; expected 2 to 1000", "Warmup is -1ns", "lengths is 1s", "lengths is 1ms, given twice",
		"experiments is 0", "planned_rounds is 0", "rounds is 0; expected 1 to 1000"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if _, err := Run(t.Context(), nil, load.Plan{VUs: 1}, d, nil); err == nil {
		t.Error("an impossible design was run")
	}
	if _, err := (Study{Lengths: []time.Duration{ms}, Rounds: 2, Measured: ms}).Run(t.Context(), nil, load.Plan{VUs: 1}, nil); err == nil {
		t.Error("a study without arms was run")
	}
}

// The interval is within ±2% with a chance of 90% after ((1.96 + 1.645) · 0.02 ÷ ln 1.02)² +
// 1.96²/2 = 15.3 rounds, or one or two more, as the confidence comes in steps.
func TestRoundsToEqual(t *testing.T) {
	if n := (Visible{Spread: 0.02}).RoundsToEqual(0.02, 0.95); n < 16 || n > 18 {
		t.Errorf("%d rounds", n)
	}
	if n := (Visible{Spread: 0.5}).RoundsToEqual(0.02, 0.95); n != 0 { // (3.605 · 0.5 ÷ 0.0198)² = 8287
		t.Errorf("%d rounds of those that scatter by half", n)
	}
}

func TestRoundTakes(t *testing.T) {
	c := &Calibration{Design: trial.Design{Rounds: 6}, Elapsed: 14 * time.Second,
		Lengths:     []Length{{RoundLogRatios: make([]float64, 2)}},
		Comparisons: []trial.Comparison{{Primary: true}, {}, {Primary: true}}}
	if got := c.RoundTakes(); got != time.Second { // 14 s ÷ (2 + 2 · 6)
		t.Errorf("a round took %v", got)
	}
	if got := new(Calibration).RoundTakes(); got != 0 {
		t.Errorf("none took %v", got)
	}
}
