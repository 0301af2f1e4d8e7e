// Package change finds the commits at which a figure changed, in what was measured of one commit after
// another, and judges the repetition that each such step needs before anybody hears of it.
//
// A series is measured once a commit, on a machine that may have changed in between. What it shows is
// therefore only suspected. A step is confirmed by an interleaved comparison of builds from both sides.
// All functions are pure.
package change

import (
	"math"
	"slices"
)

// A Point is what was measured of one commit.
type Point struct {
	Value float64 // ln(commit ÷ anchor)
	// SE is the standard error of Value by its rounds alone, such as half the width of the 95% interval
	// ÷ 1.96. 0 or more: counts may have none.
	SE float64
	// Rounds are those that SE was estimated from. 0 means that SE is known.
	Rounds int
}

// Options of Find. Alpha and Build must be set: Times and Counts are for what their names say.
type Options struct {
	// Alpha is the probability, 0 to 1, that a series without a step seems to have any.
	Alpha float64
	// Build is the standard deviation between builds, in Value's unit, that is assumed until the series shows it.
	Build float64
	// Least is the smallest size of a Step, in Value's unit, 0 or more.
	Least float64
	// A Step with only one build before or after it must have this many standard deviations between builds, 0 or
	// more, as a build by itself may differ by far more than others. MostLone is the largest size that asks for.
	Lone, MostLone float64
}

// Times vary between builds by where functions are in memory: 0.2 to 0.4% are common.
func Times() Options { return Options{Alpha: 0.005, Build: 0.004} }

// Counts of instructions are nearly the same in each build, and where they are not, they differ by more than
// normal noise would. What matters is so far off that Alpha and Least cost nothing. MostLone lets a step of 0.5% be
// found in the first build with it where builds differ by 0.05%, and one of 20 by three times as much.
func Counts() Options {
	return Options{Alpha: 1e-5, Build: 0.0005, Least: 0.003, Lone: 8, MostLone: 0.0038}
}

// A Step is a lasting change of the level.
type Step struct {
	// At is the most likely position of the first commit with the new level, and From to To are the
	// positions that hold it with 95%: 0 < From ≤ At ≤ To.
	At, From, To int
	// First to At−1 have the level before, At to Last the one after.
	First, Last int
	// Size is ln(level after ÷ level before), and Low to High its 95% interval.
	Size, Low, High float64
	// P is the probability that a series without a step shows one as clear, at most Options.Alpha.
	P float64
	// Build is the standard deviation between builds, as the series shows it.
	Build float64
}

// z95 is the quantile of the normal distribution for an interval of 95%.
const z95 = 1.959964

// Find returns the steps of a series, the oldest first. The values of a level differ by their standard errors
// and by what each build has of its own, both normal. Levels are those for which the sum of squared
// distances, each over its variance, and of a penalty for each step is least (PELT: Killick, Fearnhead and Eckley,
// "Optimal detection of changepoints with a linear computational cost", 2012). The penalty is what the best of all
// positions exceeds with the probability Alpha if there is no step (Bonferroni). A Point whose Value or SE is not a
// number is an error of the caller.
func Find(series []Point, o Options) []Step {
	if len(series) < 2 {
		return nil
	}
	l := newLevels(series, o)
	penalty := math.Pow(normalQuantile(1-o.Alpha/2/float64(len(series)-1)), 2)
	starts := l.optimal(penalty)
	ends := append(slices.Clone(starts[1:]), len(series))
	var all, steps []Step
	for i, at := range starts[1:] {
		all = append(all, l.step(starts[i], at, ends[i+1]))
	}
	for i, s := range all {
		if math.Abs(s.Size) >= o.least(all, i) {
			steps = append(steps, s)
		}
	}
	return steps
}

// least is the smallest size that is enough for the step at an index. A build by itself that a step back follows has to
// differ by twice as much: no level lasted.
func (o Options) least(all []Step, i int) float64 {
	s := all[i]
	alone, aloneBefore := s.At == s.Last, s.At-s.First == 1
	back := func(other int) bool { return all[other].Size*s.Size < 0 }
	switch lone := min(o.Lone*s.Build, o.MostLone); {
	case aloneBefore && i > 0 && back(i-1), alone && i+1 < len(all) && back(i+1):
		return max(o.Least, 2*lone)
	case aloneBefore || alone:
		return max(o.Least, lone)
	}
	return o.Least
}

// levels has sums over the points before each position.
type levels struct {
	build                     float64
	weights, values, products []float64 // Σw, Σwx, Σwx²
}

func newLevels(series []Point, o Options) *levels {
	variances := variances(series)
	build := between(series, variances, o.Build)
	l := &levels{build, make([]float64, len(series)+1), make([]float64, len(series)+1), make([]float64, len(series)+1)}
	for i, p := range series {
		w := 1 / (variances[i] + build*build)
		x := p.Value - series[0].Value // smaller numbers, whose squares lose less
		l.weights[i+1] = l.weights[i] + w
		l.values[i+1] = l.values[i] + w*x
		l.products[i+1] = l.products[i] + w*x*x
	}
	return l
}

