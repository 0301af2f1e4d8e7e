package sweep

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/trial"
	"contend/trial/trialtest"
	"contend/usl"
)

// following answers as the law says for the number of iterations in flight.
func following(law usl.Model) load.Func {
	return answering(func(n int) float64 { return law.Throughput(float64(n)) })
}

// answering answers so many a second for the number of iterations in flight.
func answering(perSec func(inFlight int) float64) load.Func {
	var inFlight atomic.Int64
	return func(context.Context) (load.Outcome, error) {
		n := int(inFlight.Add(1))
		defer inFlight.Add(-1)
		time.Sleep(time.Duration(float64(n) / perSec(n) * float64(time.Second)))
		return load.Outcome{}, nil
	}
}

// N* = √(1/0.0025) = 20.
func TestSweepChoosesItsLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := 0
		server := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
			started++
			return &trial.Live{Address: "s", Target: following(usl.Model{Beta: 0.0025, Gamma: 100})}, nil
		}}
		d := Design{Within: WithinBest, Visits: 3, Block: time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
		curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 2, 8, 11, 16, 23, 32, 45, 64}; len(curve.Visits) != 3*len(want) || !slices.Equal(concurrencies(curve.Results), want) {
			t.Errorf("levels %v in %d visits", concurrencies(curve.Results), len(curve.Visits))
		}
		if want := []int{1, 2, 4, 8, 16, 32, 64}; !slices.Equal(concurrencies(curve.Explored), want) || curve.Ceiling != "" {
			t.Errorf("explored %v, ceiling %q", concurrencies(curve.Explored), curve.Ceiling)
		}
		if started != 4 {
			t.Errorf("the server was started %d times, want once to explore and once a visit", started)
		}
		for i := 0; i < len(curve.Visits); i += 9 {
			if slices.IsSorted(concurrencies(curve.Visits[i : i+9])) {
				t.Error("a visit is in ascending order")
			}
		}
		if curve.Fit == nil || curve.Fit.Peak == nil || curve.Fit.Peak.Optimum < 18 || curve.Fit.Peak.Optimum > 22 {
			t.Errorf("fit %+v, %s", curve.Fit, curve.NoFit)
		}
	})
}

func concurrencies(cells []trial.Cell) []int {
	var list []int
	for _, c := range cells {
		list = append(list, c.Concurrency)
	}
	return list
}

// A server that turns the 17th user away ends the doubling at 32; so does one
// that they cannot even connect to.
func TestDoublingEndsWhereVisitsAreDoubtful(t *testing.T) {
	for _, refusesVU := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			target := limited{most: 16, refusesVU: refusesVU}
			server := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
				return &trial.Live{Address: "s", Target: &target}, nil
			}}
			d := Design{Visits: 2, Block: time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
			curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := concurrencies(curve.Results); slices.Max(got) != 16 || len(got) < 6 || !strings.Contains(curve.Ceiling, "concurrency 32") {
				t.Errorf("levels %v, ceiling %q", got, curve.Ceiling)
			}
			if curve.LeftOut != "" || curve.Fit == nil || !strings.Contains(curve.Fit.NoPeak, "still rises") {
				t.Errorf("left out %q, fit %+v", curve.LeftOut, curve.Fit)
			}
		})
	}
}

// A server that answers nothing right is driven at one level, or once at each that is given: more shows nothing.
func TestSweepEndsWhereNothingIsRight(t *testing.T) {
	for _, tt := range []struct{ levels, want []int }{{nil, []int{1}}, {[]int{1, 4, 8}, []int{1, 4, 8}}} {
		synctest.Test(t, func(t *testing.T) {
			started := 0
			server := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
				started++
				return &trial.Live{Address: "s", Target: &limited{most: 0}}, nil
			}}
			d := Design{Levels: tt.levels, Block: time.Second, Warmup: 100 * time.Millisecond, Duration: time.Hour, Seed: 1}
			curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := concurrencies(curve.Results); !slices.Equal(got, tt.want) || len(curve.Visits) != len(tt.want) || started > 2 || curve.TimeUp != nil {
				t.Errorf("levels %v in %d visits after %d starts, want %v once; time up: %+v", got, len(curve.Visits), started, tt.want, curve.TimeUp)
			}
		})
	}
}

