package trial

import (
	"context"
	"errors"
	"slices"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/metric"
	"contend/pace"
	"contend/setting"
	"contend/stat"
)

const (
	// rateShare is the share of the limit that is tried first: low enough that neither side
	// is at its limit, high enough to be a load. Each further try is that much lower.
	// Conventions of this project.
	rateShare = 0.70
	lowerBy   = 2.0 / 3
	rateTries = 4
	// pacedBlock is the shortest block at a constant rate where no length is asked for: what is
	// late at its end is dropped, which weighs less in a longer one.
	pacedBlock = 150 * time.Millisecond
)

// AtRate says why arms were compared at a constant rate.
type AtRate struct {
	// Reason is that the generator was the limit, of the arm that it names.
	Reason finding.Warning `json:"reason"`
	// LimitPerSec is how many iterations a second the slowest of the arms came to, and
	// RatePerSec how many arrive at a constant rate: a share of it that all of them and the
	// generator hold.
	LimitPerSec float64 `json:"limit_per_s"`
	RatePerSec  float64 `json:"rate_per_s"`
}

// A ChangeOver is a comparison at a constant rate. It replaces one at a level where
// the generator was the bottleneck. There CPU, instructions and times are the server's
// own.
type ChangeOver struct {
	AtRate
	Concurrency int `json:"concurrency"`
	// Candidates are those whose comparisons it takes the place of.
	Candidates []string `json:"candidates"`
	Trials     *Trials  `json:"trials"`
}

// of reports whether it takes the place of a comparison.
func (o ChangeOver) of(c Comparison) bool {
	return c.Concurrency == o.Concurrency && slices.Contains(o.Candidates, c.Candidate)
}

// limited returns the levels and candidates of whose primary metric the generator was
// the limit.
func (t *Trials) limited() []ChangeOver {
	var list []ChangeOver
	for _, c := range t.Comparisons {
		if !c.Primary || !c.Reason.Is(finding.GeneratorSaturated) {
			continue
		}
		i := slices.IndexFunc(list, func(o ChangeOver) bool { return o.Concurrency == c.Concurrency })
		if i < 0 {
			i = len(list)
			list = append(list, ChangeOver{AtRate: AtRate{Reason: *c.Reason}, Concurrency: c.Concurrency})
		}
		list[i].Candidates = append(list[i].Candidates, c.Candidate)
	}
	for i := range list {
		list[i].LimitPerSec = t.slowest(list[i])
	}
	return list
}

// slowest is how many iterations a second the slowest arm of a change-over came to.
func (t *Trials) slowest(o ChangeOver) (perSec float64) {
	for i, arm := range append([]string{t.Arms[0]}, o.Candidates...) {
		cell, _ := t.Result(arm, o.Concurrency)
		if x := float64(cell.Completed) / cell.Duration.Seconds(); i == 0 || x < perSec {
			perSec = x
		}
	}
	return perSec
}

// useless says after so many rounds whether further ones would be: at each level the
// generator is the limit of every comparison, or, which the first round shows, a rate is
// not held, an arm answers nothing right, each pair has one that fails too often, or no
// candidate answers as the baseline does.
// Levels where it is the limit get no further rounds.
func (c *comparing) useless(rounds int) bool {
	t := c.trials
	if rounds > 1 && !t.Design.ChangesOver {
		return false
	}
	t.Derive()
	switch {
	case rounds == 1 && t.hopeless():
		return true
	case rounds == 1 && c.holds != nil:
		return !t.held(*c.holds)
	case !t.Design.ChangesOver:
		return false
	}
	c.givenUp = nil
	for _, o := range t.limited() {
		if len(o.Candidates) == len(t.Arms)-1 {
			c.givenUp = append(c.givenUp, o.Concurrency)
		}
	}
	return len(c.givenUp) == len(t.Design.Levels)
}

// hopeless reports whether the rounds so far leave nothing that further ones could decide: an arm
// answers nothing right, or no candidate answers as the baseline does, or each pair has one that fails too often.
func (t *Trials) hopeless() bool {
	return slices.ContainsFunc(t.Arms, t.nothingRight) || t.allDiffer() || t.allFail()
}

// allFail reports whether every pair has an arm with more errors than are allowed in all rounds that there may be,
// so that no number of rounds without any makes up for them.
func (t *Trials) allFail() bool {
	fails := func(arm string, level int) bool {
		c, seen := t.Result(arm, level)
		return seen && float64(c.Wrong()) > t.Design.MaxErrors*float64(c.Planned)*float64(t.Design.Rounds)
	}
	return len(t.Comparisons) > 0 && !slices.ContainsFunc(t.Comparisons, func(c Comparison) bool {
		return !c.Reason.Is(finding.Errors) || !fails(c.Baseline, c.Concurrency) && !fails(c.Candidate, c.Concurrency)
	})
}

// nothingRight reports whether an arm has answered, and nothing of it was right.
func (t *Trials) nothingRight(arm string) bool {
	return NothingRight(slices.DeleteFunc(slices.Clone(t.Results), func(c Cell) bool { return c.Arm != arm }))
}

// Explainable reports whether the baseline and a candidate have given right answers, so that it can be seen why they differ.
func (t *Trials) Explainable() bool {
	return !t.nothingRight(t.Arms[0]) && slices.ContainsFunc(t.Arms[1:], func(arm string) bool { return !t.nothingRight(arm) })
}

