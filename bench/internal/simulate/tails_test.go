package simulate

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"contend/hist"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// A tail is a comparison of a percentile of response times, in rounds of fresh processes whose tails
// differ from start to start.
type tail struct {
	metric metric.Name
	// answers are those of a round of the baseline and of the candidate.
	answers [2]int
	// factor is that of all times of the candidate; 1: the servers are equal.
	factor float64
	// slow is the share of the candidate's requests that take 5 ms longer.
	slow float64
}

// told is how often comparisons say something, as shares.
type told struct {
	longer, shorter float64 // the candidate's percentile, at any look
	covers          float64 // the intervals of all looks hold the factor
	width           float64 // of the interval of the last look, the mean of ln(high ÷ low)
}

// play plays comparisons with these looks, at the levels of stat.SequentialLevels for 5 % in all, and
// says also what they would come to without the weights of rounds. Their rounds are drawn from those of a hundred, since
// to play one takes longer than to judge it.
func (tt tail) play(looks []stat.Look, experiments int, seed uint64) (weighted, plain told, err error) {
	levels, err := stat.SequentialLevels(looks, 1-confidence)
	r := rand.New(rand.NewPCG(seed, uint64(tt.answers[0]+tt.answers[1])))
	last := looks[len(looks)-1].Rounds
	rounds := make([][2]float64, 100*last)
	for i := range rounds {
		rounds[i][0], rounds[i][1] = tt.round(r)
	}
	for n := 0; n < experiments && err == nil; n++ {
		var logs, weights []float64
		for range last {
			drawn := rounds[r.IntN(len(rounds))]
			logs, weights = append(logs, drawn[0]), append(weights, drawn[1])
		}
		err = errors.Join(weighted.add(tt, looks, levels, logs, weights, experiments), plain.add(tt, looks, levels, logs, nil, experiments))
	}
	return weighted, plain, err
}

// add adds one of so many comparisons.
func (s *told) add(tt tail, looks []stat.Look, levels, logs, weights []float64, experiments int) error {
	each := 1 / float64(experiments)
	longer, shorter, covers := false, false, true
	for k, look := range looks {
		e, err := stat.Weighted(logs[:look.Rounds], weights[:min(look.Rounds, len(weights))], 1-levels[k])
		if err != nil {
			return err
		}
		longer, shorter = longer || e.Low > 1, shorter || e.Bounded() && e.High < 1
		covers = covers && (!e.Bounded() || e.Low <= tt.factor && tt.factor <= e.High)
		if k == len(looks)-1 {
			s.width += each * math.Log(e.High/e.Low)
		}
	}
	s.longer += each * float64(count(longer))
	s.shorter += each * float64(count(shorter))
	s.covers += each * float64(count(covers))
	return nil
}

// round is the log-ratio of one round and its weight. Both servers have the same machine, whose speed
// differs by 10 % from round to round.
func (tt tail) round(r *rand.Rand) (log, weight float64) {
	machine := math.Exp(0.1 * r.NormFloat64())
	base, err1, _ := tt.metric.Estimate(answered(r, tt.answers[0], machine, 0))
	cand, err2, _ := tt.metric.Estimate(answered(r, tt.answers[1], machine*tt.factor, tt.slow))
	return cand - base, 1 / math.Hypot(err1, err2)
}

// answered is what a fresh process answers: lognormal around half a millisecond. A share of the requests, which
// differs from start to start by a factor of 1.5 either way, waits 3 ms on average for something else. Every third
// process is disturbed while it answers up to a tenth of its requests.
func answered(r *rand.Rand, n int, factor, slow float64) *load.Result {
	waits := 0.01 * math.Exp(0.4*r.NormFloat64())
	disturbed := 0.0
	if r.IntN(3) == 0 {
		disturbed = 0.1 * r.Float64()
	}
	times := usual()
	played.Reset()
	for range n {
		bits := r.Uint64() // all that is drawn for most answers: millions of them are played
		happens := func(share float64) bool {
			bits >>= 16
			return float64(bits&0xffff) < share*(1<<16)
		}
		ms := times[bits&0xffff]
		if happens(waits) {
			ms += 3 * r.ExpFloat64()
		}
		if happens(disturbed) {
			ms += 4 * r.ExpFloat64()
		}
		if happens(slow) {
			ms += 5
		}
		played.Record(time.Duration(factor * ms * float64(time.Millisecond)))
	}
	return &load.Result{Counts: load.Counts{Response: &played}}
}

// played are the answers of one process after another.
var played hist.Histogram

// usual are lognormal times in milliseconds.
var usual = sync.OnceValue(func() *[1 << 16]float64 {
	ms := new([1 << 16]float64)
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range ms {
		ms[i] = 0.5 * math.Exp(0.25*r.NormFloat64())
	}
	return ms
})

// Equal tails get a verdict that they differ in at most 5 %, whatever the number of answers in a round is
// and however different those of the two are; all intervals hold the truth in at least 95 %. 400 experiments
// at 0.05 have a standard deviation of 0.0109, and three are granted. 2 % of requests that take 5 ms longer
// are found, which 100 experiments show.
func TestTails(t *testing.T) {
	for _, tt := range []struct {
		tail
		experiments int
		found       float64 // at least so often
	}{
		{tail{metric.ResponseP99, [2]int{2000, 2000}, 1, 0}, 400, 0},
		{tail{metric.ResponseP99, [2]int{500, 500}, 1, 0}, 400, 0},
		{tail{metric.ResponseP99, [2]int{1000, 500}, 1, 0}, 400, 0},
		{tail{metric.ResponseP99, [2]int{500, 500}, 1.2, 0}, 400, 0},
		{tail{metric.ResponseP50, [2]int{500, 500}, 1.05, 0}, 400, 0.99},
		{tail{metric.ResponseP99, [2]int{2000, 2000}, 1, 0.02}, 100, 0.95},
		{tail{metric.ResponseP99, [2]int{500, 500}, 1, 0.02}, 100, 0.95},
	} {
		got, plain, err := tt.play(looks(math.Cbrt, 7, 8, 10, 13, 17, 22, 28, 34), tt.experiments, seed)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %d answers a round, %g times, %g longer: longer in %.1f %%, shorter in %.1f %%, covers in %.1f %%, width %.3f; without weights %.1f, %.1f, %.1f %%, %.3f (seed %d)",
			tt.metric, tt.answers, tt.factor, tt.slow, 100*got.longer, 100*got.shorter, 100*got.covers, got.width,
			100*plain.longer, 100*plain.shorter, 100*plain.covers, plain.width, seed)
		wrong := got.shorter
		if tt.factor == 1 && tt.slow == 0 {
			wrong += got.longer
		}
		if wrong > 0.083 || tt.slow == 0 && got.covers < 0.917 || got.longer < tt.found {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}
