package cli

import (
	"context"
	"time"

	"contend/count"
	"contend/experiment"
	"contend/report"
	"contend/setting"
)

// counts reports whether instructions are counted.
func (c *compareFlags) counts() bool {
	var d count.Design
	return setting.Fill(&d, c.given, setting.InFlags) == nil && d.Count
}

// lacks returns an error for servers that should already run and do not, or if nothing can be counted here.
func (a *app) lacks(ctx context.Context, c *compareFlags, arms []arm, p experiment.Part) error {
	if p.Count.Count {
		if _, err := count.Path(); err != nil {
			return failed(err)
		}
	}
	if c.URL != "" {
		return nil
	}
	return a.reachAll(ctx, c, arms, p.Plan.Timeout)
}

// outline says when a comparison ends, and after how long at most (0: unknown). A comparison of times goes by the
// calibration of the machine.
func (c *compareFlags) outline(a *app, p *experiment.Part, doc *report.Document) (text string, most time.Duration) {
	if p.Count.Count {
		return "counting instructions under a simulator, where servers are up to 50 times as slow", p.Design.Duration
	}
	a.quoteCalibration(doc)
	c.useCalibration(&p.Design, doc)
	candidates := len(p.Arms) - 1
	return p.Design.Outline(candidates), p.Design.Most(candidates)
}
