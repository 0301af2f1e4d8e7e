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
	if enough, err := usl.WithinOfBest(points, WithinBest, c.Design.Seed); err == nil {
		c.Enough = &enough
	}
	c.fit(points)
	c.Bound = c.bound()
	for i := range c.Results {
		c.Results[i].Warnings = append(c.Results[i].Warnings, c.Warmup.Findings()...)
	}
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

// fit fits the law to the levels below the first that must not be believed:
// what the generator did there says nothing about the server, but what both did
// at lower levels stands. A level is judged by all its visits together: these are
// short, and one in which something else took the machine says little.
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
