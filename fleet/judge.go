package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"contend/finding"
)

// What makes a worker worth a remark, and what makes it unfit: conventions of this project. A
// clock that is known to a millisecond lets loads begin together as on a local network, and one
// that is known to 50 ms does not; 500 ppm is the most by which a clock is slewed to keep the time
// (adjtimex(2)).
const (
	knownWell  = time.Millisecond
	knownBadly = 50 * time.Millisecond
	mostDrift  = 500e-6
)

// A Problem is what can be the matter with a worker.
type Problem string

// The problems.
const (
	otherVersion Problem = "of another version of contend"
	used         Problem = "used by another coordinator"
	silent       Problem = "silent"
	cut          Problem = "without a right answer of the target"
	badClock     Problem = "with a clock that is not known well enough"
	wrongClock   Problem = "with a clock that runs too fast or too slow"
	busy         Problem = "on a machine that others use"
	slowStart    Problem = "with a clock that is known to over 1 ms only"
	someBusy     Problem = "on a machine that others use a little"
	unmeasured   Problem = "not able to measure what it can send"
)

// unfit are those that make workers unfit, with what to do; remarks those that do not.
var (
	unfit = []struct {
		Problem
		advice string
	}{
		{otherVersion, "start the same build there (contend version)"},
		{used, "it becomes free when that ends, or has been silent for 3 s"},
		{silent, "see on its machine whether it still runs, and start it again"},
		{cut, "see that the URL is right from there, that the server listens for more than its own machine, and that no firewall is between them"},
		{badClock, "bring workers, coordinator and NATS server closer together, or free the network between them"},
		{wrongClock, "its machine was paused or moved; if it stays, see that a single program keeps its time (chrony, ntpd), and its clock source"},
		{busy, "end the other programs, or take another machine"},
	}
	remarks = []struct {
		Problem
		advice string
	}{
		{slowStart, "loads may begin so much early or late: its network or its machine is slow or busy"},
		{someBusy, "what they take is missing from what the worker can send"},
		{unmeasured, "all workers are given the same"},
	}
)

// A Judgement says whether workers are fit to measure together.
type Judgement struct {
	// Fit says that nothing is against it.
	Fit bool
	// Answer is the judgement in a sentence, and Remarks what to do, and what else to know.
	Answer  string
	Remarks []string
	Weights []int // of a load
}

// Judge says what follows from what a check found, of one worker at least.
func Judge(list []Checkup) *Judgement {
	names, causes := map[Problem][]string{}, map[Problem]string{}
	workers := make([]Worker, len(list))
	for i, c := range list {
		workers[i] = c.Worker
		for _, p := range c.problems() {
			names[p] = append(names[p], c.Name)
			if p == c.Against && causes[p] == "" {
				causes[p] = " (" + c.Because + ")"
			}
		}
		if c.Found.Unmeasured != "" {
			causes[unmeasured] = " (" + c.Found.Unmeasured + ")"
		}
	}
	j := &Judgement{Weights: Weights(workers)}
	var against []string
	for _, u := range unfit {
		if some := names[u.Problem]; len(some) > 0 {
			against = append(against, Few(some)+" "+is(some)+" "+string(u.Problem))
			j.Remarks = append(j.Remarks, fmt.Sprintf("%s %s %s%s: %s", Few(some), is(some), u.Problem, causes[u.Problem], u.advice))
		}
	}
	for _, r := range remarks {
		if some := names[r.Problem]; len(some) > 0 {
			j.Remarks = append(j.Remarks, fmt.Sprintf("%s %s %s%s: %s", Few(some), is(some), r.Problem, causes[r.Problem], r.advice))
		}
	}
	if slices.Max(j.Weights) > 1 {
		j.Remarks = append(j.Remarks, "the workers differ in what they can send, so that a load is divided by their weights")
	}
	if j.Fit = against == nil; !j.Fit {
		j.Answer = "Not fit to measure together: " + strings.Join(against, "; ")
	} else if j.Answer = "Fit to measure together"; len(list) > 1 {
		j.Answer += fmt.Sprintf(": %d workers begin within %v of each other", len(list), skew(list).Round(time.Microsecond))
	}
	return j
}

// problems are what is the matter with a worker.
func (c *Checkup) problems() (list []Problem) {
	if c.Against != "" {
		list = append(list, c.Against)
	}
	switch {
	case c.ClockBound > knownBadly:
		list = append(list, badClock)
	case c.ClockBound > knownWell:
		list = append(list, slowStart)
	}
	if max(c.Drift, -c.Drift)-c.DriftBound > mostDrift {
		list = append(list, wrongClock)
	}
	switch {
	case c.Found.Elsewhere > finding.MachineBusy.Refuses:
		list = append(list, busy)
	case c.Found.Elsewhere > finding.MachineBusy.Warns:
		list = append(list, someBusy)
	}
	if c.Found.Unmeasured != "" {
		list = append(list, unmeasured)
	}
	return list
}

// skew is how far apart two workers may have begun at most.
func skew(list []Checkup) time.Duration {
	first, last := list[0].Found.BeganLate-list[0].ClockBound, list[0].Found.BeganLate+list[0].ClockBound
	for _, c := range list {
		first, last = min(first, c.Found.BeganLate-c.ClockBound), max(last, c.Found.BeganLate+c.ClockBound)
	}
	return last - first
}

func is(names []string) string {
	if len(names) == 1 {
		return "is"
	}
	return "are"
}

// Few names the first ones, and counts the others.
func Few(names []string) string {
	const few = 4
	switch n := len(names); {
	case n > few:
		return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", n-few)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
