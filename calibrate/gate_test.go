package calibrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// equal is a calibration of so many comparisons of 6 rounds, which have the spread within and one of their own.
func equal(comparisons int, within, own float64, planned int) *Calibration {
	random := rand.New(rand.NewPCG(1, 1))
	c := &Calibration{Design: comparison(), PlannedRounds: planned}
	for range comparisons {
		found := trial.Comparison{Metric: metric.Throughput, Primary: true, Verdict: stat.Inconclusive}
		shift := own * random.NormFloat64()
		for range 6 {
			found.RoundLogRatios = append(found.RoundLogRatios, shift+within*random.NormFloat64())
		}
		c.Comparisons = append(c.Comparisons, found)
	}
	c.Derive()
	return c
}

func judged(t *testing.T, c *Calibration) *Gate {
	t.Helper()
	g, err := c.gate()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Of equal arms with independent rounds at most 2.5% are SLOWER, half of the false alarms, but for three standard errors
// (1.0%). A slowdown is found from about stat.Smallest on, above which several looks have to be paid for.
func TestGate(t *testing.T) {
	for _, spread := range []float64{0.01, 0.04} {
		c := equal(160, spread, 0, trial.PlannedRounds)
		g := judged(t, c)
		smallest := c.Visible[0].Smallest
		t.Logf("spread %v: %+v, smallest %v", spread, g, smallest)
		if g.Rounds != trial.PlannedRounds || g.Accuses(1) > 0.035 || g.Accused == 0 && spread > 0.03 || g.Finds < smallest || g.FindsTwice < g.Finds {
			t.Errorf("spread %v: %+v; smallest %v", spread, g, smallest)
		}
		if got := g.Accuses(2); math.Abs(got-g.Accuses(1)*g.Accuses(1)) > 1e-12 {
			t.Errorf("two accuse %v", got)
		}
	}
}

// What lasts as long as a comparison raises more alarms.
func TestGateOfAMachineWithMoods(t *testing.T) {
	steady, moody := judged(t, equal(160, 0.03, 0, 13)), judged(t, equal(160, 0.03, 0.06, 13))
	t.Logf("%+v, %+v", steady, moody)
	if moody.Accused < 3*steady.Accused || moody.Finds < steady.Finds {
		t.Errorf("%+v, want clearly more than %+v", moody, steady)
	}
}

func TestGateWithoutAnswer(t *testing.T) {
	c := equal(2, 0.03, 0, 13)
	for i := range c.Comparisons {
		c.Comparisons[i].Verdict = stat.Invalid
	}
	if g := judged(t, c); g != nil {
		t.Errorf("%+v of nothing", g)
	}
	if g := judged(t, equal(20, 3, 0, 13)); g.Finds != 0 || g.FindsTwice != 0 {
		t.Errorf("%+v in rounds that differ twentyfold", g)
	}
}
