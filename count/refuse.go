package count

import (
	"cmp"
	"math"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/setting"
	"contend/stat"
	"contend/trial"
)

// refusal returns why what was counted of two arms cannot be compared, or nothing.
func (c *counter) refusal(baseline, candidate string) *finding.Warning {
	for _, r := range c.Runs {
		if r.Arm != baseline && r.Arm != candidate {
			continue
		}
		if float64(r.Wrong) > c.plan.AllowedErrors()*float64(r.Iterations) {
			return finding.Errors.Refusal("%s of %s iterations failed or got no response; a server is up to %d times as slow under the simulator, so its own timeouts may have fired",
				unit.Count(r.Wrong), unit.Count(r.Iterations), slower).About(r.Arm)
		}
	}
	for _, arm := range []string{baseline, candidate} {
		processes := 0
		for _, r := range c.Runs {
			if r.Arm == arm && processes > 0 && r.Processes != processes {
				return finding.ProcessesDiffer.Refusal("%s processes wrote their counts in one run and %s in another", unit.Count(processes), unit.Count(r.Processes)).About(arm)
			}
			if r.Arm == arm {
				processes = r.Processes
			}
		}
	}
	return cmp.Or(c.uncounted(baseline), c.uncounted(candidate), c.drifts(baseline), c.drifts(candidate), c.answersDiffer(baseline, candidate))
}

// answersDiffer reports whether both do not do the same work, or nothing.
func (c *counter) answersDiffer(baseline, candidate string) *finding.Warning {
	base, known := c.answered[baseline]
	cand, also := c.answered[candidate]
	if !known || !also || c.AnswersMayDiffer {
		return nil
	}
	return trial.AnswersDiffer(base, cand)
}

// tooFew refuses a comparison of so few repetitions that there is no interval, or returns nothing.
func (c *counter) tooFew(done int) *finding.Warning {
	if done >= leastInterval {
		return nil
	}
	takes := ""
	if c.repetition > 0 {
		all := c.paced.Sub(c.began) + time.Duration(c.Counts.Repetitions)*c.repetition
		takes = "; all take about " + setting.Duration(trial.RoundUp(all+all/10))
	}
	return finding.TooFewRounds.Refusal("%d of %d repetitions ended, too few for an interval%s", done, c.Counts.Repetitions, takes)
}

// leastRequest is fewer instructions than any response takes, from its first system call to its last.
const leastRequest = 50

// uncounted reports whether the processes that serve requests are not among those that were counted, or nothing.
func (c *counter) uncounted(arm string) *finding.Warning {
	sums := c.totals(arm)
	if len(sums) == 0 || mean(sums) >= leastRequest {
		return nil
	}
	return finding.ProcessesDiffer.Refusal("%s instructions are too few for a %s: the processes that serve them left no counts", unit.Digits(mean(sums)), c.Operation).About(arm)
}

// totals are all instructions of an operation, by repetitions.
func (c *counter) totals(arm string) (sums []float64) {
	for _, perOp := range c.perOp[arm] {
		sum := 0.0
		for _, n := range perOp.own {
			sum += n
		}
		sums = append(sums, sum)
	}
	return sums
}

// drifts reports whether the repetitions that begin to count later have another total, or nothing.
func (c *counter) drifts(arm string) *finding.Warning {
	var sooner, later []float64
	for i, sum := range c.totals(arm) {
		if i%2 == 0 {
			sooner = append(sooner, sum)
		} else {
			later = append(later, sum)
		}
	}
	shift, err := stat.Means(sooner, later, confidence)
	if err != nil || !shift.Excludes0() || math.Abs(shift.Value) < drift*mean(sooner) {
		return nil
	}
	more := "more"
	if shift.Value < 0 {
		more = "fewer"
	}
	return finding.NotSteady.Refusal("it executes %s %s instructions per %s once it has served %s: it warms up, or grows",
		unit.Difference(1+shift.Value/mean(sooner)), more, c.Operation, unit.Count(2*c.warmUp)).About(arm)
}