// allDiffer reports whether no comparison has a candidate that does the work of the baseline.
func (t *Trials) allDiffer() bool {
	return len(t.Comparisons) > 0 && !slices.ContainsFunc(t.Comparisons, func(c Comparison) bool {
		base, _ := t.Result(c.Baseline, c.Concurrency)
		cand, _ := t.Result(c.Candidate, c.Concurrency)
		return !c.Reason.Is(finding.AnswersDiffer) || !t.plainlyDiffer(base, cand)
	})
}

// held reports whether all arms and the generator sustain the rate, so that verdicts of this
// kind can rest on it: nothing is refused except what a lower rate would not change.
func (t *Trials) held(about stat.Kind) bool {
	return len(t.Results) == len(t.Arms) && !slices.ContainsFunc(t.Results, func(c Cell) bool {
		w := c.Refusal(about)
		return w != nil && !w.Is(finding.MachineBusy) && !w.Is(finding.NotSteady)
	})
}

// changeOver compares again, at a constant rate, what the generator was the limit of.
func (c *comparing) changeOver(ctx context.Context) error {
	t := c.trials
	list := t.limited()
	for i, o := range list {
		c.left = (1 - c.done) / float64(len(list)-i)
		if err := c.findRate(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// findRate compares at lower and lower rates until one is held, and keeps that. The first
// round must not show late starts either, unless no rate is without; later ones may, as
// they spoil the times alone.
func (c *comparing) findRate(ctx context.Context, o ChangeOver) error {
	primary := c.trials.metricsAtRate(o)[0].Kind().Verdict()
	for share, try := rateShare, 1; try <= rateTries; share, try = share*lowerBy, try+1 {
		o.RatePerSec = unit.Rounded(share*o.LimitPerSec, 3)
		again, err := c.again(o)
		if err == nil {
			if try == rateTries {
				again.holds = &primary
			}
			err = again.rounds(ctx)
		}
		if errors.As(err, new(*setting.Mistake)) {
			return nil // no time is left
		}
		if again == nil {
			return err
		}
		if o.Trials = again.trials; !again.ended && o.Trials.held(primary) {
			c.trials.ChangedOver = append(c.trials.ChangedOver, o)
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again is the comparison at the constant rate.
func (c *comparing) again(o ChangeOver) (*comparing, error) {
	began := c.done
	observe := func(p Progress) {
		p.Done = max(c.done, began+c.left*p.Done)
		c.observe(p)
	}
	arms := slices.DeleteFunc(slices.Clone(c.arms), func(a Arm) bool {
		return a.Name != c.trials.Arms[0] && !slices.Contains(o.Candidates, a.Name)
	})
	plan := c.plan
	plan.VUs, plan.Pacer, plan.Think = o.Concurrency, pace.Constant(o.RatePerSec), 0
	d := c.asked
	d.Levels, d.Metrics, d.ChangesOver = []int{o.Concurrency}, c.trials.metricsAtRate(o), false
	if d.Block == 0 {
		if d = d.sized(o.RatePerSec); d.Block < pacedBlock {
			d = d.InBlocks(pacedBlock)
		}
		d.Pairs = max(d.Pairs, min(2, c.asked.Pairs))
	}
	if most := c.trials.Design.Duration; most > 0 { // as schedule filled it in
		d.Duration = max(1, most-time.Since(c.began))
	}
	again, err := newComparing(arms, plan, d, observe)
	if err != nil {
		return nil, err
	}
	again.holds = new(stat.LowerIsFaster)
	timed := d
	timed.Metrics = append(slices.Clone(d.Metrics[1:]), d.Metrics[0]) // the primary one is counted together with the times
	again.counting = timed.counting()
	return again, nil
}

// metricsAtRate are those of a change-over. The primary one is that of the design, or,
// where the pacer decides that, the first that all arms have of instructions, CPU time
// and the median response time. With it come the response times, and what of the design
// the pacer does not decide.
func (t *Trials) metricsAtRate(o ChangeOver) []metric.Name {
	paced := func(m metric.Name) bool {
		return m.Kind() == metric.Rate || m.Kind() == metric.Traffic || m == metric.WallPerOp
	}
	primary := t.Design.Metrics[0]
	if paced(primary) {
		primary = metric.ResponseP50
		for _, m := range []metric.Name{metric.ServerCPUPerOp, metric.ServerInstructions} {
			if t.allHave(m, o) {
				primary = m
			}
		}
	}
	list := []metric.Name{primary}
	for _, m := range slices.Concat([]metric.Name{metric.ResponseP50, "response_p90_ns", metric.ResponseP99}, t.Design.Metrics) {
		if !paced(m) && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// allHave reports whether all arms of a change-over have the metric.
func (t *Trials) allHave(m metric.Name, o ChangeOver) bool {
	return !slices.ContainsFunc(append([]string{t.Arms[0]}, o.Candidates...), func(arm string) bool {
		cell, _ := t.Result(arm, o.Concurrency)
		_, ok := m.Of(cell.Result)
		return !ok
	})
}

// replace substitutes the comparisons of change-overs for those that the generator
// limited.
func (t *Trials) replace() {
	for i := range t.ChangedOver {
		o := &t.ChangedOver[i]
		o.Trials.Derive()
		t.Comparisons = slices.DeleteFunc(t.Comparisons, o.of)
		for _, c := range o.Trials.Comparisons {
			c.ChangedOver = &o.AtRate
			t.Comparisons = append(t.Comparisons, c)
		}
	}
}
