package history

import (
	"cmp"
	"math"
	"slices"
	"time"

	"contend/stat"
)

// A Line is one value of one question over commits.
type Line struct {
	Asked string
	Of
	Primary bool // of its newest result
	// Anchor is the commit that ratios refer to; "": values are shown as measured.
	Anchor string
	Points []Point // in the order of commits
	// Repeated are the results that were measured to confirm a step, in the order of their times.
	Repeated []Point
}

// A Point is a result on a line.
type Point struct {
	Stored
	Value Value
	// Linked says that LogRatio is relative to the line's anchor: measured in turns with it, or with a revision that
	// was, whose ratios are added. What is not linked can show no change.
	Linked bool
	// LogRatio is ln(value ÷ that of the anchor), with its standard error and interval, which is at the Level of Value.
	LogRatio, StandardError, Low, High float64
	// Over are the commits between the result and the anchor; nil: it was measured in turns with the anchor.
	Over []string
	// Known says that git has the commit, of results that were put in its order.
	Known bool
	// Events are what is different about the machine and its tools from the point before.
	Events []Event
	// Moved is the anchor's value ÷ what it was since it last moved, where that says that the machine is another one
	// now; 0: it did not move.
	Moved float64
}

// An Event is a change of a field of the key.
type Event struct{ Field, Was, Is string }

// Last is the newest point that is linked; nil: none is.
func (l *Line) Last() *Point {
	for i := range slices.Backward(l.Points) {
		if l.Points[i].Linked {
			return &l.Points[i]
		}
	}
	return nil
}

// Lines puts results into lines, the question that was asked last first, and in it what the verdict was asked for. Ratios
// are relative to the anchor; "": to none. order has the place of each commit in git's history; nil: commits are in the
// order of their times. One that git does not have, as after a rebase, keeps its place by time.
func Lines(results []Stored, anchor string, order map[string]int) []Line {
	type name struct {
		asked string
		of    Of
	}
	index := map[name]int{}
	newest := map[string]time.Time{}
	var lines []Line
	for _, r := range inOrder(results, order) {
		_, known := order[r.Commit]
		for _, v := range r.Values {
			i, ok := index[name{r.Key.Asked, v.Of}]
			if !ok {
				i = len(lines)
				index[name{r.Key.Asked, v.Of}] = i
				lines = append(lines, Line{Asked: r.Key.Asked, Of: v.Of, Anchor: anchor})
			}
			lines[i].Primary = v.Primary
			if p := (Point{Stored: r, Value: v, Known: known}); r.Repeats != nil {
				lines[i].Repeated = append(lines[i].Repeated, p)
			} else {
				lines[i].Points = append(lines[i].Points, p)
			}
		}
		if r.Time.After(newest[r.Key.Asked]) {
			newest[r.Key.Asked] = r.Time
		}
	}
	lines = slices.DeleteFunc(lines, func(l Line) bool { return len(l.Points) == 0 })
	for i := range lines {
		slices.SortStableFunc(lines[i].Repeated, func(a, b Point) int { return a.Time.Compare(b.Time) })
		lines[i].link()
		lines[i].events()
	}
	slices.SortStableFunc(lines, func(a, b Line) int {
		primary := func(l Line) int {
			if l.Primary {
				return 0
			}
			return 1
		}
		return cmp.Or(newest[b.Asked].Compare(newest[a.Asked]), cmp.Compare(a.Asked, b.Asked), primary(a)-primary(b))
	})
	return lines
}

// when is the time by which a result has its place without git.
func (r Result) when() time.Time {
	if r.Committed.IsZero() {
		return r.Time
	}
	return r.Committed
}

// inOrder sorts results by their commits' places. Those without one are put before the first that is later.
func inOrder(results []Stored, order map[string]int) []Stored {
	var known, others []Stored
	for _, r := range results {
		if _, ok := order[r.Commit]; ok {
			known = append(known, r)
		} else {
			others = append(others, r)
		}
	}
	byTime := func(a, b Stored) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Name, b.Name)) }
	slices.SortFunc(known, func(a, b Stored) int { return cmp.Or(cmp.Compare(order[a.Commit], order[b.Commit]), byTime(a, b)) })
	slices.SortFunc(others, func(a, b Stored) int { return cmp.Or(a.when().Compare(b.when()), byTime(a, b)) })
	var merged []Stored
	for _, k := range known {
		for len(others) > 0 && others[0].when().Before(k.when()) {
			merged, others = append(merged, others[0]), others[1:]
		}
		merged = append(merged, k)
	}
	return append(merged, others...)
}

