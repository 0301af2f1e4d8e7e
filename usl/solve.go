package usl

import "math"

// The law is fitted as X̂ = N/ℓ with ℓ = a + b(N−1) + cN(N−1), where a = 1/γ,
// b = α/γ and c = β/γ. ℓ is linear in its three parameters and the bounds on α, β
// and γ are bounds on them, so that every Gauss–Newton step is a convex quadratic
// problem in three variables, solved exactly, and no parameter ever leaves its
// bounds. (Gunther's book, section 5.2.3, fits the same polynomial to N/C instead,
// which gives the slow levels too much weight; that is the starting point here.)
//
// A theta is (a − lowest a, b, c); each is at least 0.
type theta [3]float64

// A problem is the levels with their mean throughputs in units of the highest one.
// A level weighs as much as it has visits: that minimises over the single visits.
type problem struct {
	n, x, weight []float64
	scale        float64 // operations per second
	minA         float64
}

// maxGamma bounds γ, as a multiple of the highest throughput per user. Only points
// without a level near N = 1 reach it.
const maxGamma = 1000

// newProblem takes levels, at least one with a throughput above 0.
func newProblem(levels []level) problem {
	var p problem
	for _, l := range levels {
		p.scale = max(p.scale, l.mean)
	}
	var perUser float64
	for _, l := range levels {
		p.n = append(p.n, l.n)
		p.x = append(p.x, l.mean/p.scale)
		p.weight = append(p.weight, float64(len(l.visits)))
		perUser = max(perUser, l.mean/p.scale/l.n)
	}
	p.minA = 1 / (maxGamma * perUser)
	return p
}

// solve returns the least-squares model: the better of what Gauss–Newton reaches
// from the linearised fit and from a coarse search, because the sum of squares of
// very noisy points has more than one minimum.
func (p problem) solve() Model {
	best := p.descend(p.linearised())
	if other := p.descend(p.coarse()); p.cost(other) < p.cost(best) {
		best = other
	}
	return p.model(best)
}

// resolve is solve for resampled points: the linearised fit alone starts it.
func (p problem) resolve() Model { return p.model(p.descend(p.linearised())) }

func (p problem) model(t theta) Model {
	a := p.minA + t[0]
	return Model{Alpha: t[1] / a, Beta: t[2] / a, Gamma: p.scale / a}
}

// linearised fits ℓ to N/X, weighted by dX/dℓ. Throughputs that are next to nothing
// have no weight in it.
func (p problem) linearised() theta {
	const nothing = 1e-9
	q := quadratic{}
	for i, n := range p.n {
		if p.x[i] > nothing {
			slope := p.x[i] * p.x[i] / n
			q.add(n, p.weight[i]*slope*slope, n/p.x[i]-p.minA)
		}
	}
	return q.minimise(theta{})
}

// coarse returns the best of a grid of α and β, each with the γ that suits it best.
func (p problem) coarse() theta {
	best, bestCost := theta{}, math.Inf(1)
	for _, alpha := range []float64{0, 0.01, 0.1, 0.5, 2, 10, 100} {
		for _, beta := range []float64{0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10} {
			a := max(1/p.gamma(alpha, beta), p.minA)
			t := theta{a - p.minA, alpha * a, beta * a}
			if cost := p.cost(t); cost < bestCost {
				best, bestCost = t, cost
			}
		}
	}
	return best
}

// gamma returns the least-squares γ for given α and β: X is linear in γ.
func (p problem) gamma(alpha, beta float64) float64 {
	unit := Model{Alpha: alpha, Beta: beta, Gamma: 1}
	var xc, cc float64
	for i, n := range p.n {
		c := unit.Throughput(n)
		xc += p.weight[i] * p.x[i] * c
		cc += p.weight[i] * c * c
	}
	return xc / cc
}

// descend goes downhill from t. Halving a step that does not help makes it converge.
func (p problem) descend(t theta) theta {
	const (
		iterations = 200
		halvings   = 30
		enough     = 1e-14 // relative decrease of the cost that ends the descent
	)
	cost := p.cost(t)
	for range iterations {
		step := p.step(t)
		next, nextCost := t, cost
		for h := 0; h < halvings && !(nextCost < cost); h++ {
			next = t.plus(step, math.Ldexp(1, -h))
			nextCost = p.cost(next)
		}
		if !(nextCost < cost) {
			break
		}
		done := cost-nextCost <= enough*cost
		t, cost = next, nextCost
		if done {
			break
		}
	}
	return t
}

