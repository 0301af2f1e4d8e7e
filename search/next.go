package search

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"contend/finding"
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
}

// lead is how many more attempts held than did not.
func (t triedRate) lead() int {
	lead := t.held - t.missed - t.doubted
	if lead == 0 && t.held+t.missed+t.doubted >= maxRepeats {
		return -confirmedMissed // as often as not is not sustained
	}
	return lead
}

// tries returns the rates that were tried, in ascending order.
func (s *Result) tries() []triedRate {
	var list []triedRate
	for _, p := range s.Attempts {
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
	slices.SortFunc(list, func(a, b triedRate) int { return cmp.Compare(a.rate, b.rate) })
	return list
}

// bracket returns the lowest rate that did not hold and the highest below it
// that held; their rates are 0 where there is none.
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
	rate      float64
	step      Step
	low, high float64 // the bracket so far
}

// next decides the next attempt from the attempts so far alone.
func (s *Result) next() move {
	list := s.tries()
	low, high := bracket(list)
	to := func(rate float64, step Step) move { return move{rate, step, low.rate, high.rate} }
	if s.Alone == nil || s.Alone.Completed == 0 || len(s.Attempts) >= maxAttempts {
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
	case low.rate > 0 && low.lead() < confirmedHeld:
		return to(low.rate, Confirm)
	case high.rate > 0 && high.lead() > -confirmedMissed:
		return to(high.rate, Confirm)
	}
	return move{}
}

// hopeless says whether no lower rate will hold either: the median of one caller alone, for
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
		if t.lead() > 0 && high.rate > 0 && t.rate > high.rate && high.lead() > -confirmedMissed {
			return high.rate
		}
	}
	return 0
}

// lowest is the lowest rate at which an attempt has enough answers: of MaxAttempt, or where the whole time is
// bounded as few as an attempt of a part of it can have.
func (s *Result) lowest() float64 {
	needed, within := s.Design.samples(), s.Design.MaxAttempt
	if s.Design.Duration > 0 {
		needed, within = s.Design.fewest(), min(within, s.Design.Duration/partOfTime)
	}
	return min(fourDigits(needed/within.Seconds()), s.Design.MaxRate)
}

// partOfTime is the share of the whole time that an attempt may take for the sake of its answers. At a rate
// that brings fewer in it an attempt is short: else nothing else would be tried.
const partOfTime = 8

// first is half the rate that one VU alone comes to.
func (s *Result) first() float64 {
	rate := float64(s.Alone.Completed) / s.Alone.Duration.Seconds() / 2
	return min(max(fourDigits(rate), s.lowest()), s.Design.MaxRate)
}

// fourDigits rounds a rate, for a reader.
func fourDigits(rate float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64)
	if err != nil {
		return rate
	}
	return rounded
}

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
	low, high := bracket(s.tries())
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
		if n := float64(found.Completed); n < s.Design.samples() && !finding.FewSamples.In(found.Warnings) {
			found.Warnings = append(found.Warnings, finding.FewSamples.Warning("%.0f completed iterations at this rate: fewer than %.0f are above the percentile", n, finding.FewSamples.Refuses))
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

// verdict may replace the reason.
func (s *Result) verdict(low, high triedRate) Verdict {
	reason := func(kind finding.Kind, format string, args ...any) {
		s.Reason = kind.Refusal(format, args...)
	}
	switch {
	case s.Alone != nil && s.Alone.Completed == 0:
		reason(finding.NothingSucceeded, "one caller alone got no successful response")
		return RateInvalid
	case s.next().rate > 0 || s.Alone == nil:
		return RateUnsettled
	case len(s.Attempts) >= maxAttempts:
		reason(finding.NotSettled, "%d attempts contradict each other", len(s.Attempts))
		return RateUnsettled
	case low.rate == 0 && high.doubted > high.missed:
		return RateInvalid
	case low.rate == 0:
		if missed, _ := s.misses(*s.Alone); missed == nil && s.Design.samples() > finding.FewSamples.Refuses {
			reason(finding.FewSamples, "%.4g/s is too much, and at lower rates %v are too short for the %.0f responses the percentile needs",
				high.rate, s.Design.MaxAttempt, s.Design.samples())
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
