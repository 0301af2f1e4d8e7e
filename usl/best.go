package usl

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// A Knee is a measured level of concurrency beyond which more is hardly worth having. It needs no law.
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
	return kneeOf(points, seed, func(levels []level) (float64, level) {
		best := slices.MaxFunc(levels, func(a, b level) int { return cmp.Compare(a.mean, b.mean) })
		found := levels[slices.IndexFunc(levels, func(l level) bool { return l.mean >= (1-share)*best.mean })]
		return found.n, found
	})
}

// MostPower returns the level with the most power, which is throughput ÷ response time (Kleinrock 1979, "Power and
// deterministic rules of thumb for probabilistic problems in computer communications", ICC). By Little's law that is
// X² ÷ (N − X·think), since callers who think for so many seconds between two operations do not wait. Without
// that, doubling the concurrency beyond the knee brings less than √2 times the throughput. Interval and errors are
// as those of WithinOfBest; the interval is that of the peak of power, which may be between two levels.
func MostPower(points []Point, think float64, seed uint64) (Knee, error) {
	return kneeOf(points, seed, func(levels []level) (float64, level) { return mostPower(levels, think) })
}

// fewestWait is the least share of callers that are taken to wait: noise can make those who think more than there are.
const fewestWait = 0.001

// Power is throughput ÷ response time, up to a factor, of callers who think for so many seconds: see MostPower.
func Power(p Point, think float64) float64 { return p.X * p.X / max(p.N-p.X*think, fewestWait*p.N) }

// kneeOf finds a knee in the means of all visits, and its interval. choose returns its place, and the level that is
// closest to that.
func kneeOf(points []Point, seed uint64, choose func([]level) (float64, level)) (Knee, error) {
	levels, err := group(points)
	if err != nil {
		return Knee{}, err
	}
	_, found := choose(levels)
	knee := Knee{N: Estimate{Value: found.n}, Throughput: found.mean}
	if slices.ContainsFunc(levels, func(l level) bool { return len(l.visits) < 2 }) {
		return knee, nil
	}
	s := newSample(levels, len(points))
	random := rand.New(rand.NewPCG(seed, 1))
	drawn := slices.Clone(levels)
	values := make([]float64, resamples)
	for i := range values {
		for j, l := range levels {
			drawn[j].mean = s.draw(l, nil, random)
		}
		values[i], _ = choose(drawn)
	}
	interval := percentileInterval(values)
	interval.Low, interval.High = min(math.Floor(interval.Low), found.n), max(math.Ceil(interval.High), found.n)
	knee.N.Interval = interval
	return knee, nil
}

// nearPeak is the share of the most power that levels must reach to take part in the parabola that finds its
// peak: the curve of the law is one there within a few percent, and a sharp bend shifts it by less than a fifth.
const nearPeak = 0.8

// mostPower fits a parabola to log power over log N around the highest, since power is flat there and the noise of
// single levels would decide. Without three levels there, or without a peak between them, the highest it is.
func mostPower(levels []level, think float64) (float64, level) {
	logPower := func(l level) float64 { return math.Log(Power(Point{l.n, l.mean}, think)) }
	byPower := func(a, b level) int { return cmp.Compare(logPower(a), logPower(b)) }
	top := slices.MaxFunc(levels, byPower)
	i := slices.IndexFunc(levels, func(l level) bool { return l.n == top.n })
	low, high := i, i
	for low > 0 && logPower(levels[low-1]) >= logPower(top)+math.Log(nearPeak) {
		low--
	}
	for high+1 < len(levels) && logPower(levels[high+1]) >= logPower(top)+math.Log(nearPeak) {
		high++
	}
	near := levels[low : high+1]
	at, ok := peakOfParabola(near, logPower)
	if !ok {
		return top.n, top
	}
	return at, slices.MinFunc(near, func(a, b level) int {
		return cmp.Compare(math.Abs(math.Log(a.n/at)), math.Abs(math.Log(b.n/at)))
	})
}

// peakOfParabola returns where the least-squares parabola through y over log n peaks, if that is within the levels.
func peakOfParabola(levels []level, y func(level) float64) (float64, bool) {
	if len(levels) < 3 {
		return 0, false
	}
	centre := 0.0
	for _, l := range levels {
		centre += math.Log(l.n) / float64(len(levels))
	}
	// The parabola is a + b·P1 + c·P2 in polynomials that are orthogonal over these levels.
	var s2, s3, sy1 float64
	for _, l := range levels {
		u := math.Log(l.n) - centre
		s2, s3, sy1 = s2+u*u, s3+u*u*u, sy1+u*y(l)
	}
	n, skew := float64(len(levels)), s3/s2
	var norm, sy2 float64
	for _, l := range levels {
		u := math.Log(l.n) - centre
		p2 := u*u - skew*u - s2/n
		norm, sy2 = norm+p2*p2, sy2+p2*y(l)
	}
	b, c := sy1/s2, sy2/norm
	at := math.Exp(centre + skew/2 - b/(2*c)) // 0 = b + c·(2u − skew)
	return at, c < 0 && at >= levels[0].n && at <= levels[len(levels)-1].n
}
