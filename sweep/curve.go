package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"contend/finding"
	"contend/stat"
	"contend/trial"
	"contend/usl"
)

// Derive computes the figures of the visits, Results and the fit.
func (c *Curve) Derive() {
	c.Results, c.Fit, c.NoFit, c.LeftOut, c.Best, c.Enough, c.Knee = nil, nil, "", "", nil, nil, nil
	for _, e := range c.Explored {
		e.Derive()
	}
	var points []usl.Point
	for _, v := range c.Visits {
		v.Derive()
		if !v.Incomplete() {
			points = append(points, usl.Point{N: float64(v.Concurrency), X: v.ThroughputPerSec})
		}
	}
	c.Results = byLevel(c.Visits)
	if best, err := usl.WithinOfBest(points, 0, c.Design.Seed); err == nil {
		c.Best = &best
	}
	if enough, err := usl.WithinOfBest(points, cmp.Or(c.Design.Within, WithinBest), c.Design.Seed); err == nil {
		c.Enough = &enough
	}
	if knee, err := Knee(c.Visits, c.Design.Seed); err == nil {
		i := slices.IndexFunc(c.Results, func(level trial.Cell) bool { return float64(level.Concurrency) == knee.N.Value })
		knee.Throughput = c.Results[i].ThroughputPerSec
		c.Knee = &knee
	}
	c.fit(points)
	c.Bound = c.bound()
	c.Crowded = c.crowded()
	for i := range c.Results {
		c.Results[i].Warnings = append(c.Results[i].Warnings, c.Warmup.Findings()...)
	}
}

// Knee returns the level of the visits with the most power (usl.MostPower), without what made whole rounds faster or
// slower, such as a process with a luckier layout of memory.
func Knee(visits []trial.Cell, seed uint64) (usl.Knee, error) {
	think := 0.0
	if len(visits) > 0 {
		think = visits[0].Plan.Think.Seconds()
	}
	return usl.MostPower(levelled(visits), think, seed)
}

// levelled are the visits without the parts of their rounds: log X is the sum of a level's part and a round's, fitted by
// alternating least squares. The rounds after the first few have some levels only, so that means alone would mix the
// two. A level that was seen once is left out, since nothing says how much it varies, unless all were.
func levelled(visits []trial.Cell) []usl.Point {
	seen, inRound := map[int]int{}, map[int]float64{}
	var whole []trial.Cell
	for _, v := range visits {
		if !v.Incomplete() && v.ThroughputPerSec > 0 {
			whole = append(whole, v)
			seen[v.Concurrency]++
		}
	}
	if slices.ContainsFunc(whole, func(v trial.Cell) bool { return seen[v.Concurrency] > 1 }) {
		whole = slices.DeleteFunc(whole, func(v trial.Cell) bool { return seen[v.Concurrency] == 1 })
	}
	for _, v := range whole {
		inRound[v.Round]++
	}
	ofLevel, ofRound := map[int]float64{}, map[int]float64{}
	centre := func(key func(trial.Cell) int, rest func(trial.Cell) float64) map[int]float64 {
		sums, counts := map[int]float64{}, map[int]float64{}
		for _, v := range whole {
			sums[key(v)] += math.Log(v.ThroughputPerSec) - rest(v)
			counts[key(v)]++
		}
		for k := range sums {
			sums[k] /= counts[k]
		}
		return sums
	}
	for range levellings {
		ofLevel = centre(func(v trial.Cell) int { return v.Concurrency }, func(v trial.Cell) float64 { return ofRound[v.Round] })
		ofRound = centre(func(v trial.Cell) int { return v.Round }, func(v trial.Cell) float64 { return ofLevel[v.Concurrency] })
	}
	usual := 0.0 // the part of an average round belongs to the levels
	for _, v := range whole {
		usual += ofRound[v.Round] / float64(len(whole))
	}
	var points []usl.Point
	for _, v := range whole {
		rest := math.Log(v.ThroughputPerSec) - ofLevel[v.Concurrency] - ofRound[v.Round]
		if m := inRound[v.Round]; m > 1 {
			rest *= math.Sqrt(m / (m - 1)) // some of what varies went with the round's part
		}
		points = append(points, usl.Point{N: float64(v.Concurrency), X: math.Exp(ofLevel[v.Concurrency] + usual + rest)})
	}
	return points
}

// levellings are more than it takes until the parts no longer change.
const levellings = 20

// Recommended is the level that the design asks for; nil if no level qualifies.
func (c *Curve) Recommended() *usl.Knee {
	if c.Design.Within > 0 {
		return c.Enough
	}
	return c.Knee
}

