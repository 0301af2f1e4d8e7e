package trial

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"contend/finding"
	"contend/internal/unit"
	"contend/setting"
	"contend/stat"
)

const (
	// PlannedRounds are as many as a comparison often has where nothing else is asked: for telling how
	// far one is before its first round, and what a number of rounds can see.
	PlannedRounds = 40
	// RepeatedRounds are run where nothing else is asked and a trial does not end by
	// itself.
	RepeatedRounds = 10
	// MostRounds can be run, and are where only the time bounds them.
	MostRounds = 1000
	// spentRounds is the number of rounds after which the looks may have spent the whole
	// significance level, and spentPower the power of their share of it that they may have
	// spent before: so early the first look has a third (stat.SequentialLevels).
	spentRounds = 100
	spentPower  = 1.0 / 3
	// longestStep is the most rounds between two looks.
	longestStep = 6
	// usualPatience is how long a comparison may take where nothing else is asked, for each
	// candidate at each level.
	usualPatience = time.Minute
)

// A Look is a number of rounds after which the trial looked whether it is decided: the
// share of the significance level that all looks until then may spend, and the level that
// the primary metric has there so that all looks together raise a false alarm no more
// often than the design's level (stat.SequentialLevels). Documents without Spent mean the
// share of the rounds in those of the last look.
type Look struct {
	Rounds int     `json:"rounds"`
	Spent  float64 `json:"spent,omitempty"`
	Level  float64 `json:"level"`
}

// spent is the share of the significance level that all looks up to so many rounds may have
// spent, below 1.
func spent(rounds int) float64 {
	return min(0.999, math.Pow(float64(rounds)/spentRounds, spentPower)) + 1e-9*float64(rounds)
}

// firstLook returns the number of rounds, at most most, at which the primary metric can be decided
// when all rounds agree: 7 at 95%.
func (d Design) firstLook(most int) int {
	n := 1
	for n < most && math.Ldexp(2, -n) > (1-d.Confidence)*spent(n) {
		n++
	}
	return n
}

// leastRounds is the least number of rounds with which the primary metric can be decided, or
// Rounds where these are fewer.
func (d Design) leastRounds() int {
	least := stat.FewestRounds(1 - d.Confidence)
	if d.Rounds > 0 {
		return min(least, d.Rounds)
	}
	return least
}

// Looks are those of a trial of at most so many rounds, 1 or more: the first, then after 1, 2, 3, … and in the end
// every longestStep further ones, and the last, which has no other near it and may spend what is left.
func (d Design) Looks(most int) []stat.Look {
	var looks []stat.Look
	for n, step := d.firstLook(most), 1; n+step < most; n, step = n+step, min(step+1, longestStep) {
		looks = append(looks, stat.Look{Rounds: n, Spent: spent(n)})
	}
	return append(looks, stat.Look{Rounds: most, Spent: 1})
}

// A TooShortError is the *setting.Mistake that a Duration is too short for an answer.
type TooShortError struct {
	*setting.Mistake
	Least time.Duration // one that allows an answer
	Lacks string        // what there is no time for
}

// Unwrap returns the mistake.
func (e *TooShortError) Unwrap() error { return e.Mistake }

// tooShort returns the *TooShortError that the Duration is too short for a verdict: so much of it is spent, and a
// round takes at least so long; nil if it is long enough. The Duration that it proposes leaves a tenth for the next
// first round, which may take a little longer.
func (d Design) tooShort(spent, round time.Duration) error {
	needed := spent + time.Duration(d.leastRounds())*round
	if d.Duration == 0 || needed <= d.Duration {
		return nil
	}
	least := RoundUp(needed + needed/10)
	lacks := fmt.Sprintf("%d rounds or more, of %s each here", d.leastRounds(), unit.Duration(float64(round)))
	return &TooShortError{setting.At(&d, &d.Duration).OutOf(d.Duration, fmt.Sprintf("at least %s: %s, with a tenth to spare, rounded up",
		setting.Duration(least), lacks)), least, lacks}
}

