package trial

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"contend/finding"
	"contend/internal/testenv"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// crowded puts a cell on a full machine of two cores: in each second generator and server had
// this share each half, and waited for a core longer than that.
func crowded(c Cell, share float64) Cell {
	c.Model, c.MachineCPUSec, c.MachineCores = load.ClosedModel, 2, 2
	c.GeneratorCPUSec, c.GeneratorWaitedSec = share, 2*share
	c.Server = &load.Usage{CPUSec: share, WaitedSec: 2 * share}
	return c
}

// crowdedTrials has rounds of one pair each; round returns the operations of the arms and the
// shares of the machine that they had.
func crowdedTrials(rounds int, round func(n int) (ops [2]int64, shares [2]float64)) *Trials {
	t := &Trials{Arms: []string{"a", "b"}, Design: Design{Rounds: rounds, Pairs: 1, Levels: []int{4}, Confidence: 0.95, Margin: new(0.02),
		Metrics: []metric.Name{metric.Throughput, metric.ServerCPUPerOp}}}
	for n := 1; n <= rounds; n++ {
		ops, shares := round(n)
		for i, arm := range t.Arms {
			c := crowded(cellOf(arm, n, ops[i], [4]float64{}), shares[i])
			t.Rounds = append(t.Rounds, c)
			c.Pair = 1
			t.Blocks = append(t.Blocks, c)
		}
	}
	t.Derive()
	return t
}

// Generator and server had 40% of two full cores: without the others either arm could be 2.5 times
// as fast. 4 ÷ 2.5 = 1.6, so the candidate is faster whatever they did; 2 ÷ 2.5 < 1.
func TestDirectionInSpiteOfOthers(t *testing.T) {
	for _, tt := range []struct {
		ops    [2]int64
		shares [2]float64
		want   stat.Verdict
		low    float64
		high   float64
	}{
		{[2]int64{1000, 4000}, [2]float64{0.4, 0.4}, stat.Faster, 1.6, 10},
		{[2]int64{4000, 1000}, [2]float64{0.4, 0.4}, stat.Slower, 0.1, 0.625},
		{[2]int64{1000, 2000}, [2]float64{0.4, 0.4}, stat.Invalid, 2, 2},
		{[2]int64{1000, 1000}, [2]float64{0.4, 0.4}, stat.Invalid, 1, 1},
		// The baseline had only a tenth of the machine: ten times as fast, it would be the faster one.
		{[2]int64{1000, 4000}, [2]float64{0.1, 0.9}, stat.Invalid, 4, 4},
		// The candidate had a tenth, and was the faster one all the same.
		{[2]int64{1000, 1500}, [2]float64{0.9, 0.1}, stat.Faster, 1.35, 15},
	} {
		got := crowdedTrials(8, func(int) ([2]int64, [2]float64) { return tt.ops, tt.shares })
		c, cpu := got.Comparisons[0], got.Comparisons[1]
		if c.Verdict != tt.want || math.Abs(c.Low/tt.low-1) > 1e-9 || math.Abs(c.High/tt.high-1) > 1e-9 {
			t.Errorf("%v with %v: %s from %g to %g; want %s from %g to %g", tt.ops, tt.shares, c.Verdict, c.Low, c.High, tt.want, tt.low, tt.high)
		}
		if told := tt.want != stat.Invalid; told != finding.MachineBusy.In(c.Warnings[len(c.Warnings)-1:]) && told {
			t.Errorf("%v with %v: nothing says that the interval is wider: %v", tt.ops, tt.shares, c.Warnings)
		} else if !told && (!c.Reason.Is(finding.MachineBusy) || !strings.Contains(c.Reason.Text, " of up to ")) {
			t.Errorf("%v with %v: refused because of %v", tt.ops, tt.shares, c.Reason)
		}
		if cpu.Verdict != stat.Invalid {
			t.Errorf("%v with %v: CPU time is %s", tt.ops, tt.shares, cpu.Verdict)
		}
	}
}

// Other problems remain a refusal, however large the difference is.
func TestOthersAreNotAllThatIsWrong(t *testing.T) {
	few := func(change func(*Cell)) *Trials {
		got := crowdedTrials(8, func(int) ([2]int64, [2]float64) { return [2]int64{1000, 9000}, [2]float64{0.4, 0.4} })
		for i := range got.Rounds {
			change(&got.Rounds[i])
		}
		got.Derive()
		return got
	}
	for name, change := range map[string]func(*Cell){
		"errors of the candidate": func(c *Cell) {
			if c.Arm == "b" {
				c.Failed, c.Planned = 900, c.Completed+900
			}
		},
		"open model": func(c *Cell) { c.Model = load.OpenModel },
		"a round in which nothing was sampled": func(c *Cell) {
			if c.Round == 3 {
				c.GeneratorCPUSec, c.Server = 0, &load.Usage{WaitedSec: 1}
			}
		},
	} {
		if c := few(change).Comparisons[0]; c.Verdict != stat.Invalid {
			t.Errorf("%s: %s because of %v", name, c.Verdict, c.Reason)
		}
	}
}

// Where others took the machine and all answers of the candidate were wrong, its answers are the reason.
func TestWrongAnswersComeBeforeOthers(t *testing.T) {
	got := crowdedTrials(8, func(int) ([2]int64, [2]float64) { return [2]int64{1000, 1000}, [2]float64{0.4, 0.4} })
	for i := range got.Rounds {
		if c := &got.Rounds[i]; c.Arm == "b" {
			c.Failed, c.Completed = c.Completed, 0
		}
	}
	got.Derive()
	a, _ := got.Result("a", 4)
	if c := got.Comparisons[0]; !c.Reason.Is(finding.Errors) || !a.RefusalOf(metric.Throughput).Is(finding.MachineBusy) {
		t.Errorf("refused because of %v, with %v of the baseline alone", c.Reason, a.RefusalOf(metric.Throughput))
	}
}

// Equal servers that others slow by chance, each by up to all the CPU time that they take, and noise: at
// most 5 of 100 comparisons name a faster one. If the worst comes in every round to the same side, that
// is the bound itself: there the interval ends at 1 without noise, and misses it in 2.5 of 100.
func TestEqualServersWithOthers(t *testing.T) {
	comparisons, rounds := map[bool]int{false: 200, true: 50}[testenv.Race], 12 // arithmetic in one goroutine
	for name, worst := range map[string]bool{"by chance": false, "the worst": true} {
		random := rand.New(rand.NewPCG(1, 2))
		wrong := 0
		for range comparisons {
			c := crowdedTrials(rounds, func(int) (ops [2]int64, shares [2]float64) {
				for i := range ops {
					shares[i] = 0.1 + 0.35*random.Float64()
					slow := random.Float64() // of what the CPU time that others took allows
					if worst {
						slow = float64(1 - i)
					}
					ops[i] = int64(1e6 * math.Pow(shares[i], slow) * math.Exp(0.1*random.NormFloat64()))
				}
				return ops, shares
			}).Comparisons[0]
			if c.Verdict != stat.Invalid {
				wrong++
			}
		}
		// 5% of 200 are 10; by chance up to 10 + 3·√(200·0.05·0.95) = 19.
		if n := float64(comparisons); float64(wrong) > 0.05*n+3*math.Sqrt(n*0.05*0.95) {
			t.Errorf("%s: %d of %d comparisons of equal servers name a faster one", name, wrong, comparisons)
		}
	}
}
