package search

import (
	"errors"
	"fmt"
	"math"
	"time"

	"contend/setting"
	"contend/trial"
)

// How the time is spent: conventions of this project, argued in docs/measuring.md.
const (
	longestAttempt = 3 * time.Second // unless told
	attemptsOfTime = 25              // that the whole has room for at least
	longestAlone   = time.Second
)

// errNoTime says that the next attempt would not end in time.
var errNoTime = errors.New("no time for the next attempt")

// attempt returns the measured length of an attempt that the objectives do not stretch.
// Of a rate that is too high by the precision more is left over in it than the grace
// takes in.
func (d Design) attempt() time.Duration {
	if d.Attempt > 0 {
		return d.Attempt
	}
	length := longestAttempt
	if d.Duration > 0 {
		length = min(length, d.Duration/attemptsOfTime)
	}
	return max(length, time.Duration(float64(leastGrace)/d.Precision))
}

// alone is how long one VU is driven.
func (d Design) alone() time.Duration { return min(d.attempt(), longestAlone) }

// halvings returns how often the ratio of two rates is halved until they are no further
// apart than the precision.
func (d Design) halvings(ratio float64) int {
	return max(0, int(math.Ceil(math.Log2(math.Log(ratio)/math.Log1p(d.Precision)))))
}

// Outline says in a few words what a search does.
func (d Design) Outline() string {
	return fmt.Sprintf("attempts of at least %v at doubled rates until one misses, then between until %.3g%% apart, then repeated",
		min(d.attempt(), d.MaxAttempt), 100*d.Precision)
}

// What a search takes at least: one attempt that holds and one that misses, and to
// confirm them.
const (
	leastWidened   = 2
	leastConfirmed = confirmedHeld - 1 + confirmedMissed - 1
)

// enough returns a *trial.TooShortError where Duration is too short for a rate to be found.
func (d Design) enough() error {
	if d.Duration == 0 {
		return nil
	}
	attempts := leastWidened + d.halvings(upBy) + leastConfirmed
	length := min(d.attempt(), d.MaxAttempt)
	least := d.Warmup + d.alone() + time.Duration(attempts)*(d.Warmup+length)
	if least <= d.Duration {
		return nil
	}
	least = trial.RoundUp(least)
	return &trial.TooShortError{Mistake: setting.At(&d, &d.Duration).OutOf(d.Duration, fmt.Sprintf("%s or more: there are %d attempts of at least %v",
		setting.Duration(least), attempts, length)), Least: least}
}

// timeUp says what is missing after so long.
func (s *Result) timeUp(took time.Duration) *trial.TimeUp {
	low, high := bracket(s.tries())
	attempts, length := leastWidened+s.Design.halvings(upBy), s.Design.attempt()
	if low.rate > 0 && high.rate > 0 {
		attempts = s.Design.halvings(high.rate / low.rate)
	}
	if s.Alone != nil {
		if next := s.next(); next.rate > 0 {
			length = s.length(next.rate)
		}
	}
	attempts += leastConfirmed
	return &trial.TimeUp{Lacks: fmt.Sprintf("about %d more attempts", attempts),
		Needs: trial.RoundUp(took + time.Duration(attempts)*(s.warms()+s.Design.Warmup+length))}
}

// warms is how long each start of the arm is followed by load that warms it up.
func (s *Result) warms() time.Duration {
	if s.Warmup == nil {
		return 0
	}
	return s.Warmup.Duration
}
