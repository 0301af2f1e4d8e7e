package trial

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"contend/finding"
	"contend/hist"
	"contend/metric"
	"contend/stat"
)

// answeredIn is what an arm showed in a round: responses that take from one time to another, in even steps.
func answeredIn(arm string, round, responses int, from, to float64) Cell {
	c := cellOf(arm, round, int64(responses), [4]float64{1, 1, 1, 1})
	c.Response = new(hist.Histogram)
	for i := range responses {
		c.Response.Record(time.Duration(from + (to-from)*float64(i)/float64(responses)))
	}
	return c
}

// quietAndDisturbed has quiet rounds, in which all responses of the candidate take 3% longer than those of the baseline, and disturbed
// ones, in which they are anywhere, and the one or the other arm is slower by far.
func quietAndDisturbed(m metric.Name, responses int) *Trials {
	t := &Trials{Arms: []string{"a", "b"}, Weighted: true, Design: Design{Rounds: 12, Pairs: 1, Levels: []int{4}, Confidence: 0.95, Metrics: []metric.Name{m}}}
	for n := 1; n <= 12; n++ {
		base, cand := []float64{1e6, 1.1e6}, []float64{1.03e6, 1.133e6}
		if n > 7 {
			base, cand = []float64{1e5, 5e6}, []float64{1e5, 8e6}
			if n%2 == 0 {
				base, cand = cand, base
			}
		}
		t.Rounds = append(t.Rounds, answeredIn("a", n, responses, base[0], base[1]), answeredIn("b", n, responses, cand[0], cand[1]))
	}
	return t
}

// Seven quiet rounds know p50 to 0.1%, five disturbed ones to about 10%: the quiet ones decide. Without weights
// the interval extends from the disturbed ones to the others.
func TestRoundsOfPercentilesCountByWhatTheyKnow(t *testing.T) {
	for _, m := range []metric.Name{metric.ResponseP50, metric.ResponseP99} {
		trials := quietAndDisturbed(m, 1000)
		trials.Derive()
		c := trials.Comparisons[0]
		if len(c.RoundWeights) != 12 || slices.Min(c.RoundWeights[:7]) < 5*slices.Max(c.RoundWeights[7:]) {
			t.Errorf("%s: weights %v", m, c.RoundWeights)
		}
		plain, err := stat.Paired(c.RoundLogRatios, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.Ratio-1.03) > 0.01 || math.Log(c.High/c.Low) > 0.5*math.Log(plain.High/plain.Low) {
			t.Errorf("%s: %g [%g, %g], without weights %g [%g, %g]", m, c.Ratio, c.Low, c.High, plain.Ratio, plain.Low, plain.High)
		}
	}
}

// The baseline's 5.0 of 500 responses lie beyond p99 in a round, which is enough; 4.9 of 490 are not.
func TestFewResponsesBeyondAPercentile(t *testing.T) {
	for responses, refused := range map[int]bool{500: false, 490: true} {
		trials := quietAndDisturbed(metric.ResponseP99, responses)
		trials.Derive()
		if c := trials.Comparisons[0]; c.Reason.Is(finding.FewSamples) != refused {
			t.Errorf("%d responses: reason %v", responses, c.Reason)
		}
	}
}

// Documents without Weighted have rounds of equal weight, whose percentiles are those of the results,
// and need 20 responses beyond them.
func TestPercentilesOfOlderDocuments(t *testing.T) {
	for responses, refused := range map[int]bool{2000: false, 1990: true} {
		trials := quietAndDisturbed(metric.ResponseP99, responses)
		trials.Weighted = false
		text, err := json.Marshal(trials)
		if err != nil {
			t.Fatal(err)
		}
		read := new(Trials)
		if err := json.Unmarshal(text, read); err != nil {
			t.Fatal(err)
		}
		read.Derive()
		c := read.Comparisons[0]
		if c.Reason.Is(finding.FewSamples) != refused || c.RoundWeights != nil {
			t.Errorf("%d responses: reason %v, weights %v", responses, c.Reason, c.RoundWeights)
		}
		first := trials.Rounds
		want := math.Log(float64(first[1].Response.Quantile(0.99)) / float64(first[0].Response.Quantile(0.99)))
		if math.Abs(c.RoundLogRatios[0]-want) > 1e-9 {
			t.Errorf("round 1: %g, want %g", c.RoundLogRatios[0], want)
		}
	}
}
