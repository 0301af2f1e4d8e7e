package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"contend/load"
	"contend/usl"
)

func TestLevelsAreChosenAroundThePeak(t *testing.T) {
	for _, tt := range []struct {
		name             string
		law              usl.Model
		limit            int
		explored, levels []int
	}{
		// Of X(45), X(32) and X(64) are 94 % and X(16) and X(128) 63 %: from 16 to 128 in six steps of √2.
		{"peak at 45", usl.Model{Beta: 1. / 45 / 45, Gamma: 1}, 1024,
			[]int{1, 2, 4, 8, 16, 32, 64, 128}, []int{1, 16, 23, 32, 45, 64, 91, 128}},
		// 6 levels are explored at least; X(2) = 1.64 and X(4) = 1.71 are near, from 1 to 8.
		{"peak at 3", usl.Model{Beta: 1. / 9, Gamma: 1}, 1024, []int{1, 2, 4, 8, 16, 32}, []int{1, 2, 3, 4, 6, 8}},
		{"falls from the first", usl.Model{Alpha: 2, Beta: 1, Gamma: 1}, 1024, []int{1, 2, 4, 8, 16, 32}, []int{1, 2, 4, 8, 16, 32}},
		// Near from 64 on (2 · 64 > 0.85 · 100): from 32 to the limit.
		{"rises to the limit", usl.Model{Gamma: 1}, 100, []int{1, 2, 4, 8, 16, 32, 64, 100}, []int{1, 64, 69, 74, 80, 86, 93, 100}},
		{"a small limit", usl.Model{Gamma: 1}, 3, []int{1, 2, 3}, []int{1, 2, 3}},
		// X(512) = 3.98 is 4 % more than X(64) = 3.82; X(32) = 3.66 is near, X(16) = 3.368 just not.
		{"flat", usl.Model{Alpha: 0.25, Gamma: 1}, 1024, []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, []int{1, 16, 29, 51, 91, 161, 287, 512}},
	} {
		var explored []int
		levels, err := Explore(tt.limit, func(n int) (float64, bool, error) {
			explored = append(explored, n)
			return tt.law.Throughput(float64(n)), true, nil
		})
		if err != nil || !slices.Equal(explored, tt.explored) || !slices.Equal(levels, tt.levels) {
			t.Errorf("%s: explored %v, chose %v (%v); want %v and %v", tt.name, explored, levels, err, tt.explored, tt.levels)
		}
	}
}

// Whatever the throughputs, levels ascend from 1, stay within the limit, and are
// 6 where there are as many numbers.
func TestChosenLevelsAreInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5000).Draw(t, "limit")
		levels, err := Explore(limit, func(int) (float64, bool, error) {
			return rapid.Float64Range(0, 10).Draw(t, "x"), rapid.IntRange(0, 9).Draw(t, "believed") > 0, nil
		})
		if err != nil || !slices.IsSorted(levels) || levels[0] != 1 || levels[len(levels)-1] > limit {
			t.Fatalf("%v, %v", levels, err)
		}
		if len(slices.Compact(slices.Clone(levels))) != len(levels) || len(levels) > regionLevels+2 {
			t.Fatalf("%v", levels)
		}
	})
}

func TestExploringEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	if levels, err := Explore(10, func(n int) (float64, bool, error) { return 1, true, broken }); err != broken || levels != nil {
		t.Errorf("%v, %v", levels, err)
	}
}

// following answers as the law says for the number of iterations in flight.
func following(law usl.Model) load.Func {
	var inFlight atomic.Int64
	return func(context.Context) (load.Outcome, error) {
		n := float64(inFlight.Add(1))
		defer inFlight.Add(-1)
		time.Sleep(time.Duration(n / law.Throughput(n) * float64(time.Second)))
		return load.Outcome{}, nil
	}
}

// N* = √(1/0.0025) = 20.
func TestSweepChoosesItsLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := 0
		server := Arm{Name: "s", Start: func(context.Context, Setup) (*Live, error) {
			started++
			return &Live{Address: "s", Target: following(usl.Model{Beta: 0.0025, Gamma: 100})}, nil
		}}
		d := SweepDesign{Visits: 3, Block: time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
		curve, err := Sweep(t.Context(), server, load.Plan{}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 8, 11, 16, 23, 32, 45, 64}; len(curve.Visits) != 3*len(want) || !slices.Equal(concurrencies(curve.Results), want) {
			t.Errorf("levels %v in %d visits", concurrencies(curve.Results), len(curve.Visits))
		}
		if want := []int{1, 2, 4, 8, 16, 32, 64}; !slices.Equal(concurrencies(curve.Explored), want) || curve.Ceiling != "" {
			t.Errorf("explored %v, ceiling %q", concurrencies(curve.Explored), curve.Ceiling)
		}
		if started != 4 {
			t.Errorf("the server was started %d times, want once to explore and once a visit", started)
		}
		for i := 0; i < len(curve.Visits); i += 8 {
			if slices.IsSorted(concurrencies(curve.Visits[i : i+8])) {
				t.Error("a visit is in ascending order")
			}
		}
		if curve.Fit == nil || curve.Fit.Peak == nil || curve.Fit.Peak.Optimum < 18 || curve.Fit.Peak.Optimum > 22 {
			t.Errorf("fit %+v, %s", curve.Fit, curve.NoFit)
		}
	})
}

func concurrencies(cells []Cell) []int {
	var list []int
	for _, c := range cells {
		list = append(list, c.Concurrency)
	}
	return list
}

// A server that turns the 17th user away ends the doubling at 32; one that cannot
// even be connected to by them does, too.
func TestDoublingEndsWhereVisitsAreDoubtful(t *testing.T) {
	for _, refusesVU := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			target := limited{most: 16, refusesVU: refusesVU}
			server := Arm{Name: "s", Start: func(context.Context, Setup) (*Live, error) {
				return &Live{Address: "s", Target: &target}, nil
			}}
			d := SweepDesign{Visits: 2, Block: time.Second, Warmup: 100 * time.Millisecond, Seed: 1}
			curve, err := Sweep(t.Context(), server, load.Plan{}, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := concurrencies(curve.Results); slices.Max(got) != 16 || len(got) < 6 || !strings.Contains(curve.Ceiling, "32 VUs") {
				t.Errorf("levels %v, ceiling %q", got, curve.Ceiling)
			}
			if curve.LeftOut != "" || curve.Fit == nil || !strings.Contains(curve.Fit.NoPeak, "still rises") {
				t.Errorf("left out %q, fit %+v", curve.LeftOut, curve.Fit)
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

// The fit does without the levels from the first on that must not be believed.
func TestFitLeavesOutWhatIsDoubtful(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := limited{most: 16}
		server := Arm{Name: "s", Start: func(context.Context, Setup) (*Live, error) {
			return &Live{Address: "s", Target: &target}, nil
		}}
		d := SweepDesign{Levels: []int{1, 4, 8, 32, 64}, Visits: 2, Block: time.Second, Seed: 1}
		curve, err := Sweep(t.Context(), server, load.Plan{}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(curve.LeftOut, "the levels from 32 VUs on (2 of 5), because 4 of") || curve.Fit == nil || len(curve.Fit.Residuals) != 6 {
			t.Errorf("left out %q, fit %+v", curve.LeftOut, curve.Fit)
		}
	})
}
