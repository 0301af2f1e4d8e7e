package search

import (
	"cmp"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
	"contend/trial"
)

// A Step is what an attempt is for.
type Step string

// The steps.
const (
	Widen   Step = "widen"   // looks for a rate that misses, or for one that holds
	Narrow  Step = "narrow"  // halves the ratio between the two
	Confirm Step = "confirm" // repeats a rate
)

// How far a rate must be ahead in attempts that held, or missed, to count as
// confirmed; how often one is repeated at most; and how many attempts there are.
const (
	confirmedHeld   = 3
	confirmedMissed = 2
	moreIfUnsure    = 2 // by either number, where a percentile decides and its answers may be chance
	maxRepeats      = 8
	maxAttempts     = 100
)

// Steps of widening. Down they are longer, because low rates need long attempts.
const (
	upBy   = 2
	downBy = 4
)

// A triedRate counts the attempts at one rate.
type triedRate struct {
	rate                  float64
	held, missed, doubted int
	pooled
}

// lead is how many more attempts held than did not. Where a percentile decides, all count for the side of their answers
// together, and once more if that side is sure.
func (t triedRate) lead() int {
	lead := t.held - t.missed - t.doubted
	if t.side != 0 {
		lead = t.side*(t.held+t.missed-t.others) - t.others - t.doubted + t.sure
	}
	if lead == 0 && t.held+t.missed+t.doubted >= maxRepeats {
		return -confirmedMissed // as often as not is not sustained
	}
	return lead
}

// tries returns the rates that were tried, in ascending order.
func (s *Result) tries() []triedRate {
	var list []triedRate
	at := map[float64][]Attempt{}
	for _, p := range s.Attempts {
		at[p.RatePerSec] = append(at[p.RatePerSec], p)
		i := slices.IndexFunc(list, func(t triedRate) bool { return t.rate == p.RatePerSec })
		if i < 0 {
			i = len(list)
			list = append(list, triedRate{rate: p.RatePerSec})
		}
		switch p.Outcome {
		case Held:
			list[i].held++
		case Missed:
			list[i].missed++
		default:
			list[i].doubted++
		}
	}
	for i := range list {
		list[i].pooled = s.pool(at[list[i].rate])
	}
	slices.SortFunc(list, func(a, b triedRate) int { return cmp.Compare(a.rate, b.rate) })
	return list
}

// confirmed says that a rate is ahead, or behind, by enough.
func (t triedRate) confirmed() bool {
	more := 0
	if t.side != 0 && t.sure == 0 {
		more = moreIfUnsure
	}
	return t.lead() >= confirmedHeld+more || t.lead() <= -confirmedMissed-more
}

// known says that a rate is sustained, 1, or not, -1, with little doubt.
func (t triedRate) known() int {
	lead := t.lead()
	switch {
	case t.side != 0 && lead*t.sure <= 0 || t.side == 0 && !t.confirmed():
		return 0
	case lead > 0:
		return 1
	}
	return -1
}

// limit returns the highest known rate up to low that is sustained, and the lowest known rate above it that is not; 0 if
// no rate is known. At a rate slightly too high, the queue reaches the bound only at the end of an attempt, so that this
// does not show; the first rate is lower by as much.
func (s *Result) limit(list []triedRate, low triedRate) (from, to float64) {
	for _, t := range list {
		switch known := t.known(); {
		case known > 0 && t.rate <= low.rate:
			hidden := 2 * cmp.Or(s.bound(), s.grace()-s.Alone.Response.Mean()).Seconds() / s.length(t.rate).Seconds()
			from = fourDigits(t.rate / (1 + hidden))
		case known < 0 && t.rate > low.rate && to == 0:
			to = t.rate
		}
	}
	return from, to
}

// bracket returns the lowest rate that failed and the highest below it that
// passed; their rates are 0 where no such rate was tried.
func bracket(list []triedRate) (low, high triedRate) {
	for _, t := range list {
		switch lead := t.lead(); {
		case lead > 0:
			low = t
		case lead < 0:
			return low, t
		}
	}
	return low, triedRate{}
}

// A move is the next attempt; a rate of 0 means that the search is over.
type move struct {
	rate float64
	step Step
}

// next decides the next attempt from the attempts so far alone.
func (s *Result) next() move {
	list := s.tries()
	low, high := bracket(list)
	to := func(rate float64, step Step) move { return move{rate, step} }
	if s.Alone == nil || s.Alone.Completed == 0 || s.Alone.Starved > 0 || len(s.Attempts) >= maxAttempts || s.tooSlow() != nil {
		return move{}
	}
	if repeat := contradicted(list, low, high); repeat > 0 {
		return to(repeat, Confirm)
	}
	lowest, highest := s.lowest(), s.Design.MaxRate
	switch {
	case low.rate == 0 && high.rate == 0:
		return to(s.first(), Widen)
	case high.rate == 0 && low.rate < highest:
		return to(min(fourDigits(upBy*low.rate), highest), Widen)
	case low.rate == 0 && high.rate > lowest && !s.hopeless(high.rate):
		return to(max(fourDigits(high.rate/downBy), lowest), Widen)
	case low.rate > 0 && high.rate > (1+s.Design.Precision)*low.rate:
		return to(fourDigits(math.Sqrt(low.rate*high.rate)), Narrow)
	case low.rate > 0 && !low.confirmed():
		return to(low.rate, Confirm)
	case high.rate > 0 && !high.confirmed():
		return to(high.rate, Confirm)
	}
	return move{}
}