// Outline says when a comparison of so many candidates ends.
func (d Design) Outline(candidates int) string {
	until := "until every question is answered"
	if candidates == 1 && len(d.Levels) <= 1 {
		until = "until the two clearly differ or are equal within ±" + unit.Percent(d.MarginOf(d.Metrics[0]))
	}
	if d.Precision > 0 {
		until = "until the difference is known to ±" + unit.Percent(d.Precision)
	}
	switch limit := d.Most(candidates); {
	case limit == 0:
		return fmt.Sprintf("%s, at most %d rounds", until, d.Rounds)
	case d.Rounds == 0:
		return fmt.Sprintf("%s, at most %s", until, setting.Duration(limit))
	default:
		return fmt.Sprintf("%s, at most %d rounds or %s", until, d.Rounds, setting.Duration(limit))
	}
}

// Most is how long a comparison of so many candidates may take; 0: as long as its rounds
// do. Where rounds are slow it is longer without a Duration: see there.
func (d Design) Most(candidates int) time.Duration {
	if d.Duration == 0 && d.Rounds == 0 {
		return time.Duration(max(1, len(d.Levels))*candidates) * usualPatience
	}
	return d.Duration
}

// schedule decides, once the first round has shown how long one takes, how many rounds there
// may be and after which of them the trial looks.
func (c *comparing) schedule(round time.Duration) error {
	t := c.trials
	d := &t.Design
	most := cmp.Or(d.Rounds, MostRounds)
	if d.Duration = d.Most(len(t.Arms) - 1); d.Duration > 0 {
		most = max(d.leastRounds(), min(most, 1+int((d.Duration-time.Since(c.began))/max(1, round))))
	}
	d.Rounds = most
	return t.lookAt(d.Looks(most))
}

// run has rounds added, from the first on, until every question is answered, or no more
// may or can follow.
func (c *comparing) run(round func(n int) error) error {
	c.began = cmp.Or(c.began, time.Now()) // rounds may have begun before its first one
	decided, timeUp := false, false
	var longest time.Duration
	var err error
	for n := 1; n == 1 || n <= c.trials.Design.Rounds; n++ {
		if timeUp = n > 1 && c.late(longest); timeUp {
			break
		}
		began := time.Now()
		if err = round(n); err != nil {
			if timeUp = err == errTimeUp; timeUp {
				err = nil // what was under way is dropped
			}
			break
		}
		if longest = max(longest, time.Since(began)); n == 1 {
			if d := c.trials.Design; d.Duet == nil && !slices.ContainsFunc(d.Levels, func(n int) bool { return !c.atOnce(n) }) {
				longest /= time.Duration(len(c.arms))
			}
			if err = c.schedule(longest); err != nil {
				return err
			}
		}
		if c.ended = c.useless(n); c.ended {
			break
		}
		if decided = c.decided(n); decided {
			break
		}
		c.tell(Progress{Done: c.done, Label: c.roundsSoFar(n), Between: true, Trials: c.soFar})
	}
	c.trials.Elapsed = time.Since(c.began)
	err = errors.Join(err, c.endLooks(decided, timeUp || err == nil))
	c.trials.Derive()
	return err
}

// tell tells who observes, if anybody does.
func (c *comparing) tell(p Progress) {
	if c.observe != nil {
		c.observe(p)
	}
}

// soFar has what the rounds so far have come to.
func (c *comparing) soFar() *Trials {
	t := *c.trials
	t.Elapsed = time.Since(c.began)
	t.Derive()
	return &t
}

// roundsSoFar says where the trial is.
func (c *comparing) roundsSoFar(n int) string {
	if most := c.trials.Design.Rounds; most > 0 {
		return fmt.Sprintf("round %d of at most %d", n, most)
	}
	return fmt.Sprintf("round %d", n)
}

// late reports whether no round of this length ends in time any more.
func (c *comparing) late(round time.Duration) bool {
	limit := c.trials.Design.Duration
	return limit > 0 && time.Since(c.began)+round > limit
}

