package guard_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/errkind"
	designs "contend/guard"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, c guard.Config) *guard.Target {
	t.Helper()
	target, err := guard.New(c)
	testenv.Must(t, err)
	t.Cleanup(func() { target.Close() })
	return target
}

// drive lets vus virtual users do iterations batches each.
func drive(t *testing.T, target *guard.Target, vus, iterations int) {
	t.Helper()
	var wg sync.WaitGroup
	for id := range vus {
		vu, err := target.NewVU(t.Context(), id)
		testenv.Must(t, err)
		wg.Go(func() {
			for range iterations {
				outcome, err := vu.Do(t.Context())
				if want := int64(target.Config().Batch); err != nil || outcome.Ops != want || outcome.Failed {
					t.Errorf("Do = %+v, %v: want %d operations", outcome, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// can reports whether a design can do a kind, from the table of designs.
func can(d designs.Design, k guard.Kind) bool {
	switch k {
	case guard.AddGet:
		return d.NewCounter != nil
	case guard.Section:
		return d.Exclusive
	}
	return true
}

func TestEveryDesignDoesEveryKindItCan(t *testing.T) {
	const vus, iterations, batch = 4, 10, 300
	for _, d := range designs.Designs() {
		for _, k := range guard.Kinds() {
			c := guard.Config{Design: d.Name, Kind: k, Batch: batch}
			t.Run(d.Name+"/"+string(k), func(t *testing.T) {
				if !can(d, k) {
					if _, err := guard.New(c); err == nil {
						t.Error("no error")
					}
					return
				}
				target := open(t, c)
				drive(t, target, vus, iterations)
				stats, err := target.Stats(t.Context())
				testenv.Must(t, err)
				checkStats(t, stats, vus, iterations*batch)
				added := int64(vus * iterations * batch)
				if k == guard.ReadMostly {
					added /= 100 // each VU does 3000 operations, 30 whole cycles from any point
				}
				if stats.Added != added || stats.Final != added || stats.Check() != nil {
					t.Errorf("added %d, final %d, check %v: want %d", stats.Added, stats.Final, stats.Check(), added)
				}
			})
		}
	}
}

func checkStats(t *testing.T, s guard.Stats, vus int, opsPerVU int64) {
	t.Helper()
	if s.Ops != int64(vus)*opsPerVU || len(s.OpsPerVU) != vus || s.Jain != 1 || s.MinMax != 1 {
		t.Errorf("%d operations, %v, Jain %v, min/max %v: want %d equal shares of %d",
			s.Ops, s.OpsPerVU, s.Jain, s.MinMax, vus, opsPerVU)
	}
	// One operation in 256 (or 250, for sections of 200 ns) is timed: 12000/256 is
	// 47. The gaps are uniform, with a deviation of 148; so their sum deviates by
	// 148·√47 ≈ 1000 operations or 4 samples. Allow five times that.
	if n := s.Latency.Count(); n < 27 || n > 68 {
		t.Errorf("%d of %d operations were timed: want about 47", n, s.Ops)
	}
	if s.Clock <= 0 || s.Clock > time.Millisecond {
		t.Errorf("clock pair %v", s.Clock)
	}
}

func TestLongSectionsAreTimedOftener(t *testing.T) {
	target := open(t, guard.Config{Design: "mutex", Kind: guard.Section, Section: 50 * time.Microsecond, Batch: 10})
	drive(t, target, 1, 3)
	stats, err := target.Stats(t.Context())
	testenv.Must(t, err)
	if stats.Latency.Count() != 30 { // 50 µs of operations from one to the next: all
		t.Errorf("%d operations of 30 were timed: want all", stats.Latency.Count())
	}
	if shortest := stats.Latency.Min(); shortest < 20*time.Microsecond {
		t.Errorf("a section of 50µs took %v", shortest)
	}
}

func TestDoObeysContext(t *testing.T) {
	target := open(t, guard.Config{Design: "inputq"})
	vu, err := target.NewVU(t.Context(), 0)
	testenv.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := vu.Do(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if _, err := vu.Do(t.Context()); err != nil {
		t.Errorf("Do after an error: %v", err)
	}
}

func TestDoOnAClosedGuard(t *testing.T) {
	for _, k := range guard.Kinds() {
		target := open(t, guard.Config{Design: "mutex", Kind: k})
		vu, err := target.NewVU(t.Context(), 0)
		testenv.Must(t, err)
		target.Close()
		if _, err := vu.Do(t.Context()); errkind.Of(err) != errkind.Closed {
			t.Errorf("%s: error %v of kind %s, want %s", k, err, errkind.Of(err), errkind.Closed)
		}
		if _, err := target.Stats(t.Context()); err == nil {
			t.Errorf("%s: Stats after Close: no error", k)
		}
	}
}

func TestCheckReportsLostAdditions(t *testing.T) {
	if err := (guard.Stats{Added: 5, Final: 4}).Check(); err == nil {
		t.Error("no error")
	}
}

func TestEngineDrivesIt(t *testing.T) {
	target := open(t, guard.Config{Design: "combining", Kind: guard.AddGet, Batch: 100})
	result, err := load.Run(t.Context(), "guard:combining", target, load.Plan{VUs: 3, Iterations: 90})
	testenv.Must(t, err)
	stats, err := target.Stats(t.Context())
	testenv.Must(t, err)
	if result.Completed != 90 || stats.Ops < 9000 || stats.Check() != nil {
		t.Errorf("%d iterations, %d operations, %v: want 90 and at least 9000", result.Completed, stats.Ops, stats.Check())
	}
	if math.IsNaN(stats.Jain) || stats.Jain < 1.0/3 {
		t.Errorf("Jain's index %v: want at least 1/3", stats.Jain)
	}
}

func TestSameSeedSameChoices(t *testing.T) {
	counts := make(map[int64]bool)
	for range 3 {
		target := open(t, guard.Config{Design: "atomic", Kind: guard.ReadMostly, Seed: 7, Batch: 999})
		drive(t, target, 1, 3)
		stats, err := target.Stats(t.Context())
		testenv.Must(t, err)
		counts[stats.Latency.Count()<<32|stats.Added] = true
	}
	if len(counts) != 1 {
		t.Errorf("%d different runs: want 1", len(counts))
	}
}

func BenchmarkDo(b *testing.B) {
	for _, c := range []guard.Config{
		{Design: "atomic"}, {Design: "mutex"}, {Design: "striped"}, {Design: "mutex", Kind: guard.Section},
	} {
		b.Run(c.Design+string(c.Kind), func(b *testing.B) {
			target, err := guard.New(c)
			testenv.Must(b, err)
			defer target.Close()
			vu, err := target.NewVU(b.Context(), 0)
			testenv.Must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = vu.Do(b.Context())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*target.Config().Batch), "ns/operation")
		})
	}
}
