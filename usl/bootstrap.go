package usl

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// resamples is the number of bootstrap fits; with 999 the 25th and the 975th are
// the limits of 95% (Davison and Hinkley, Bootstrap Methods and their Application,
// 1997, section 5.2.1).
const resamples = 999

// resample fits the law to resampled points. It does nothing if a level was visited
// once and no degree of freedom is left for residuals.
func (s *sample) resample(seed uint64) {
	if !s.replicated() && s.points <= parameters {
		return
	}
	random := rand.New(rand.NewPCG(seed, 0))
	residuals := s.scaledResiduals()
	drawn := slices.Clone(s.levels)
	s.resamples = make([]Model, resamples)
	for i := range s.resamples {
		some := false
		for j, l := range s.levels {
			drawn[j].mean = s.draw(l, residuals, random)
			some = some || drawn[j].mean > 0
		}
		s.resamples[i] = s.model
		if some {
			s.resamples[i] = newProblem(drawn).resolve()
		}
	}
}

// draw returns a resampled mean throughput of l. Deviations from the mean of k visits
// are too small by √(1−1/k) on average, and are scaled accordingly (Rao and Wu,
// Resampling Inference With Complex Survey Data, JASA 83, 1988). Because even then
// their spread is an estimate, they are also widened.
func (s *sample) draw(l level, residuals []float64, random *rand.Rand) float64 {
	k := len(l.visits)
	if k == 1 {
		return max(s.model.Throughput(l.n)+residuals[random.IntN(len(residuals))], 0)
	}
	deviation := 0.0
	for range k {
		deviation += l.visits[random.IntN(k)] - l.mean
	}
	spread := s.widening * math.Sqrt(float64(k)/float64(k-1))
	return max(l.mean+spread*deviation/float64(k), 0)
}

// widened is what a percentile interval lacks when the spread of its resamples was
// estimated with so many degrees of freedom: the quantile of t over that of the
// normal distribution (Hesterberg, What Teachers Should Know About the Bootstrap, The
// American Statistician 69, 2015, section 4.1). Half of the degrees of freedom within
// levels count, since a figure rests on the levels near it.
func widened(freedom int) float64 {
	const quantile = 1 - (1-Confidence)/2
	t := distuv.StudentsT{Sigma: 1, Nu: float64(max(freedom, 2))}
	return t.Quantile(quantile) / distuv.UnitNormal.Quantile(quantile)
}

// scaledResiduals returns the residuals, centred, and scaled by √(n/(n−3)) because
// three parameters were fitted (Davison and Hinkley, section 6.2.3); and widened.
func (s *sample) scaledResiduals() []float64 {
	var residuals []float64
	for _, r := range s.residuals() {
		residuals = append(residuals, r.Residual)
	}
	centre, n := mean(residuals), float64(len(residuals))
	scale := widened(len(residuals)-parameters) * math.Sqrt(n/max(n-parameters, 1))
	for i := range residuals {
		residuals[i] = (residuals[i] - centre) * scale
	}
	return residuals
}

// estimate returns what of the fitted law with its bootstrap percentile interval.
func (s *sample) estimate(of func(Model) float64) Estimate {
	e := Estimate{Value: of(s.model)}
	if len(s.resamples) == 0 {
		return e
	}
	values := make([]float64, len(s.resamples))
	for i, m := range s.resamples {
		values[i] = of(m)
	}
	e.Interval = percentileInterval(values)
	return e
}

// percentileInterval sorts the values of all resamples.
func percentileInterval(values []float64) *Interval {
	slices.Sort(values)
	tail := int((1 - Confidence) / 2 * (resamples + 1)) // 25
	return &Interval{Low: values[tail-1], High: values[resamples-tail]}
}
