package history

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"contend/history/change"
)

// CountedInstructions is the metric of what is counted under a simulator, which varies less than times.
const CountedInstructions = "counted_instructions_per_op"

// Repeats says that a result was measured to confirm a step that the line seemed to have. It is of no commit's place on the
// line: its Anchor is the revision before the step and its Commit the one after.
type Repeats struct {
	// From and To are the commits that the first one with the new level was between, both included.
	From string `json:"from"`
	To   string `json:"to"`
	Up   bool   `json:"up,omitempty"` // the new level is the higher one
	// Points are how many linked points the line had, and Build the standard deviation between its builds (change.Step).
	Points int     `json:"points"`
	Build  float64 `json:"build"`
}

// Series are the points that ratios to the anchor are known of, in the order of commits.
func (l *Line) Series() (points []Point) {
	for _, p := range l.Points {
		if p.Linked {
			points = append(points, p)
		}
	}
	return points
}

// Steps are the changes that the Series seems to have, with their positions in it. They are suspected, and not confirmed.
func (l *Line) Steps() []change.Step {
	options := change.Times()
	if l.Metric == CountedInstructions {
		options = change.Counts()
	}
	var series []change.Point
	for _, p := range l.Series() {
		series = append(series, change.Point{Value: p.LogRatio, SE: p.StandardError, Rounds: len(p.Value.Rounds)})
	}
	return change.Find(series, options)
}

// Known are the steps of the Series that were repeated, as far as their commits are still on it.
func (l *Line) Known() (known []change.Known) {
	series := l.Series()
	at := func(commit string) int {
		return slices.IndexFunc(series, func(p Point) bool { return p.Commit == commit })
	}
	for _, r := range l.Repeated {
		from, to := at(r.Repeats.From), at(r.Repeats.To)
		if !r.usable() || from < 0 || to < from {
			continue
		}
		step := change.Step{From: from, To: to, Size: -1, Build: r.Repeats.Build}
		if r.Repeats.Up {
			step.Size = 1
		}
		known, _ = change.Remember(known, step, r.repetition(), r.Repeats.Points)
	}
	return known
}

// repetition is the point's ratio to the baseline of its result.
func (p Point) repetition() change.Repetition {
	return change.Repetition{Value: p.Value.LogRatio, SE: p.Value.StandardError()}
}

// leastGrown is the share of an operation's instructions that a function must differ by between two results.
const leastGrown = 0.0005

// Between are the functions that execute more or less in a result than in one before it, of counted instructions, the
// greatest difference first. Baseline is what they executed before.
func Between(before, after Point) (list []Function) {
	names := map[string]bool{}
	for _, p := range []Point{before, after} {
		for _, f := range p.Value.Functions {
			names[f.Name] = true
		}
		for name := range p.Value.Others {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, known := before.executes(name, after)
		is, knownNow := after.executes(name, before)
		if known && knownNow && math.Abs(is-was) >= leastGrown*after.Value.Value {
			list = append(list, Function{name, is, was})
		}
	}
	slices.SortStableFunc(list, func(a, b Function) int {
		return cmp.Compare(math.Abs(b.Value-b.Baseline), math.Abs(a.Value-a.Baseline))
	})
	return list
}

// executes is what a function executes in a result. One that is not named executes what it does in the anchor, which
// another result with that anchor may name.
func (p Point) executes(name string, other Point) (instructions float64, known bool) {
	for _, f := range p.Value.Functions {
		if f.Name == name {
			return f.Value, true
		}
	}
	if x, ok := p.Value.Others[name]; ok {
		return x, true
	}
	for _, f := range other.Value.Functions {
		if f.Name == name && p.Anchor == other.Anchor && p.Anchor != "" {
			return f.Baseline, true
		}
	}
	return 0, false
}

// Confirm says what all repetitions of a step show; the point is the newest of them.
func (l *Line) Confirm(s change.Step, newest Point) change.Confirmation {
	_, c := change.Remember(l.Known(), s, newest.repetition(), len(l.Series()))
	return c
}
