package sweep

import (
	"cmp"
	"fmt"
	"slices"

	"contend/stat"
	"contend/trial"
)

// Starved is the lowest level at which VUs were starved while the curve has results of lower ones; nil if no level was. From
// there up the curve has no results.
func (c *Curve) Starved() *trial.Cell {
	i := slices.IndexFunc(c.Explored, func(e trial.Cell) bool { return e.Starved > 0 })
	if i < 0 {
		return nil
	}
	return &c.Explored[i]
}

// starve leaves out the level of a cell that starved VUs, and all above: more callers are starved too.
func (s *sweeping) starve(cell trial.Cell) {
	c := s.curve
	c.Explored = append(c.Explored, cell)
	slices.SortFunc(c.Explored, func(a, b trial.Cell) int { return cmp.Compare(a.Concurrency, b.Concurrency) })
	reason := cell.Refusal(stat.HigherIsFaster)
	c.Ceiling = fmt.Sprintf("at concurrency %d: %s: %s", cell.Concurrency, reason.Code, reason.Text)
	c.Visits = slices.DeleteFunc(c.Visits, func(v trial.Cell) bool { return v.Concurrency >= cell.Concurrency })
	s.levels = slices.DeleteFunc(slices.Clone(s.levels), func(level int) bool { return level >= cell.Concurrency })
}

// allStarve says that each level starves VUs.
func (s *sweeping) allStarve() bool { return len(s.levels) == 0 && s.curve.Starved() != nil }

// pilotStarved says that the pilot starved VUs.
func (s *sweeping) pilotStarved() bool { return s.warmed.Result != nil && s.warmed.Starved > 0 }
