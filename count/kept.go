package count

import (
	"slices"

	"contend/trial"
)

// Kept is what several comparisons counted of arms under one load, by name: an arm of a name is counted once, and every
// comparison of it has these counts. The zero value has none. It is used by one comparison at a time.
type Kept struct {
	measured  int64 // iterations
	operation string
	arms      map[string]kept
}

type kept struct {
	runs  []Run
	perOp []costs
}

// recall takes over what is kept of the arms. All others are fresh, and counted for as many iterations as those.
func (c *counter) recall() {
	if c.fresh = c.arms; c.Kept == nil || c.Kept.measured == 0 {
		return
	}
	c.Measured, c.Operation = c.Kept.measured, c.Kept.operation
	c.fresh = slices.DeleteFunc(slices.Clone(c.arms), func(arm trial.Arm) bool {
		of, known := c.Kept.arms[arm.Name]
		if known {
			c.Runs, c.perOp[arm.Name] = append(c.Runs, of.runs...), slices.Clone(of.perOp)
		}
		return known
	})
}

// keep keeps what was counted of each fresh arm that has all repetitions.
func (c *counter) keep() {
	if c.Kept == nil {
		return
	}
	for _, arm := range c.fresh {
		if perOp := c.perOp[arm.Name]; len(perOp) == c.Counts.Repetitions {
			if c.Kept.arms == nil {
				c.Kept.measured, c.Kept.operation, c.Kept.arms = c.Measured, c.Operation, map[string]kept{}
			}
			runs := slices.DeleteFunc(slices.Clone(c.Runs), func(r Run) bool { return r.Arm != arm.Name })
			c.Kept.arms[arm.Name] = kept{runs, slices.Clone(perOp)}
		}
	}
}