// A ratio is a logarithm with what is not certain of it.
type ratio struct{ log, se, below, above float64 }

// ratioOf is the ratio of a point to the baseline of its result.
func (p Point) ratioOf() ratio {
	v := p.Value
	r := ratio{log: v.LogRatio, se: v.StandardError()}
	if v.Level > 0 {
		r.below, r.above = v.LogRatio-v.Low, v.High-v.LogRatio
	}
	return r
}

// plus adds an independent ratio.
func (r ratio) plus(o ratio) ratio {
	return ratio{r.log + o.log, math.Hypot(r.se, o.se), math.Hypot(r.below, o.below), math.Hypot(r.above, o.above)}
}

// reversed is the ratio of its baseline to it.
func (r ratio) reversed() ratio { return ratio{-r.log, r.se, r.above, r.below} }

// A way leads from the anchor to a commit.
type way struct {
	ratio
	over []string // the anchor's end first
}

// usable reports whether the point has the ratio of one commit to another.
func (p Point) usable() bool { return p.Value.Compared() && p.Anchor != "" && !p.Altered }

// link makes ratios relative to the line's anchor.
func (l *Line) link() {
	if l.Anchor == "" {
		return
	}
	ways := l.ways()
	for i := range l.Points {
		p := &l.Points[i]
		w, ok := ways[p.Anchor]
		if !p.usable() || !ok {
			continue
		}
		r := w.ratio.plus(p.ratioOf())
		p.Linked, p.LogRatio, p.StandardError, p.Low, p.High = true, r.log, r.se, r.log-r.below, r.log+r.above
		if p.Anchor != l.Anchor {
			p.Over = append(slices.Clone(w.over), p.Anchor)
		}
	}
}

// ways finds for each commit the shortest way from the anchor, over commits that were compared with each other; the way to
// the anchor itself has no length. Of several comparisons of the same two the one that is best known is taken.
func (l *Line) ways() map[string]way {
	next := map[string]map[string]ratio{}
	connect := func(from, to string, r ratio) {
		if next[from] == nil {
			next[from] = map[string]ratio{}
		}
		if old, ok := next[from][to]; !ok || r.se < old.se {
			next[from][to] = r
		}
	}
	for _, p := range l.Points {
		if p.usable() && p.Commit != "" && !p.Changed {
			connect(p.Anchor, p.Commit, p.ratioOf())
			connect(p.Commit, p.Anchor, p.ratioOf().reversed())
		}
	}
	ways := map[string]way{l.Anchor: {}}
	for reached := []string{l.Anchor}; len(reached) > 0; reached = reached[1:] {
		at := reached[0]
		var further []string
		for commit := range next[at] {
			if _, seen := ways[commit]; !seen {
				further = append(further, commit)
			}
		}
		slices.Sort(further)
		for _, commit := range further {
			w := way{ratio: ways[at].ratio.plus(next[at][commit])}
			if at != l.Anchor {
				w.over = append(slices.Clone(ways[at].over), at)
			}
			ways[commit] = w
			reached = append(reached, commit)
		}
	}
	return ways
}

// An anchor has moved if its value is off what it was before by more than both: a share, as machines are never the same
// twice, and so many standard deviations of what was seen since it last moved.
const (
	leastMove = 0.05
	movedBy   = 4
)

// events notes what changed about the machine between points.
func (l *Line) events() {
	var before []float64 // ln of the anchor's values since it last moved
	for i := range l.Points {
		p := &l.Points[i]
		if i > 0 {
			was := l.Points[i-1].Key.Fields()
			for n, field := range p.Key.Fields() {
				if old := was[n][1]; old != field[1] && field[0] != "asked" {
					p.Events = append(p.Events, Event{field[0], old, field[1]})
				}
			}
		}
		if !p.usable() || p.Anchor != l.Anchor {
			continue
		}
		at := math.Log(p.Value.Baseline)
		if len(before) > 0 {
			middle := stat.Median(before)
			var off []float64
			for _, x := range before {
				off = append(off, math.Abs(x-middle))
			}
			const perMAD = 1.4826 // standard deviations of a normal distribution
			if math.Abs(at-middle) > max(math.Log1p(leastMove), movedBy*perMAD*stat.Median(off)) {
				p.Moved, before = math.Exp(at-middle), nil
			}
		}
		before = append(before, at)
	}
}
