package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"contend/internal/unit"
	"contend/load"
	"contend/setting"
	"contend/trial"
)

// How the time is spent: conventions of this project, argued in docs/measuring.md.
const (
	leastVisits    = 3  // of each level, unless told
	mostVisits     = 60 // of each level around the answer, without a Duration
	shortestBlock  = 200 * time.Millisecond
	longestBlock   = time.Second
	blocksOfTime   = 120 // that the whole has room for at least
	blockAnswers   = 200
	exploringShare = 3 // the share of the whole that exploring may take is 1 ÷ this
)

// visits returns how often each level is measured, at least and at most.
func (d Design) visits() (least, most int) {
	if d.Visits > 0 {
		return d.Visits, d.Visits
	}
	if d.Duration > 0 {
		return leastVisits, math.MaxInt // the time bounds them
	}
	return leastVisits, mostVisits
}

// block returns the measured length of a visit to a level of that throughput; 0: not
// known.
func (d Design) block(perSec float64) time.Duration {
	if d.Block > 0 {
		return d.Block
	}
	longest := longestBlock
	if d.Duration > 0 {
		longest = max(shortestBlock, min(longest, d.Duration/blocksOfTime))
	}
	if perSec == 0 {
		return shortestBlock
	}
	return time.Duration(min(float64(longest), max(float64(shortestBlock), blockAnswers/perSec*1e9)))
}

// Outline says in a few words what a sweep does.
func (d Design) Outline() string {
	text := fmt.Sprintf("levels chosen by doubling the concurrency from 1 to at most %d", cmp.Or(d.ExtendTo, DefaultLimit))
	if len(d.Levels) > 0 {
		text = "one level"
		if n := len(d.Levels); n > 1 {
			text = fmt.Sprintf("%d levels", n)
		}
		if d.ExtendTo > 0 {
			text += fmt.Sprintf(", and on up to %d while throughput grows", d.ExtendTo)
		}
	}
	visits, more := leastVisits, ", and more where the answer lies"
	if d.Visits > 0 {
		visits, more = d.Visits, ""
	}
	return fmt.Sprintf("%s, %d runs of at least %v at each%s", text, visits, d.block(0), more)
}

// leastLevels are the levels that an answer takes at least, and how often each is
// driven.
func (d Design) leastLevels() (levels []int, times int) {
	times, _ = d.visits()
	if len(d.Levels) > 0 {
		return d.Levels, times
	}
	most := min(minLevels, cmp.Or(d.ExtendTo, DefaultLimit))
	return slices.Repeat([]int{1}, most), times + 1 // once to explore
}

// enough returns a *trial.TooShortError where Duration is too short for an answer of a server that
// answers within response at a level. At a lower one it may be as much faster as there
// are fewer users.
func (d Design) enough(level int, response time.Duration) error {
	levels, times := d.leastLevels()
	plan := load.Plan{Warmup: d.Warmup, Duration: d.block(math.Inf(1))}
	var once time.Duration
	for _, n := range levels {
		once += trial.SettledTakes(plan, time.Duration(float64(response)*min(1, float64(n)/float64(level))))
	}
	least := time.Duration(times) * once
	if d.Duration == 0 || least <= d.Duration {
		return nil
	}
	because := fmt.Sprintf("%d levels are driven %d times", len(levels), times)
	if response >= time.Millisecond {
		because += fmt.Sprintf(", and at concurrency %d a response takes %v", level, response.Round(time.Millisecond))
	}
	least = trial.RoundUp(least)
	return &trial.TooShortError{Mistake: setting.At(&d, &d.Duration).OutOf(d.Duration, fmt.Sprintf("%s or more: %s", setting.Duration(least), because)), Least: least, Lacks: because}
}

// enough is asked after the first level.
func (s *sweeping) enough(first trial.Cell) error {
	if len(s.curve.Explored)+len(s.curve.Visits) > 1 {
		return nil
	}
	return s.curve.Design.enough(first.Concurrency, first.Response.Mean())
}

// exploredLongEnough says that the rest of the time is needed for what was explored.
func (s *sweeping) exploredLongEnough() bool {
	most := s.curve.Design.Duration
	return most > 0 && time.Since(s.begun)-s.waited > most/exploringShare
}

// timeUp says what is missing; nil: nothing. Exploring that was cut short would have
// taken no one knows how long: twice the time is a guess.
func (s *sweeping) timeUp() *trial.TimeUp {
	least, _ := s.curve.Design.visits()
	counts := map[int]int{}
	for _, v := range s.curve.Visits {
		counts[v.Concurrency]++
	}
	made, all := 0, least*len(s.levels)
	for _, n := range s.levels {
		made += min(counts[n], least)
	}
	took := time.Since(s.begun)
	switch {
	case trial.NothingRight(s.curve.Visits), s.allStarve():
		return nil // more would be the same
	case len(s.levels) == 0:
		return s.unchosen(took)
	case s.cut:
		return &trial.TimeUp{Lacks: fmt.Sprintf("no level above concurrency %d was tried", s.curve.Explored[len(s.curve.Explored)-1].Concurrency),
			Needs: trial.RoundUp(2 * took)}
	case made == all:
		return s.unsettled(took)
	}
	needs := time.Duration(float64(took) * float64(all) / float64(max(made, 1)))
	return &trial.TimeUp{Lacks: fmt.Sprintf("%d of the %d runs at %d levels were made", made, all, len(s.levels)),
		Needs: trial.RoundUp(needs + needs/10)}
}

// unchosen is the TimeUp before there were levels, as for a server whose first level takes all of the time.
func (s *sweeping) unchosen(took time.Duration) *trial.TimeUp {
	up := &trial.TimeUp{Lacks: "it was over before the levels were chosen", Needs: trial.RoundUp(2 * took)}
	if s.warmed.Result == nil {
		return up
	}
	response := s.warmed.Response.Mean()
	if short, ok := errors.AsType[*trial.TooShortError](s.curve.Design.enough(1, response)); ok {
		up.Needs = short.Least
	}
	up.Lacks += fmt.Sprintf(", and at concurrency %d a response takes %v", s.warmed.Concurrency, response.Round(time.Millisecond))
	return up
}

// unsettled names the levels between which the answer is, if it is not certain enough; nil: it is, or nobody
// asked. An interval becomes narrower with the square root of the time.
func (s *sweeping) unsettled(took time.Duration) *trial.TimeUp {
	c := s.curve
	c.Derive()
	if k := c.Recommended(); c.Design.Visits == 0 && k != nil && k.N.Interval != nil && !Settled(k) {
		wide := math.Log(k.N.Interval.High/k.N.Interval.Low) / (2 * math.Log(settledRatio))
		needs := time.Duration(float64(took) * max(1.5, wide*wide))
		return &trial.TimeUp{Lacks: fmt.Sprintf("the concurrency to use is between %s and %s", unit.Number(k.N.Interval.Low), unit.Number(k.N.Interval.High)), Needs: trial.RoundUp(needs)}
	}
	return nil
}

// unlessTimeUp drops the error of what was under way when the time was up.
func unlessTimeUp(ctx context.Context, err error) error {
	if trial.IsTimeUp(ctx) {
		return nil
	}
	return err
}
