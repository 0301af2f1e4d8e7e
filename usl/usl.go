// Package usl fits the Universal Scalability Law to measured throughputs and
// reports where throughput peaks and how certain that is, or why it is unknown.
//
// The law, for N concurrent users:
//
//	X(N) = γN / (1 + α(N−1) + βN(N−1))
//
// Source: Neil J. Gunther, Guerrilla Capacity Planning, Springer 2007
// (doi:10.1007/978-3-540-31010-5), chapter 4, as C(p) = X(p)/X(1). The book writes
// σ and κ for hardware, α and β for software; Schwartz, Practical Scalability
// Analysis with the Universal Scalability Law, and codahale/usl write σ, κ and λ:
//
//	α  contention  σ   share of the work that must be done one at a time
//	β  coherency   κ   cost of keeping users consistent, paid per pair of them
//	γ  throughput  λ   X(1), in operations per second
//
// The package is pure and deterministic: the same points and seed give the same
// result. No NaN and no infinity leaves it.
package usl

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"contend/finding"
)

// A Point is one visit to one level: a measured throughput.
type Point struct {
	N float64 `json:"n"`                // level, 1 to 10⁹ concurrent users
	X float64 `json:"throughput_per_s"` // 0, or 10⁻¹⁸ to 10¹⁸ operations per second
}

// A Model is the law with its parameters. The zero value predicts 0.
type Model struct {
	Alpha float64 `json:"alpha"`       // contention, ≥ 0
	Beta  float64 `json:"beta"`        // coherency, ≥ 0
	Gamma float64 `json:"gamma_per_s"` // throughput at N = 1, > 0
}

// Throughput returns X(N) in operations per second, for n ≥ 1.
func (m Model) Throughput(n float64) float64 {
	return m.Gamma * n / (1 + m.Alpha*(n-1) + m.Beta*n*(n-1))
}

// Peak returns N* = √((1−α)/β), where dX/dN = 0: Gunther's equation (4.33). It
// reports false when throughput has no peak above N = 1: without coherency cost
// it never falls, and with 1−α ≤ β it never rises.
func (m Model) Peak() (n float64, ok bool) {
	n = m.turn()
	return n, n > 1 && !math.IsInf(n, 1)
}

// turn is where throughput stops rising: 1 if it never rises, +Inf if it never stops.
func (m Model) turn() float64 {
	switch {
	case 1-m.Alpha <= m.Beta:
		return 1
	case m.Beta == 0:
		return math.Inf(1)
	}
	return math.Sqrt((1 - m.Alpha) / m.Beta)
}

// optimum returns the whole number to run at for a peak at n > 1.
func (m Model) optimum(n float64) int {
	const worthwhile = 1.01
	below := math.Floor(n)
	if m.Throughput(below+1) > worthwhile*m.Throughput(below) {
		below++
	}
	return int(below)
}

// Confidence is that of every Interval.
const Confidence = 0.95

// An Interval is a two-sided bootstrap percentile interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// An Estimate is a fitted value. Interval is nil when none can be computed; a
// warning of the result then says why.
type Estimate struct {
	Value    float64   `json:"value"`
	Interval *Interval `json:"interval,omitempty"`
}

// A Result is the law fitted to points.
type Result struct {
	Alpha Estimate `json:"alpha"`
	Beta  Estimate `json:"beta"`
	Gamma Estimate `json:"gamma_per_s"`
	// Peak is nil when the points do not show one; NoPeak then has the reason.
	Peak   *Peak  `json:"peak,omitempty"`
	NoPeak string `json:"no_peak,omitempty"`
	// RSquared is the share of the throughputs' variance that the law explains,
	// 1 − Σ(X−X̂)²/Σ(X−X̄)². It is nil when all throughputs are equal.
	RSquared  *float64          `json:"r_squared,omitempty"`
	Residuals []Residual        `json:"residuals"` // one per point, by level and throughput
	Warnings  []finding.Warning `json:"warnings"`
}

// Model returns the fitted law.
func (r *Result) Model() Model {
	return Model{Alpha: r.Alpha.Value, Beta: r.Beta.Value, Gamma: r.Gamma.Value}
}

// A Peak is the highest throughput of a fitted law and where it is reached.
type Peak struct {
	N Estimate `json:"n"`
	// Optimum is the concurrency to run at: ⌊N*⌋, or one more where the law makes
	// that 1% faster, which matters below 10 users only.
	Optimum    int      `json:"optimum"`
	Throughput Estimate `json:"throughput_per_s"`
}

// A Residual is what the law leaves unexplained of one point: measured minus fitted.
type Residual struct {
	Point
	Fitted   float64 `json:"fitted_per_s"`
	Residual float64 `json:"residual_per_s"`
}

// A level is all visits with the same concurrency.
type level struct {
	n      float64
	mean   float64
	visits []float64
}

const (
	maxN = 1e9
	minX = 1e-18
	maxX = 1e18
)

// group checks points and returns their levels in ascending order.
func group(points []Point) ([]level, error) {
	byN := map[float64][]float64{}
	some := false
	for i, p := range points {
		if !(p.N >= 1 && p.N <= maxN) {
			return nil, fmt.Errorf("usl: point %d: n is %v; expected 1 to %.0e", i, p.N, float64(maxN))
		}
		if !(p.X == 0 || p.X >= minX && p.X <= maxX) {
			return nil, fmt.Errorf("usl: point %d: throughput is %v; expected 0 and %.0e to %.0e", i, p.X, minX, float64(maxX))
		}
		some = some || p.X > 0
		byN[p.N] = append(byN[p.N], p.X)
	}
	if !some {
		return nil, fmt.Errorf("usl: no throughput above 0 in %d points", len(points))
	}
	levels := make([]level, 0, len(byN))
	for n, visits := range byN {
		slices.Sort(visits)
		levels = append(levels, level{n: n, mean: mean(visits), visits: visits})
	}
	slices.SortFunc(levels, func(a, b level) int { return cmp.Compare(a.n, b.n) })
	return levels, nil
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}
