package usl

import (
	"fmt"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
)

// The fewest distinct levels are one per parameter.
const (
	parameters = 3
	minLevels  = parameters
)

// Fit fits the law to points by least squares, with α, β ≥ 0 and γ > 0. Several
// points with the same N are visits to one level.
//
// Intervals come from a bootstrap that the seed determines: levels with at least
// two visits resample their own; the others get the law's prediction plus a
// resampled residual. They hold the scatter of the points, not the law's own error:
// read the residuals too. With 9 levels and noise proportional to throughput, those of
// the peak covered the truth in 95% of simulated sweeps with 2, 3 or 5 visits a
// level, and in 90% or more where the scatter grows fivefold over the levels.
//
// Fit errs on values out of range and on fewer than 3 levels. Where it can fit, but
// the points do not show the peak, Result.Peak is nil and NoPeak says why.
func Fit(points []Point, seed uint64) (*Result, error) {
	levels, err := group(points)
	if err != nil {
		return nil, err
	}
	if len(levels) < minLevels {
		return nil, fmt.Errorf("need at least %d different levels, have %d", minLevels, len(levels))
	}
	s := newSample(levels, len(points))
	s.model = newProblem(levels).solve()
	s.resample(seed)
	return s.result(), nil
}

// A sample is everything that a result is made from.
type sample struct {
	levels    []level
	points    int
	model     Model
	widening  float64 // of deviations from the means of levels
	resamples []Model // fits of the bootstrap, or none
}

func newSample(levels []level, points int) *sample {
	return &sample{levels: levels, points: points, widening: widened((points - len(levels)) / 2)}
}

func (s *sample) result() *Result {
	r := &Result{
		Alpha: s.estimate(func(m Model) float64 { return m.Alpha }),
		Beta:  s.estimate(func(m Model) float64 { return m.Beta }),
		Gamma: s.estimate(func(m Model) float64 { return m.Gamma }),
	}
	r.Residuals = s.residuals()
	r.RSquared = rSquared(r.Residuals)
	r.Peak, r.NoPeak = s.peak()
	r.Warnings = s.warnings(r.RSquared)
	return r
}

func (s *sample) residuals() []Residual {
	var residuals []Residual
	for _, l := range s.levels {
		fitted := s.model.Throughput(l.n)
		for _, x := range l.visits {
			residuals = append(residuals, Residual{Point: Point{N: l.n, X: x}, Fitted: fitted, Residual: x - fitted})
		}
	}
	return residuals
}

func rSquared(residuals []Residual) *float64 {
	xs := make([]float64, len(residuals))
	for i, r := range residuals {
		xs[i] = r.X
	}
	var unexplained, total float64
	average := mean(xs)
	for _, r := range residuals {
		unexplained += r.Residual * r.Residual
		total += (r.X - average) * (r.X - average)
	}
	if total == 0 {
		return nil
	}
	share := 1 - unexplained/total
	return &share
}

// peak returns the peak, or the reason why these points do not show one.
func (s *sample) peak() (*Peak, string) {
	first, last := s.levels[0], s.levels[len(s.levels)-1]
	turn := s.model.turn()
	switch {
	case turn >= last.n:
		return nil, fmt.Sprintf("throughput still rises at the highest level, %v: measure higher levels", last.n)
	case turn <= first.n && first.n > 1:
		return nil, fmt.Sprintf("throughput falls above the lowest level, %v: measure lower levels", first.n)
	case turn <= first.n:
		return nil, "throughput falls from the second caller"
	case len(s.resamples) == 0:
		return nil, fmt.Sprintf("%d points at %d levels do not show the noise: measure more levels, or each twice",
			s.points, len(s.levels))
	}
	if side := s.unbracketed(turn); side != "" {
		return nil, fmt.Sprintf("the fitted peak, at %s, is not confirmed: no level %s it was slower than the best by more than noise", unit.Digits(turn), side)
	}
	n := s.estimate(Model.turn)
	if !(n.Interval.Low >= first.n && n.Interval.High <= last.n) {
		return nil, fmt.Sprintf("the peak is uncertain: its %.0f%% CI extends beyond the measured levels %v to %v",
			100*Confidence, first.n, last.n)
	}
	return &Peak{
		N:       n,
		Optimum: s.model.optimum(n.Value),
		Throughput: s.estimate(func(m Model) float64 {
			return m.Throughput(min(m.turn(), last.n)) // a few resamples may never turn
		}),
	}, ""
}

