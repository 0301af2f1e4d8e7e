package usl

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A Knee is the smallest measured level whose mean throughput is nearly that of
// the best one: more concurrency is hardly worth having. It needs no law.
type Knee struct {
	// N is the level. Its interval is nil where a level was visited once.
	N Estimate `json:"n"`
	// Throughput is the level's mean, in operations per second.
	Throughput float64 `json:"throughput_per_s"`
}

// WithinOfBest returns the smallest level whose mean throughput is at least
// (1−share) times that of the best level. The interval is that of a bootstrap
// over the visits of each level, which the seed determines. It errs on points
// that Fit would refuse, but one level is enough.
func WithinOfBest(points []Point, share float64, seed uint64) (Knee, error) {
	if !(share >= 0 && share <= 1) {
		return Knee{}, fmt.Errorf("usl: share is %v; expected 0 to 1", share)
	}
	levels, err := group(points)
	if err != nil {
		return Knee{}, err
	}
	s := newSample(levels, len(points))
	found := s.withinOfBest(share)
	knee := Knee{N: Estimate{Value: found.n}, Throughput: found.mean}
	if slices.ContainsFunc(levels, func(l level) bool { return len(l.visits) < 2 }) {
		return knee, nil
	}
	random := rand.New(rand.NewPCG(seed, 1))
	drawn := sample{levels: slices.Clone(levels)}
	values := make([]float64, resamples)
	for i := range values {
		for j, l := range levels {
			drawn.levels[j].mean = s.draw(l, nil, random)
		}
		values[i] = drawn.withinOfBest(share).n
	}
	knee.N.Interval = percentileInterval(values)
	return knee, nil
}

func (s *sample) withinOfBest(share float64) level {
	best := slices.MaxFunc(s.levels, func(a, b level) int { return cmp.Compare(a.mean, b.mean) })
	i := slices.IndexFunc(s.levels, func(l level) bool { return l.mean >= (1-share)*best.mean })
	return s.levels[i]
}
