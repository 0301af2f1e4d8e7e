package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/trial"
	"contend/trial/trialtest"
	"contend/usl"
)

func TestBlockIsChosen(t *testing.T) {
	for _, tt := range []struct {
		most   time.Duration
		perSec float64
		want   time.Duration
	}{
		{0, 0, 200 * time.Millisecond},                        // not known
		{0, 10_000, 200 * time.Millisecond},                   // 20 ms would hold 200 answers
		{0, 400, 500 * time.Millisecond},                      // 200 ÷ 400
		{0, 10, time.Second},                                  // the longest
		{time.Minute, 10, 500 * time.Millisecond},             // a 120th of the whole
		{6 * time.Second, 10, 200 * time.Millisecond},         // and no less
		{time.Hour, 10, time.Second},                          //
		{30 * time.Second, 1_000_000, 200 * time.Millisecond}, //
	} {
		if got := (Design{Duration: tt.most}).block(tt.perSec); got != tt.want {
			t.Errorf("of %v at %v/s: %v, want %v", tt.most, tt.perSec, got, tt.want)
		}
	}
	if got := (Design{Block: time.Minute, Duration: time.Second}).block(5); got != time.Minute {
		t.Errorf("a block that is given is %v", got)
	}
}

func TestTooShort(t *testing.T) {
	const warmup, block = 100 * time.Millisecond, 200 * time.Millisecond
	for _, tt := range []struct {
		design   Design
		level    int
		response time.Duration
		least    string
	}{
		// 6 levels, explored and visited 3 times, of 100 + 40 + 200 ms: 8.16 s, typed as 10.
		{Design{Duration: 8 * time.Second, Warmup: warmup}, 1, 0, "10s"},
		{Design{Duration: 9 * time.Second, Warmup: warmup}, 1, 0, ""},
		{Design{Warmup: warmup}, 1, time.Hour, ""}, // no limit
		// 3 levels up to 3 VUs, of 100 + 2 · 500 + 4 · 500 ms: 4 · 3 · 3.1 = 37.2 s, typed as 1m.
		{Design{Duration: 30 * time.Second, ExtendTo: 3, Warmup: warmup}, 1, 500 * time.Millisecond, "1m"},
		// 2 levels, 900 times: 612 s.
		{Design{Duration: 30 * time.Second, Levels: []int{1, 2}, Visits: 900, Block: block, Warmup: warmup}, 1, 0, "11m"},
		// At 4 VUs 400 ms, so at 2 200 ms or more: 100 + 2400 and 100 + 1200 ms, twice: 7.6 s, typed as 10.
		{Design{Duration: 7 * time.Second, Levels: []int{2, 4}, Visits: 2, Block: block, Warmup: warmup}, 4, 400 * time.Millisecond, "10s"},
		// At 8 VUs no less than at 2: 2 · 2 · 2.5 = 10 s.
		{Design{Duration: 9 * time.Second, Levels: []int{2, 8}, Visits: 2, Block: block, Warmup: warmup}, 2, 400 * time.Millisecond, "10s"},
	} {
		err := tt.design.enough(tt.level, tt.response)
		if tt.least == "" && err != nil || tt.least != "" && (err == nil || !strings.Contains(err.Error(), "expected "+tt.least+" or more")) {
			t.Errorf("%+v, answers after %v at %d: %v, want %q", tt.design, tt.response, tt.level, err, tt.least)
		}
	}
}

