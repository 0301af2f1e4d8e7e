package sweep

import (
	"fmt"
	"maps"
	"slices"

	"contend/finding"
	"contend/stat"
	"contend/trial"
	"contend/usl"
)

// Derive computes the figures of the visits, Results and the fit.
func (c *Curve) Derive() {
	c.Results, c.Fit, c.NoFit, c.LeftOut, c.Best, c.Enough = nil, nil, "", "", nil, nil
	for _, e := range c.Explored {
		e.Derive()
	}
	byLevel := map[int][]trial.Cell{}
	doubtful := map[int]int{} // visits, by level
	var points []usl.Point
	for _, v := range c.Visits {
		v.Derive()
		byLevel[v.Concurrency] = append(byLevel[v.Concurrency], v)
		if !v.Incomplete() {
			points = append(points, usl.Point{N: float64(v.Concurrency), X: v.ThroughputPerSec})
		}
		if v.Refusal(stat.HigherIsFaster, finding.Errors.Refuses) != nil {
			doubtful[v.Concurrency]++
		}
	}
	levels := slices.Sorted(maps.Keys(byLevel))
	for _, n := range levels {
		c.Results = append(c.Results, trial.MergeCells(byLevel[n]))
	}
	if best, err := usl.WithinOfBest(points, 0, c.Design.Seed); err == nil {
		c.Best = &best
	}
	if enough, err := usl.WithinOfBest(points, WithinBest, c.Design.Seed); err == nil {
		c.Enough = &enough
	}
	c.fit(points, levels, doubtful)
	c.Bound = c.bound()
}

// fit fits the law to the levels below the first that must not be believed:
// what the generator did there says nothing about the server, but what both did
// at lower levels stands.
func (c *Curve) fit(points []usl.Point, levels []int, doubtful map[int]int) {
	if i := slices.IndexFunc(levels, func(n int) bool { return doubtful[n] > 0 }); i >= 0 {
		count := 0
		for _, n := range doubtful {
			count += n
		}
		c.LeftOut = fmt.Sprintf("the levels from %d VUs on (%d of %d), because %d of the visits to them must not be believed",
			levels[i], len(levels)-i, len(levels), count)
		points = slices.DeleteFunc(points, func(p usl.Point) bool { return p.N >= float64(levels[i]) })
	}
	if len(points) == 0 {
		c.NoFit = "no level is left"
		return
	}
	fit, err := usl.Fit(points, c.Design.Seed)
	if err != nil {
		c.NoFit = err.Error()
		return
	}
	c.Fit = fit
}
