package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/stat"
	"contend/trial"
)

func TestIterationsFor(t *testing.T) {
	for _, test := range []struct {
		share, ratio float64
		want         int
	}{
		{0.01, 1.5, 100},  // 5000 iterations are half of the rest: 0.01 · 5000 / 0.5
		{0.02, 1.25, 400}, // 0.02 · 5000 / 0.25
		{0.01, 1, 0},
		{0.01, math.NaN(), 0},
	} {
		got, err := iterationsFor(test.share, test.ratio)
		if got != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%+v: %d, %v", test, got, err)
		}
	}
}

func TestComparedInWords(t *testing.T) {
	all := newCompared()
	all.longest = 17500 * time.Millisecond
	for range 6 { // the fewest that have an interval
		all.add(stat.More, nil)
		all.ratios = append(all.ratios, math.Log(1.01))
	}
	if got, want := all.String(), "MORE 6; estimates from 1.0100 to 1.0100, middle 1.0100 [1.0100, 1.0100]; longest comparison 17.5 s"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	all.ratios = all.ratios[:5]
	if got, want := all.String(), "MORE 6; estimates from 1.0100 to 1.0100, middle 1.0100; longest comparison 17.5 s"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// An arm answers in 1 ms, and in a tenth more while it is counted and for a time after.
func slowedByCounting(name string, after time.Duration) trial.Arm {
	return trial.Arm{Name: name, Start: func(context.Context, trial.Setup) (*trial.Live, error) {
		slow := new(slowing)
		return &trial.Live{
			Address:  name,
			Counters: func(...perf.Event) (trial.Counters, error) { return slow, nil },
			Target: load.Func(func(context.Context) (load.Outcome, error) {
				answer := time.Millisecond
				if slow.counts || time.Since(slow.closed) < after {
					answer += answer / 10
				}
				time.Sleep(answer)
				return load.Outcome{}, nil
			}),
		}, nil
	}}
}

type slowing struct {
	counts bool
	closed time.Time
}

func (s *slowing) Start() error               { s.counts = true; return nil }
func (s *slowing) Stop() (perf.Counts, error) { return perf.Counts{perf.Instructions: 1}, nil }
func (s *slowing) Close() error               { s.counts, s.closed = false, time.Now(); return nil }

// In a block of 50 ms each virtual user begins 50 answers of 1 ms, or 46 of 1.1 ms,
// and the last of these ends 0.6 ms after the block: 46 ÷ 50.6 is 50 ÷ 50 ÷ 1.1.
func TestWhatCountingLeavesBehindIsSeen(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		want  float64
	}{
		{0, 1},
		{time.Hour, 46 / 50.6},
	} {
		synctest.Test(t, func(t *testing.T) {
			logs, err := withAndWithoutCounting(t.Context(), slowedByCounting("a", test.after), slowedByCounting("b", test.after), rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got := math.Exp(stat.Center(logs)); len(logs) != timedPairs || math.Abs(got-test.want) > 0.001 {
				t.Errorf("slow for %v after counting: ratio %.4f in %d pairs, want %.4f in %d", test.after, got, len(logs), test.want, timedPairs)
			}
		})
	}
}

func TestServeIteratingWantsANumber(t *testing.T) {
	if err := serveIterating("127.0.0.1:0", "many"); err == nil {
		t.Error("many is no number")
	}
}
