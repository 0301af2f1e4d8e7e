package count

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"contend/failure"
	"contend/internal/unit"
	"contend/load"
	"contend/trial"
)

const (
	// The counted part of a run has as many iterations as the slower variant does in the time measured, or in the time of
	// a start if that is longer, since starts scatter, and at most in mostMeasured. It has at least measuredCaller for each
	// caller. The part before it is a warmUp-th of that, and in every second repetition twice as long: the two runs of a
	// repetition have driven times as long as the counted part on average.
	measured       = time.Second
	mostMeasured   = 5 * time.Second
	measuredCaller = 12
	warmUp         = 4
	driven         = 1 + 3.0/warmUp
	// The rate is that of a stretch of at least pilot after a first one, since the simulator is slow with code that it sees
	// for the first time. All stretches together take about mostPilot at most.
	pilot     = 300 * time.Millisecond
	mostPilot = 3 * time.Second
)

// pace drives each arm for a moment, and chooses how many iterations there are, unless that is kept.
func (c *counter) pace(ctx context.Context) error {
	if c.Measured > 0 { // it is kept
		c.warmUp = c.Measured / warmUp
		return nil
	}
	const pacing = "how fast the servers are under the simulator"
	c.report(0, 0, pacing)
	slow := time.Duration(0)      // how long a start takes, by those at full speed
	for _, arm := range c.fresh { // one that does not start at all would be waited for fifty times as long there
		began := time.Now()
		err := c.started(ctx, arm, trial.Setup{}, func(live *trial.Live, s *load.Session) error {
			slow = max(slow, slower*time.Since(began))
			cell, err := c.drive(ctx, live, s, int64(c.plan.VUs), 1)
			if err != nil || cell.Completed > 0 {
				return err
			}
			return nothingRight(arm, "", cell, "correct the URL or the server, or define a correct response (--expect-status, --check)")
		})
		if err != nil {
			return err
		}
	}
	turns := time.Duration(len(c.arms)) // of a repetition
	if !c.Apart {
		turns = (turns + atOnce - 1) / atOnce
	}
	takes := func(start, counted time.Duration) time.Duration {
		return turns * (2*start + time.Duration(driven*float64(counted)))
	}
	c.guessed = takes(slow, countedFor(slow))
	c.report(0, 0, pacing)
	rate, start := 0.0, time.Duration(0)
	err := c.each(ctx, 1, func(ctx context.Context, arm trial.Arm) error {
		perSec, took, err := c.rate(ctx, arm)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		start = max(start, took)
		if rate == 0 || perSec < rate {
			rate = perSec
		}
		return nil
	})
	if err != nil {
		return err
	}
	counted := countedFor(start)
	if c.Limit > 0 {
		room := (c.Limit-time.Since(c.began))/(turns*time.Duration(c.Counts.Repetitions)) - 2*start
		counted = max(measured, min(counted, time.Duration(float64(room)/driven)))
	}
	c.Measured = max(measuredCaller*int64(c.plan.VUs), int64(rate*counted.Seconds()))
	c.warmUp = c.Measured / warmUp
	c.repetition = takes(start, time.Duration(float64(c.Measured)/rate*float64(time.Second)))
	return nil
}

// countedFor is how long the counted part of a run takes, if its server takes so long to start.
func countedFor(start time.Duration) time.Duration { return min(max(measured, start), mostMeasured) }

// rate is how many iterations an arm does in a second under the simulator, and how long its server takes to start.
func (c *counter) rate(ctx context.Context, arm trial.Arm) (perSec float64, start time.Duration, err error) {
	began := time.Now()
	_, _, err = c.live(ctx, arm, func(live *trial.Live, s *load.Session) error {
		first := time.Now()
		start = first.Sub(began)
		for n, elapsed := int64(c.plan.VUs), time.Duration(0); elapsed < pilot && time.Since(first) < mostPilot; n *= 2 {
			began := time.Now()
			cell, err := c.drive(ctx, live, s, n, slower)
			if err != nil {
				return err
			}
			if cell.Script != nil {
				c.mu.Lock()
				c.Operation = "iteration"
				c.mu.Unlock()
			}
			if cell.Completed == 0 {
				return nothingRight(arm, fmt.Sprintf(" under the simulator, where a server is up to %d times as slow", slower), cell, "look for timeouts of its own that may fire")
			}
			took := time.Since(began)
			if perSec = float64(n) / took.Seconds(); n > int64(c.plan.VUs) {
				elapsed = took
			}
		}
		return nil
	})
	return perSec, start, err
}

// nothingRight is the mistake that a server has no right response.
func nothingRight(arm trial.Arm, where string, cell trial.Cell, advice string) error {
	err := fmt.Errorf("no request succeeded%s: %s failed, %s errored (%s)", where, unit.Count(cell.Failed), unit.Count(cell.ErroredTotal()), causes(cell))
	return trial.Named(arm.Name, failure.With(err, failure.Failure{Advice: advice}))
}

// causes are why iterations had no right response.
func causes(cell trial.Cell) string {
	var list []string
	for _, f := range cell.Faults {
		list = append(list, f.Cause())
	}
	for _, kind := range slices.Sorted(maps.Keys(cell.Errored)) {
		list = append(list, string(kind))
	}
	return strings.Join(list, ", ")
}