// Replay adds rounds, from the first on, to trials that have none, and ends them as
// Compare would at the same rounds; each takes as long as add does.
func (t *Trials) Replay(add func(n int) error) error {
	return (&comparing{trials: t}).run(add)
}

// lookAt replaces the looks.
func (t *Trials) lookAt(looks []stat.Look) error {
	levels, err := stat.SequentialLevels(looks, 1-t.Design.Confidence)
	if err != nil {
		return fmt.Errorf("looks: %w", err)
	}
	t.Looks, t.levels = nil, nil
	for i, look := range looks {
		t.Looks = append(t.Looks, Look{look.Rounds, look.Spent, levels[i]})
	}
	return nil
}

// spending returns the looks as stat has them.
func (t *Trials) spending() []stat.Look {
	looks := make([]stat.Look, len(t.Looks))
	for i, look := range t.Looks {
		looks[i] = stat.Look{Rounds: look.Rounds, Spent: look.Spent}
		if look.Spent == 0 {
			looks[i].Spent = float64(look.Rounds) / float64(t.Looks[len(t.Looks)-1].Rounds)
		}
	}
	return looks
}

// endLooks leaves the looks that were taken. Where the trial ended without being decided
// there is one more at the rounds that it has: it spends the whole level if no time was
// left, and no more than its share of the rounds if somebody ended it, who may have seen
// what it came to.
func (c *comparing) endLooks(decided, timeUp bool) error {
	t := c.trials
	done := t.roundsDone()
	if len(t.Looks) == 0 {
		return nil
	}
	planned := slices.IndexFunc(t.Looks, func(l Look) bool { return l.Rounds >= done })
	if decided {
		t.Looks, t.levels = t.Looks[:planned+1], nil
		return nil
	}
	last := stat.Look{Rounds: done, Spent: spent(done)}
	if timeUp {
		last.Spent = 1
	}
	return t.lookAt(append(t.spending()[:planned], last))
}

// decided reports whether the trial looks after this number of rounds, and every question
// is answered.
func (c *comparing) decided(rounds int) bool {
	t := c.trials
	if !slices.ContainsFunc(t.Looks, func(l Look) bool { return l.Rounds == rounds }) {
		return false
	}
	t.Derive()
	open := 0
	for _, one := range t.Comparisons {
		if !t.settled(one, rounds) {
			open++
		}
	}
	c.state = t.soFar(open)
	return open == 0
}

// settled reports whether further rounds would change nothing of what a comparison says after so
// many: its verdict is final, or its interval is as narrow as requested, or the arms do
// different work, or will be compared at a rate. A metric after the primary one delays the end
// only with a Precision; for such a metric, and for named requests, a p small enough for a
// verdict must be possible.
func (t *Trials) settled(c Comparison, rounds int) bool {
	switch {
	case !c.Primary:
		return t.Design.Precision == 0 || c.Bounded() || c.Rounds < rounds
	case c.Reason.Is(finding.AnswersDiffer), t.Design.ChangesOver && c.Reason.Is(finding.GeneratorSaturated):
		return true
	case !c.Bounded() || c.Reason != nil:
		return false
	case t.Design.Precision > 0:
		return c.High/c.Low <= (1+t.Design.Precision)*(1+t.Design.Precision)
	}
	return c.Verdict != stat.Inconclusive && t.canTell(c.named, rounds)
}

// soFar says in short what the trial shows at a look.
func (t *Trials) soFar(open int) string {
	var primary []Comparison
	for _, c := range t.Comparisons {
		if c.Primary {
			primary = append(primary, c)
		}
	}
	if len(primary) != 1 {
		return fmt.Sprintf("%d of %d undecided", open, len(primary))
	}
	c := primary[0]
	if !c.Bounded() {
		return ""
	}
	return fmt.Sprintf("%s %s [%s, %s]", c.Candidate, unit.Change(c.Ratio), unit.Change(c.Low), unit.Change(c.High))
}