// unbracketed names the side of the turn on which no level is slower than the best
// level by more than noise, or nothing.
func (s *sample) unbracketed(turn float64) string {
	best := s.levels[0]
	for _, l := range s.levels {
		if l.mean > best.mean {
			best = l
		}
	}
	noise := s.noise()
	var below, above bool
	for _, l := range s.levels {
		difference := noise * math.Sqrt(1/float64(len(best.visits))+1/float64(len(l.visits)))
		slower := best.mean-l.mean > difference
		below = below || slower && l.n < turn
		above = above || slower && l.n > turn
	}
	switch {
	case !below:
		return "below"
	case !above:
		return "above"
	}
	return ""
}

// noise returns what the means of two levels must differ by, for single visits and
// divided by √2. If every level was visited several times it is 3 pooled standard
// deviations of a visit: 3√2 is the 5% point of the range of 8 equal means
// (studentised range, 4.29), and the best level was picked among as many. Otherwise it
// is the standard error of the regression, which holds the law's misfit as well.
func (s *sample) noise() float64 {
	const rangeOf8 = 3
	within, residual := s.scatter()
	if s.replicated() {
		return rangeOf8 * math.Sqrt(within/float64(s.points-len(s.levels)))
	}
	return math.Sqrt(residual / float64(s.points-parameters))
}

// misfit returns the F statistic of the law's lack of fit: the mean square of the
// levels' means about the law over that of visits about their level (Draper and
// Smith, Applied Regression Analysis, section 2.1). It is false without degrees
// of freedom.
func (s *sample) misfit() (f float64, ok bool) {
	if !s.replicated() || len(s.levels) <= parameters {
		return 0, false
	}
	within, residual := s.scatter()
	noise := within / float64(s.points-len(s.levels))
	return (residual - within) / float64(len(s.levels)-parameters) / noise, noise > 0
}

// scatter returns the sums of squares of visits about their level and about the law.
func (s *sample) scatter() (within, residual float64) {
	for _, l := range s.levels {
		for _, x := range l.visits {
			within += (x - l.mean) * (x - l.mean)
			e := x - s.model.Throughput(l.n)
			residual += e * e
		}
	}
	return within, residual
}

// replicated reports whether every level was visited at least twice.
func (s *sample) replicated() bool {
	return !slices.ContainsFunc(s.levels, func(l level) bool { return len(l.visits) == 1 })
}

func (s *sample) warnings(rSquared *float64) []finding.Warning {
	const (
		significant = 5 // F at about 1% for the usual 6 to 10 levels with 3 visits
	)
	warnings := []finding.Warning{}
	warn := func(kind finding.Kind, format string, args ...any) {
		warnings = append(warnings, kind.Warning(format, args...))
	}
	if n := len(s.levels); n < int(finding.FewLevels.Warns) {
		warn(finding.FewLevels, "The curve rests on %d levels; at least %.0f are advised.", n, finding.FewLevels.Warns)
	}
	if first := s.levels[0].n; first > 1 {
		warn(finding.SingleUserNotMeasured, "The lowest level is %v, so γ and α are extrapolated to one caller.", first)
	}
	if len(s.resamples) == 0 {
		warn(finding.NoInterval, "There are no intervals: %d points are too few to separate three parameters from noise.", s.points)
	}
	if rSquared != nil && *rSquared < finding.PoorFit.Warns {
		warn(finding.PoorFit, "The curve explains only %.0f%% of the variance in throughput.", 100*max(*rSquared, 0))
	}
	if f, ok := s.misfit(); ok && f > significant {
		warn(finding.Misfit, "The curve misses the levels by more than the spread of their runs (F = %s), so its intervals are too narrow.", unit.Digits(f))
	}
	if s.model.Alpha > 1 {
		warn(finding.AlphaAboveOne, "α is %s; above 1 it is not a share of serial work: a second caller lowers throughput.", unit.Digits(s.model.Alpha))
	}
	return warnings
}