// A server that answers in 1 s takes 6.1 s at each level; 24 of them take 146.4 s, typed as 2m30s. The first level shows it.
func TestFirstLevelShowsThatTimeIsTooShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		d := Design{Duration: 30 * time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
		curve, err := Run(t.Context(), trialtest.Sleeping("s", time.Second), load.Plan{}, d, nil)
		if err != nil || curve.TimeUp == nil || *curve.TimeUp != (trial.TimeUp{Lacks: "6 levels are driven 4 times, and at concurrency 1 a response takes 1s", Needs: 150 * time.Second}) {
			t.Fatalf("%+v, %v", curve, err)
		}
		if len(curve.Results) != 1 || curve.Results[0].Response.Quantile(0.5).Round(time.Millisecond) != time.Second {
			t.Errorf("what was measured: %+v", curve.Results)
		}
		if took := time.Since(begun); took > 12*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// A sweep without a given number of visits ends once its answer is certain; until then only the levels around it are
// measured again. The power of this law is highest at N = √(1 ÷ 3β) = 11.5. It does not matter if all levels of a
// process are faster or slower, but if some are the sweep takes longer.
func TestSweepEndsWhenItsAnswerIsCertain(t *testing.T) {
	for _, differ := range []struct{ starts, levels float64 }{{0, 0}, {0.3, 0}, {0, 0.08}} {
		synctest.Test(t, func(t *testing.T) {
			starts := 0
			server := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
				starts++
				law := usl.Model{Beta: 0.0025, Gamma: 100 * (1 + differ.starts*float64(starts%3-1))}
				return &trial.Live{Address: "s", Target: answering(func(n int) float64 {
					return law.Throughput(float64(n)) * (1 + differ.levels*float64((starts+n)%3-1))
				})}, nil
			}}
			begun, d := time.Now(), Design{Duration: 3 * time.Minute, Warmup: 100 * time.Millisecond, Seed: 1}
			curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
			if err != nil || curve.TimeUp != nil || !Settled(curve.Recommended()) || time.Since(begun) > d.Duration+underWay {
				t.Fatalf("%v, %+v after %v", err, curve.Knee, time.Since(begun))
			}
			if k := curve.Knee.N; k.Value < 10 || k.Value > 13 || k.Interval.Low < 8 || k.Interval.High > 18 {
				t.Errorf("the knee is %v, %+v", k.Value, *k.Interval)
			}
			counts := map[int]int{}
			for _, v := range curve.Visits {
				counts[v.Concurrency]++
			}
			if highest := slices.Max(concurrencies(curve.Results)); counts[1] != leastVisits || counts[highest] != leastVisits {
				t.Errorf("differing by %v: the ends are measured %d and %d times", differ, counts[1], counts[highest])
			}
			if more := counts[int(curve.Knee.N.Value)] > leastVisits; more != (differ.levels > 0) {
				t.Errorf("differing by %v: visits %v", differ, counts)
			}
		})
	}
}

// A pool answers twice as much with twice the callers up to 8, and no more beyond.
func TestKneeOfAPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := make(chan struct{}, 8)
		server := trialtest.Arm("s", func(context.Context) (load.Outcome, error) {
			pool <- struct{}{}
			time.Sleep(2 * time.Millisecond)
			<-pool
			return load.Outcome{}, nil
		})
		curve, err := Run(t.Context(), server, load.Plan{}, Design{Duration: 30 * time.Second, Warmup: 100 * time.Millisecond, Seed: 1}, nil)
		if err != nil || curve.TimeUp != nil || curve.Knee.N.Value != 8 {
			t.Fatalf("%v, %+v, %+v", err, curve.Knee, curve.TimeUp)
		}
	})
}

// A knee is known well enough when its interval reaches from two thirds of it to one and a half times it, or one level further.
func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		n, low, high float64
		want         bool
	}{
		{12, 8, 18, true},
		{12, 7, 18, false},
		{12, 8, 19, false},
		{1, 1, 2, true},
		{2, 1, 3, true},
		{2, 1, 4, false},
	} {
		k := usl.Knee{N: usl.Estimate{Value: tt.n, Interval: &usl.Interval{Low: tt.low, High: tt.high}}}
		if got := Settled(&k); got != tt.want {
			t.Errorf("%v (%v to %v): %v", tt.n, tt.low, tt.high, got)
		}
	}
	if Settled(nil) || Settled(&usl.Knee{N: usl.Estimate{Value: 3}}) {
		t.Error("settled without an interval")
	}
}

// A level that was whole in one visit alone takes no interval from the others, and no visit measures nothing.
func TestKneeWithoutALevel(t *testing.T) {
	var cells []trial.Cell
	add := func(n, round int, perSec float64) {
		cells = append(cells, trial.Cell{Round: round, Result: &load.Result{Concurrency: n, ThroughputPerSec: perSec}})
	}
	for round, faster := range []float64{1, 1.3, 0.8} { // of all of a round
		for _, n := range []int{1, 2, 4, 6, 8, 12, 16} {
			add(n, round+1, faster*min(float64(n), 8)*100)
		}
	}
	add(32, 1, 700)
	knee, err := Knee(cells, 1)
	if err != nil || knee.N.Value != 8 || knee.N.Interval == nil || !Settled(&knee) {
		t.Errorf("%+v, %v", knee, err)
	}
	if knee.Throughput < 800*0.9 || knee.Throughput > 800*1.1 {
		t.Errorf("%v per second, which is not that of an average round", knee.Throughput)
	}
}