// usual is how many rounds the noise that is usual in a series counts for, against that of the rounds of a point.
const usual = 10

// variances are those of the points by their rounds alone. The spread of few rounds is uncertain, so it is averaged
// with the usual one (Smyth, "Linear models and empirical Bayes methods for assessing differential expression", 2004).
func variances(series []Point) []float64 {
	rounds := make([]float64, 0, len(series)) // variance of one round
	for _, p := range series {
		if p.Rounds > 1 {
			rounds = append(rounds, p.SE*p.SE*float64(p.Rounds))
		}
	}
	median, all := quantile(rounds, 0.5), make([]float64, len(series))
	for i, p := range series {
		all[i] = p.SE * p.SE
		if p.Rounds > 1 {
			free, n := float64(p.Rounds-1), float64(p.Rounds)
			all[i] = (free*all[i] + usual*median/n) / (free + usual)
		}
	}
	return all
}

// assumed is how many differences the assumed deviation between builds counts for.
const assumed = 10

// between is the standard deviation between builds, from the differences of neighbours. Few hold a step. If
// variances of rounds v and of builds b² are all that makes them differ, then the share q of differences d has
// d² ≤ c²(v + 2b²), with c the normal quantile of (1+q)/2. So 2b² is the q-quantile of d²/c² − v. It is the larger of
// two of them: in some series most builds are alike and the others are not.
func between(series []Point, variances []float64, prior float64) float64 {
	n := float64(len(series) - 1)
	found := 0.0
	for _, q := range []float64{0.5, 0.9} {
		c := normalQuantile((1 + q) / 2)
		excess := make([]float64, len(series)-1)
		for i := range excess {
			d := series[i+1].Value - series[i].Value
			excess[i] = d*d/(c*c) - variances[i+1] - variances[i]
		}
		found = max(found, quantile(excess, q)/2)
	}
	return math.Sqrt((n*found + assumed*prior*prior) / (n + assumed))
}

// cost is the sum of squared distances from the mean, from a position to before another.
func (l *levels) cost(from, to int) float64 {
	w, x, xx := l.weights[to]-l.weights[from], l.values[to]-l.values[from], l.products[to]-l.products[from]
	return xx - x*x/w
}

// optimal returns where the levels start, the first at 0.
func (l *levels) optimal(penalty float64) []int {
	n := len(l.weights) - 1
	least, start := make([]float64, n+1), make([]int, n+1)
	least[0] = -penalty
	candidates, totals := []int{0}, make([]float64, n)
	for to := 1; to <= n; to++ {
		least[to] = math.Inf(1)
		for _, from := range candidates {
			totals[from] = least[from] + l.cost(from, to)
			if c := totals[from] + penalty; c < least[to] {
				least[to], start[to] = c, from
			}
		}
		candidates = slices.DeleteFunc(candidates, func(from int) bool { return totals[from] > least[to] })
		candidates = append(candidates, to)
	}
	var starts []int
	for to := n; to > 0; to = start[to] {
		starts = append(starts, start[to])
	}
	slices.Reverse(starts)
	return starts
}

// step describes the change at a position, between two others.
func (l *levels) step(first, at, end int) Step {
	mean := func(from, to int) (mean, weight float64) {
		weight = l.weights[to] - l.weights[from]
		return (l.values[to] - l.values[from]) / weight, weight
	}
	before, wBefore := mean(first, at)
	after, wAfter := mean(at, end)
	size, se := after-before, math.Sqrt(1/wBefore+1/wAfter)
	s := Step{At: at, First: first, Last: end - 1, Size: size, Low: size - z95*se, High: size + z95*se, Build: l.build}
	s.From, s.To = l.positions(first, at, end)
	s.P = min(1, float64(len(l.weights)-2)*math.Erfc(math.Abs(size)/se/math.Sqrt2))
	return s
}

// positions are the fewest around the most likely that hold the step with 95%. All between its neighbours are equally
// likely beforehand, and nothing is known of both levels: the evidence for a position is (Σw before · Σw after)^(−1/2) ·
// exp(−cost/2).
func (l *levels) positions(first, at, end int) (from, to int) {
	evidence := make([]float64, end) // by position
	all, best := 0.0, l.cost(first, at)+l.cost(at, end)
	for i := first + 1; i < end; i++ {
		product := (l.weights[i] - l.weights[first]) * (l.weights[end] - l.weights[i])
		evidence[i] = math.Exp((best-l.cost(first, i)-l.cost(i, end))/2) / math.Sqrt(product)
		all += evidence[i]
	}
	from, to = at, at
	for held := evidence[at]; held < 0.95*all; {
		if to+1 == end || from-1 > first && evidence[from-1] >= evidence[to+1] {
			from--
			held += evidence[from]
		} else {
			to++
			held += evidence[to]
		}
	}
	return from, to
}

// quantile is the value that a share q of the others, 0 to 1, do not exceed, the lower of two; 0 without values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[int(q*float64(len(sorted)-1))]
}

func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