// crowded finds what other programs took directly above a recommendation that may not be higher.
func (c *Curve) crowded() *finding.Warning {
	use := c.Recommended()
	if use == nil || use.N.Interval == nil || use.N.Interval.High > use.N.Value {
		return nil
	}
	above := slices.IndexFunc(c.Results, func(level trial.Cell) bool { return float64(level.Concurrency) > use.N.Value })
	if above < 0 {
		return nil
	}
	taken := slices.IndexFunc(c.Results[above].Warnings, func(w finding.Warning) bool { return w.Is(finding.MachineBusy) })
	if taken < 0 {
		return nil
	}
	return &c.Results[above].Warnings[taken]
}

// Done says that the sweep came to its end, and that no other programs may have changed what it recommends.
func (c *Curve) Done() bool { return c.TimeUp == nil && c.Crowded == nil && !c.Interrupted }

// Within is half the interval of the mean throughput of a level's visits, per second; false: it was visited once.
func (c *Curve) Within(level int) (float64, bool) {
	var perSec []float64
	for _, v := range c.Visits {
		if v.Concurrency == level && !v.Incomplete() {
			perSec = append(perSec, v.ThroughputPerSec)
		}
	}
	return stat.MeanWithin(perSec, usl.Confidence)
}

// settledRatio is how far either end of the interval of the recommendation may be from it, as a ratio; one caller
// off is also close enough. Whoever sets up a pool does not care about less.
const settledRatio = 1.5

// Settled says that a level is known well enough to go by it; false for nil.
func Settled(k *usl.Knee) bool {
	if k == nil || k.N.Interval == nil {
		return false
	}
	n, i := k.N.Value, k.N.Interval
	return i.Low >= min(n/settledRatio, n-1) && i.High <= max(n*settledRatio, n+1)
}

// Between returns those of the levels, in ascending order, that are to be measured again: those between which the
// knees lie by their intervals, with one more on either side. A knee may be nil.
func Between(levels []int, knees ...*usl.Knee) []int {
	levels = slices.Sorted(slices.Values(levels))
	again := map[int]bool{}
	for _, k := range knees {
		if k == nil || k.N.Interval == nil {
			continue
		}
		first := slices.IndexFunc(levels, func(n int) bool { return float64(n) > k.N.Interval.Low }) // above the last that is not
		last := slices.IndexFunc(levels, func(n int) bool { return float64(n) >= k.N.Interval.High })
		if first < 0 {
			first = len(levels)
		}
		if last < 0 {
			last = len(levels) - 1
		}
		for _, n := range levels[max(first-2, 0):min(last+2, len(levels))] {
			again[n] = true
		}
	}
	return slices.Sorted(maps.Keys(again))
}

// undecided are the levels that say more about the recommendation; if it is near the best level, those around the
// best are included.
func (c *Curve) undecided(levels []int) []int {
	if c.Design.Within > 0 {
		return Between(levels, c.Enough, c.Best)
	}
	return Between(levels, c.Knee)
}

// byLevel merges the visits of each level.
func byLevel(visits []trial.Cell) (levels []trial.Cell) {
	of := map[int][]trial.Cell{}
	for _, v := range visits {
		of[v.Concurrency] = append(of[v.Concurrency], v)
	}
	for _, n := range slices.Sorted(maps.Keys(of)) {
		levels = append(levels, trial.MergeCells(of[n]))
	}
	return levels
}

// soFar has what was measured until now, without what would follow from it; while the levels are
// being chosen, what they are chosen by.
func (c *Curve) soFar() *Curve {
	visits := c.Visits
	if len(visits) == 0 {
		visits = c.Explored
	}
	return &Curve{Arm: c.Arm, Design: c.Design, Visits: slices.Clone(visits), Results: byLevel(visits)}
}

// fit fits the law to the levels below the first INVALID one: what the generator
// did there says nothing about the server, but the lower levels remain valid. A
// level is judged by all its visits together: these are short, and one in which
// something else took the machine says little.
func (c *Curve) fit(points []usl.Point) {
	doubt := func(level trial.Cell) *finding.Warning {
		return level.Refusal(stat.HigherIsFaster)
	}
	if i := slices.IndexFunc(c.Results, func(level trial.Cell) bool { return doubt(level) != nil }); i >= 0 {
		first := c.Results[i]
		c.LeftOut = fmt.Sprintf("the levels from concurrency %d up (%d of %d), because concurrency %[1]d is INVALID (%[4]s)",
			first.Concurrency, len(c.Results)-i, len(c.Results), doubt(first).Code)
		points = slices.DeleteFunc(points, func(p usl.Point) bool { return p.N >= float64(first.Concurrency) })
	}
	if len(points) == 0 {
		c.NoFit = "no valid level is left"
		return
	}
	fit, err := usl.Fit(points, c.Design.Seed)
	if err != nil {
		c.NoFit = err.Error()
		return
	}
	c.Fit = fit
}