// hopeless reports whether no lower rate will hold either: the median of one caller alone, for
// which nothing waits, misses an objective, as does that of an attempt at the rate.
func (s *Result) hopeless(rate float64) bool {
	return s.missesInMedian(*s.Alone) && slices.ContainsFunc(s.Attempts, func(p Attempt) bool {
		return p.RatePerSec == rate && p.Outcome == Missed && s.missesInMedian(p.Cell)
	})
}

// contradicted returns a rate to repeat because its attempts, or those of a
// higher rate, contradict each other; or 0.
func contradicted(list []triedRate, low, high triedRate) float64 {
	for _, t := range list {
		within := t.rate > low.rate && (high.rate == 0 || t.rate < high.rate)
		if t.lead() == 0 && within {
			return t.rate
		}
		if t.lead() > 0 && high.rate > 0 && t.rate > high.rate && !high.confirmed() {
			return high.rate
		}
	}
	return 0
}

// lowest is the lowest rate at which the longest attempt has enough answers.
func (s *Result) lowest() float64 {
	return min(fourDigits(s.Design.fewest()/s.Design.longest().Seconds()), s.Design.MaxRate)
}

// partOfTime is the share of the whole time that an attempt may take for the sake of its answers. At a rate
// that brings fewer in it an attempt is short: else nothing else would be tried.
const partOfTime = 8

// first is half the rate that one VU alone comes to, or if that has too few answers more, but no more than all of it.
func (s *Result) first() float64 {
	alone := float64(s.Alone.Completed) / (s.Alone.Duration + s.Alone.Overhang).Seconds()
	return min(max(fourDigits(alone/2), s.lowest()), fourDigits(alone), s.Design.MaxRate)
}

// fourDigits rounds a rate, for a reader.
func fourDigits(rate float64) float64 { return unit.Rounded(rate, 4) }

// Derive computes the outcome of every attempt and what follows from them.
func (s *Result) Derive() {
	if s.Alone != nil {
		s.Alone.Derive()
	}
	for i := range s.Attempts {
		p := &s.Attempts[i]
		p.Derive()
		p.Outcome, p.Reason = Doubted, nil
		if s.Alone != nil {
			p.Outcome, p.Reason = s.judge(p.Cell)
		}
	}
	tries := s.tries()
	low, high := bracket(tries)
	s.LimitFrom, s.LimitTo = s.limit(tries, low)
	s.HeldPerSec, s.MissedPerSec, s.Reason, s.Found = low.rate, high.rate, nil, nil
	if high.rate > 0 {
		s.Reason = s.why(high)
	}
	s.Verdict = s.verdict(low, high)
	var held []trial.Cell
	for _, p := range s.Attempts {
		if p.RatePerSec == low.rate && p.Outcome == Held {
			held = append(held, p.Cell)
		}
	}
	if len(held) > 0 {
		found := trial.MergeCells(held)
		if low.side != 0 && low.sure == 0 && !finding.FewSamples.In(found.Warnings) {
			found.Warnings = append(found.Warnings, finding.FewSamples.Warning("%d completed iterations at this rate do not yet show that the percentile keeps its limit", found.Completed))
		}
		found.Warnings = append(found.Warnings, s.Warmup.Findings()...)
		s.Found = &found
	}
}

// why returns the reason of the last attempt at a rate that did not hold: of the
// generator, if it was that more often.
func (s *Result) why(t triedRate) *finding.Warning {
	outcome := Missed
	if t.doubted > t.missed {
		outcome = Doubted
	}
	for _, p := range slices.Backward(s.Attempts) {
		if p.RatePerSec == t.rate && p.Outcome == outcome {
			return p.Reason
		}
	}
	return nil
}

// settledRatio is how far either end of the limit may be from the rate found if there was no time to confirm that.
const settledRatio = 1.1

// closeTo says that the rates are as near each other as they have to be, and the limit known well enough.
func (s *Result) closeTo(low, high triedRate) bool {
	return low.rate > 0 && high.rate > low.rate && high.rate <= (1+s.Design.Precision)*low.rate &&
		s.LimitFrom*settledRatio >= low.rate && s.LimitTo > 0 && s.LimitTo <= settledRatio*low.rate
}

// verdict may replace the reason.
func (s *Result) verdict(low, high triedRate) Verdict {
	reason := func(kind finding.Kind, format string, args ...any) {
		s.Reason = kind.Refusal(format, args...)
	}
	switch {
	case s.Alone != nil && s.Alone.Completed == 0:
		reason(finding.NothingSucceeded, "no request succeeded before the first attempt")
		return RateInvalid
	case s.Alone != nil && s.Alone.Starved > 0:
		s.Reason = s.Alone.Refusal(stat.HigherIsFaster)
		return RateInvalid
	case s.Alone == nil || s.next().rate > 0 && !s.closeTo(low, high):
		return RateUnsettled
	case len(s.Attempts) >= maxAttempts:
		reason(finding.NotSettled, "%d attempts contradict each other", len(s.Attempts))
		return RateUnsettled
	case low.rate == 0 && high.doubted > high.missed:
		return RateInvalid
	case low.rate == 0 && high.rate == 0:
		s.Reason = s.tooSlow()
		return RateMissed
	case low.rate == 0:
		if missed, _ := s.misses(*s.Alone); missed == nil && len(s.Design.percentiles()) > 0 {
			reason(finding.FewSamples, "%s is too much, and at lower rates %v are too short for the %s responses the percentile needs",
				unit.Rate(high.rate), s.Design.longest(), unit.Number(s.Design.fewest()))
			return RateInvalid
		}
		return RateMissed
	case high.rate == 0:
		reason(finding.MaxRate, "this is the highest rate allowed (--max-rate)")
		return RateAtLeast
	case high.doubted > high.missed:
		return RateAtLeast
	}
	return RateFound
}
