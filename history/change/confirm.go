package change

import "math"

// A Repetition is an interleaved comparison of a build after a step with one before it, on one machine.
type Repetition struct {
	Value float64 // ln(after ÷ before)
	SE    float64 // standard error of Value by its rounds alone, 0 or more
}

// A Confirmation is what the repetitions of a step say.
type Confirmation struct {
	// Size is ln(after ÷ before), and Low to High its 95% interval, with what builds have of their own.
	Size, Low, High float64
	// P is the probability of a difference as large, in either direction, if the commits changed nothing.
	P float64
	// Confirmed: P is at most MostP, and the direction is that of the step.
	Confirmed bool
}

const (
	// MostP is that of repetitions that confirm a step.
	MostP = 0.005
	// MostTries is how many repetitions a step gets until it counts as an event of the machine.
	MostTries = 3
)

// Confirm judges a step by its repetitions, 1 or more, which alone decide: what the series showed may be the machine's doing.
// Two builds differ also without a reason in their commits, each by Build. Repetitions have different builds, so their mean,
// each weighted by its variance, is more certain.
func (s Step) Confirm(all []Repetition) Confirmation {
	var sum, weights float64
	for _, r := range all {
		w := 1 / (r.SE*r.SE + 2*s.Build*s.Build)
		sum += w * r.Value
		weights += w
	}
	size, se := sum/weights, 1/math.Sqrt(weights)
	c := Confirmation{Size: size, Low: size - z95*se, High: size + z95*se, P: math.Erfc(math.Abs(size) / se / math.Sqrt2)}
	c.Confirmed = c.P <= MostP && size*s.Size > 0
	return c
}

// A Known is a step that was repeated. Its positions are those in the series as it is now: whoever stores it keeps commits.
type Known struct {
	From, To    int
	Up          bool // Size was above 0
	Confirmed   bool
	Repetitions []Repetition // 1 to MostTries
	// Points are how many the series had at the last of them.
	Points int
}

// match returns the index of what is known of a step, of the same direction and with positions that overlap; −1 if nothing is.
func match(known []Known, s Step) int {
	for i, k := range known {
		if k.Up == (s.Size > 0) && k.From <= s.To && s.From <= k.To {
			return i
		}
	}
	return -1
}

// Next returns the newest step that is to be repeated, and the positions of the builds for it. A confirmed step was told, and
// is not told again. Others get MostTries repetitions, each with builds of its own where there are any, and the next one only
// when the series has grown. ok is false if there is nothing to repeat.
func Next(steps []Step, known []Known, points int) (s Step, before, after int, ok bool) {
	for i := len(steps) - 1; i >= 0; i-- {
		s, tries := steps[i], 0
		if at := match(known, s); at >= 0 {
			k := known[at]
			tries = len(k.Repetitions)
			if k.Confirmed || tries >= MostTries || k.Points >= points {
				continue
			}
		}
		return s, max(s.First, s.From-1-tries), min(s.Last, s.To+tries), true
	}
	return Step{}, 0, 0, false
}

// Remember adds a repetition of a step to what is known, when the series had so many points, and returns what all
// repetitions of the step say. A step that is Confirmed is to be told now. known is changed in place.
func Remember(known []Known, s Step, r Repetition, points int) ([]Known, Confirmation) {
	at := match(known, s)
	if at < 0 {
		at, known = len(known), append(known, Known{Up: s.Size > 0})
	}
	k := &known[at]
	k.From, k.To, k.Points = s.From, s.To, points
	k.Repetitions = append(k.Repetitions, r)
	c := s.Confirm(k.Repetitions)
	k.Confirmed = c.Confirmed
	return known, c
}