// step minimises the sum of squares linearised at t: X̂ changes by −N/ℓ²·dℓ.
func (p problem) step(t theta) theta {
	q := quadratic{}
	for i, n := range p.n {
		l := p.denominator(t, n)
		slope := n / (l * l)
		q.add(n, p.weight[i]*slope*slope, l-p.x[i]/slope)
	}
	return q.minimise(t)
}

func (p problem) cost(t theta) float64 {
	sum := 0.0
	for i, n := range p.n {
		r := p.x[i] - n/p.denominator(t, n)
		sum += p.weight[i] * r * r
	}
	return sum
}

func (p problem) denominator(t theta, n float64) float64 {
	return p.minA + t[0] + t[1]*(n-1) + t[2]*n*(n-1)
}

func (t theta) plus(step theta, share float64) theta {
	for j := range t {
		t[j] = max(t[j]+share*step[j], 0)
	}
	return t
}

// A quadratic is ½δᵀGδ − gᵀδ, the weighted sum of squares of dℓ(δ) − d.
type quadratic struct {
	gram [3][3]float64
	g    [3]float64
}

func (q *quadratic) add(n, weight, d float64) {
	row := [3]float64{1, n - 1, n * (n - 1)}
	for j := range row {
		wj := weight * row[j]
		q.g[j] += wj * d
		for k := range row {
			q.gram[j][k] += wj * row[k]
		}
	}
}

// minimise returns the δ with t+δ ≥ 0 that makes q smallest. That is the one without bounds if
// rounding does not decide whether it keeps them. Otherwise it tries each of the
// eight sets of parameters that may end at 0; one of them is the solution.
func (q *quadratic) minimise(t theta) theta {
	const rounding = 1e-9
	if d, ok := q.solveFree(7, t); ok && min(t[0]+d[0], t[1]+d[1], t[2]+d[2]) > rounding {
		return d
	}
	best := theta{-t[0], -t[1], -t[2]}
	bestValue := q.value(best)
	for free := 1; free < 8; free++ {
		delta, ok := q.solveFree(free, t)
		if v := q.value(delta); ok && v < bestValue {
			best, bestValue = delta, v
		}
	}
	return best
}

func (q *quadratic) value(d theta) float64 {
	v := 0.0
	for j := range d {
		v -= q.g[j] * d[j]
		for k := range d {
			v += d[j] * q.gram[j][k] * d[k] / 2
		}
	}
	return v
}

// solveFree minimises over the parameters in the bit set free while the others go
// to 0. It reports false if the result would leave the bounds or does not exist.
func (q *quadratic) solveFree(free int, t theta) (theta, bool) {
	var m [3][4]float64 // scaled to a unit diagonal, with its right side
	var scale [3]float64
	for j := range m {
		scale[j] = 1
		if free>>j&1 == 0 {
			m[j][j], m[j][3] = 1, -t[j]
			continue
		}
		if q.gram[j][j] > 0 {
			scale[j] = 1 / math.Sqrt(q.gram[j][j])
		}
		m[j][3] = q.g[j] * scale[j]
	}
	for j := range m {
		for k := range m {
			switch jFree, kFree := free>>j&1 == 1, free>>k&1 == 1; {
			case jFree && kFree:
				m[j][k] = q.gram[j][k] * scale[j] * scale[k]
			case jFree:
				m[j][3] += q.gram[j][k] * scale[j] * t[k]
			}
		}
	}
	d, ok := eliminate(m)
	for j := range d {
		d[j] *= scale[j]
		ok = ok && d[j] >= -t[j]
	}
	return d, ok
}

// eliminate solves three equations whose matrix is symmetric and positive definite.
func eliminate(m [3][4]float64) (theta, bool) {
	const singular = 1e-14 // relative to a diagonal of 1
	for j := range m {
		if !(m[j][j] > singular) {
			return theta{}, false
		}
		for i := j + 1; i < 3; i++ {
			f := m[i][j] / m[j][j]
			for k := j; k < 4; k++ {
				m[i][k] -= f * m[j][k]
			}
		}
	}
	var d theta
	for j := 2; j >= 0; j-- {
		d[j] = m[j][3]
		for k := j + 1; k < 3; k++ {
			d[j] -= m[j][k] * d[k]
		}
		d[j] /= m[j][j]
	}
	return d, true
}
