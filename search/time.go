package search

import (
	"errors"
	"fmt"
	"math"
	"time"

	"contend/internal/unit"
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
// At a rate that is too high by the precision more remains in it than the grace takes
// in.
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

// responsesOfAttempt are how many response times an attempt has at least: a queue that grows by a twentieth of that time
// then makes the last responses twice as long.
const responsesOfAttempt = 20

// attemptOf returns the measured length of an attempt at a server that takes so long for a response.
func (d Design) attemptOf(response time.Duration) time.Duration {
	return min(max(d.attempt(), responsesOfAttempt*response), d.MaxAttempt)
}

// longest is how long an attempt at a low rate may become for the sake of its answers.
func (d Design) longest() time.Duration {
	if d.Duration > 0 {
		return min(d.MaxAttempt, d.Duration/partOfTime)
	}
	return d.MaxAttempt
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
	return fmt.Sprintf("attempts of at least %v at doubled rates until one misses, then between until %s apart, then repeated",
		min(d.attempt(), d.MaxAttempt).Round(time.Millisecond), unit.Percent(d.Precision))
}

// What a search takes at least: one attempt that holds and one that misses, and to
// confirm them.
const (
	leastWidened   = 2
	leastConfirmed = confirmedHeld - 1 + confirmedMissed - 1
)

// enough returns a *trial.TooShortError where Duration is too short for a rate to be found, after so much of it. One VU waits
// so long for a response, and the arm sustained so many times its rate.
func (d Design) enough(spent, response time.Duration, times float64) error {
	attempts := leastWidened + d.halvings(upBy) + leastConfirmed + int(math.Log2(max(1, times))) // from the rate of one VU up
	length := d.attemptOf(response)
	least := spent + time.Duration(attempts)*(d.Warmup+length+response)
	if d.Duration == 0 || least <= d.Duration {
		return nil
	}
	lacks := fmt.Sprintf("%d attempts of at least %s", attempts, unit.Duration(float64(length)))
	if response > 0 {
		least += least / 10
		lacks = fmt.Sprintf("responses take %s, and a rate is found by %s", unit.Duration(float64(response)), lacks)
	}
	least = trial.RoundUp(least)
	return &trial.TooShortError{Mistake: setting.At(&d, &d.Duration).OutOf(d.Duration, fmt.Sprintf("%s or more: there are %s",
		setting.Duration(least), lacks)), Least: least, Lacks: lacks}
}

// timeUp says what is missing after so long.
func (s *Result) timeUp(took time.Duration) *trial.TimeUp {
	low, high := bracket(s.tries())
	attempts, length := leastWidened+s.Design.halvings(upBy), s.Design.attempt()
	if low.rate > 0 && high.rate > 0 {
		attempts = s.Design.halvings(high.rate / low.rate)
	}
	if s.Alone != nil {
		length = s.Design.attemptOf(s.Alone.Response.Mean())
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