func TestBetween(t *testing.T) {
	knee := func(low, high float64) *usl.Knee {
		return &usl.Knee{N: usl.Estimate{Value: low, Interval: &usl.Interval{Low: low, High: high}}}
	}
	levels := []int{16, 1, 2, 4, 8, 32, 64}
	for _, tt := range []struct {
		knees []*usl.Knee
		want  []int
	}{
		{[]*usl.Knee{knee(4, 8)}, []int{2, 4, 8, 16}},
		{[]*usl.Knee{knee(1, 1)}, []int{1, 2}},
		{[]*usl.Knee{knee(5, 6)}, []int{2, 4, 8, 16}}, // between two levels: 4 and 8, and one more on either side
		{[]*usl.Knee{knee(1, 1), nil, knee(64, 64)}, []int{1, 2, 32, 64}},
		{nil, nil},
	} {
		if got := Between(levels, tt.knees...); !slices.Equal(got, tt.want) {
			t.Errorf("%v, want %v", got, tt.want)
		}
	}
}

// underWay is how long iterations may take that are under way when the time is up.
const underWay = 100 * time.Millisecond

// A sweep whose time is up has what it measured, and how long the whole takes. Two levels of 340 ms, visited
// 10 times, take 6.8 s, without the starts, which nothing foresees.
func TestTimeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
			time.Sleep(time.Second)
			return &trial.Live{Address: "s", Target: following(usl.Model{Gamma: 1000})}, nil
		}}
		d := Design{Levels: []int{1, 2}, Duration: 8 * time.Second, Visits: 10, Block: 200 * time.Millisecond, Warmup: 100 * time.Millisecond, Seed: 1}
		begun := time.Now()
		curve, err := Run(t.Context(), slow, load.Plan{}, d, nil)
		if err != nil || time.Since(begun) > d.Duration+underWay {
			t.Fatalf("%v after %v", err, time.Since(begun))
		}
		// A visit takes 1.68 s: 8 s have four whole ones, and no part of the fifth. A visit under way may end later:
		// 20 ÷ 8 · 8 to 8.1 s · 1.1 = 22 to 22.3 s, typed as 25.
		if up := curve.TimeUp; up == nil || up.Lacks != "8 of the 20 runs at 2 levels were made" || up.Needs != 25*time.Second {
			t.Errorf("time up %+v", up)
		}
		if curve.Best == nil || curve.Enough == nil || len(curve.Visits) != 8 {
			t.Errorf("%d visits, best %v, enough %v", len(curve.Visits), curve.Best, curve.Enough)
		}
	})
}

// Exploring may take a third of the time. A start takes 5 s, a level 340 ms: of 20 s it ends at the level after which 6.67 s
// are over.
func TestExploringIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
			time.Sleep(5 * time.Second)
			return &trial.Live{Address: "s", Target: following(usl.Model{Gamma: 1000})}, nil
		}}
		curve, err := Run(t.Context(), slow, load.Plan{}, Design{Duration: 20 * time.Second, Warmup: 100 * time.Millisecond, Seed: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		// 5 s + 5 · 340 ms = 6.7 s.
		if len(curve.Explored) != 5 || !strings.HasPrefix(curve.Ceiling, "a third of the 20s") {
			t.Errorf("explored %v, ceiling %q", concurrencies(curve.Explored), curve.Ceiling)
		}
		if up := curve.TimeUp; up == nil || up.Lacks != "no level above concurrency 16 was tried" || up.Needs < 30*time.Second {
			t.Errorf("time up %+v", up)
		}
	})
}

// Nothing measured is a mistake, not an empty answer; one who ends it is answered as without a limit.
func TestNothingWithinTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := trial.Arm{Name: "s", Start: func(ctx context.Context, _ trial.Setup) (*trial.Live, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		d := Design{Levels: []int{1}, Visits: 1, Block: time.Second, Duration: 10 * time.Second}
		if curve, err := Run(t.Context(), never, load.Plan{}, d, nil); err != nil || curve.TimeUp == nil || curve.TimeUp.Lacks != "0 of the 1 runs at 1 levels were made" {
			t.Errorf("%+v, %v", curve, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if curve, err := Run(ctx, never, load.Plan{}, d, nil); curve == nil || !errors.Is(err, context.DeadlineExceeded) || curve.TimeUp != nil || !curve.Interrupted || curve.Done() {
			t.Errorf("%+v, %v", curve, err)
		}
	})
}