// limited serves so many VUs and no more.
type limited struct {
	most      int
	refusesVU bool
}

func (l *limited) NewVU(_ context.Context, id int) (load.VU, error) {
	if l.refusesVU && id >= l.most {
		return nil, errors.New("full")
	}
	return load.Func(func(context.Context) (load.Outcome, error) {
		time.Sleep(10 * time.Millisecond)
		return load.Outcome{Failed: id >= l.most}, nil
	}), nil
}

// The fit excludes the levels from the first INVALID one up.
func TestFitLeavesOutWhatIsDoubtful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := limited{most: 16}
		server := trial.Arm{Name: "s", Start: func(context.Context, trial.Setup) (*trial.Live, error) {
			return &trial.Live{Address: "s", Target: &target}, nil
		}}
		d := Design{Levels: []int{1, 4, 8, 32, 64}, Visits: 2, Block: time.Second, Seed: 1}
		curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(curve.LeftOut, "the levels from concurrency 32 up (2 of 5), because concurrency 32 is INVALID (errors)") || curve.Fit == nil || len(curve.Fit.Residuals) != 6 {
			t.Errorf("left out %q, fit %+v", curve.LeftOut, curve.Fit)
		}
	})
}

// X(N) = N ÷ max(10 ms, N · 1 ms): a server that answers in 10 ms and takes one
// request per millisecond saturates at concurrency 10 and stays there.
func TestSweepFindsTheKnee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := make(chan struct{}, 1)
		server := trialtest.Arm("s", func(context.Context) (load.Outcome, error) {
			slot <- struct{}{}
			time.Sleep(time.Millisecond)
			<-slot
			time.Sleep(9 * time.Millisecond)
			return load.Outcome{}, nil
		})
		d := Design{Levels: []int{1, 2, 4, 8, 10, 16, 32}, Visits: 2, Block: time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
		curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if curve.Enough == nil || curve.Enough.N.Value != 10 {
			t.Errorf("the smallest level within 5%% of the best is %v, want 10", curve.Enough)
		}
		if curve.Fit != nil && curve.Fit.Peak != nil {
			t.Errorf("a peak at %v was claimed, but throughput never falls", curve.Fit.Peak.N)
		}
		if len(curve.Results) != len(d.Levels) || curve.Results[2].Completed == 0 {
			t.Errorf("%d results for %d levels", len(curve.Results), len(d.Levels))
		}
	})
}

// Throughput rises to 8 VUs and falls beyond, 12.5% with each doubling. From 2
// and 4 the sweep goes on to 8, 16 and 32, the second level that has fallen.
func TestSweepExtendsUntilTwoLevelsFall(t *testing.T) {
	for limit, want := range map[int][]int{0: {2, 4}, 10: {2, 4, 8, 10}, 1000: {2, 4, 8, 16, 32}} {
		synctest.Test(t, func(t *testing.T) {
			var inFlight atomic.Int64
			server := trialtest.Arm("s", func(context.Context) (load.Outcome, error) {
				n := float64(inFlight.Add(1))
				defer inFlight.Add(-1)
				rate := n * 100
				if n > 8 {
					rate = 800 * math.Pow(0.875, math.Log2(n/8))
				}
				time.Sleep(time.Duration(n / rate * float64(time.Second)))
				return load.Outcome{}, nil
			})
			d := Design{Levels: []int{2, 4}, ExtendTo: limit, Visits: 2, Block: time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
			curve, err := Run(t.Context(), server, load.Plan{}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, r := range curve.Results {
				got = append(got, r.Concurrency)
			}
			if !slices.Equal(got, want) || len(curve.Visits) != 2*len(want) {
				t.Errorf("up to %d: levels %v in %d visits, want %v twice", limit, got, len(curve.Visits), want)
			}
		})
	}
}
