package why

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"contend/stat"
	"contend/why/symbol/work"
)

const (
	// unlikely is the P below which work counts as different when what both arms share is looked for. A convention.
	unlikely = 0.01
	// leastShared is the least share of an arm's CPU time that what both share must have to be compared with.
	// A convention: with less, what is left varies more than the machine.
	leastShared = 0.2
	// The names of the part of a difference that all work has in proportion.
	sameLonger  = "the same work takes longer"
	sameShorter = "the same work takes less time"
)

// A control is the CPU time of each pair and side in work that both arms share and that does not differ. Whatever slows
// the machine slows it, too, so that a function's time relative to it is known better than its time per operation.
type control struct {
	pairs []pair
	ns    [][2]float64
	perOp float64 // of it: the mean of all pairs and sides
	exact bool    // operations are the control, which are not sampled
}

// controlOf looks for the work that pairs share, three times without what differed in the look before. If little is
// shared, operations are the control.
func controlOf(pairs []pair) control {
	c := control{pairs: pairs, ns: make([][2]float64, len(pairs))}
	differs := map[Work]bool{}
	shared := func(p Profile) map[Work]float64 {
		times := map[Work]float64{}
		for _, w := range p.Work {
			if k := work.Kind(w.Kind); k != work.Collection && k != work.Scheduling && k != work.Polling && !differs[w.key()] {
				times[w.key()] += float64(w.Time)
			}
		}
		return times
	}
	for look := range 3 {
		times := timesOf(pairs, shared, Profile.used)
		if !c.take(times) {
			return c
		}
		if look == 0 {
			c.scale(times.usualRatio(c.whole()))
		}
		keys := times.largest(rowShare / 2)
		shifts, err := stat.Counts(times.counts(c, keys), 1-unlikely)
		if err != nil {
			break
		}
		for i, s := range shifts {
			differs[keys[i]] = differs[keys[i]] || s.P < unlikely
		}
	}
	c.take(timesOf(pairs, shared, Profile.used))
	return c
}

// take makes what is shared the control, and reports whether it is enough; else operations are.
func (c *control) take(shared times[Work]) bool {
	for i := range c.pairs {
		for side, times := range shared.of[i] {
			c.ns[i][side] = 0
			for _, ns := range times {
				c.ns[i][side] += ns
			}
		}
	}
	of := c.whole()
	enough := of[0] >= leastShared*shared.all[0] && of[1] >= leastShared*shared.all[1] &&
		!slices.ContainsFunc(c.ns, func(ns [2]float64) bool { return ns[0] == 0 || ns[1] == 0 })
	c.perOp, c.exact = 0, !enough
	for i, p := range c.pairs {
		for side := range p {
			if !enough {
				c.ns[i][side] = float64(p[side].Operations)
			}
			c.perOp += c.ns[i][side] / float64(p[side].Operations) / float64(2*len(c.pairs))
		}
	}
	return enough
}

func (c *control) whole() (sum [2]float64) {
	for i := range c.ns {
		sum[0], sum[1] = sum[0]+c.ns[i][0], sum[1]+c.ns[i][1]
	}
	return sum
}

// scale multiplies the candidate's control.
func (c *control) scale(by float64) {
	for i := range c.ns {
		c.ns[i][1] *= by
	}
}

// times are those of each pair and side by what they were spent on, such as CPU times in ns, and of the whole.
type times[K comparable] struct {
	of   [][2]map[K]float64
	sums map[K]*[2]float64
	all  [2]float64
}

func timesOf[K comparable](pairs []pair, of func(Profile) map[K]float64, all func(Profile) float64) times[K] {
	t := times[K]{of: make([][2]map[K]float64, len(pairs)), sums: map[K]*[2]float64{}}
	for i, p := range pairs {
		for side := range p {
			t.of[i][side] = of(p[side])
			t.all[side] += all(p[side])
			for key, ns := range t.of[i][side] {
				if t.sums[key] == nil {
					t.sums[key] = new([2]float64)
				}
				t.sums[key][side] += ns
			}
		}
	}
	return t
}

// share is the largest that something has of the whole of an arm.
func (t times[K]) share(key K) float64 {
	return max(ratio(t.sums[key][0], t.all[0]), ratio(t.sums[key][1], t.all[1]))
}

// largest are those with at least so large a share, the largest first.
func (t times[K]) largest(least float64) []K {
	keys := slices.Collect(maps.Keys(t.sums))
	keys = slices.DeleteFunc(keys, func(key K) bool { return t.share(key) < least })
	slices.SortFunc(keys, func(a, b K) int { return cmp.Compare(t.share(b), t.share(a)) })
	return keys
}

// usualRatio is the median, by time, of how many times the candidate has of what both have, as shares of the whole.
func (t times[K]) usualRatio(whole [2]float64) float64 {
	var ratios, weights []float64
	for _, s := range t.sums {
		if s[0] > 0 && s[1] > 0 {
			ratios, weights = append(ratios, s[1]/whole[1]/(s[0]/whole[0])), append(weights, s[0]+s[1])
		}
	}
	if len(ratios) == 0 {
		return 1
	}
	return stat.WeightedMedian(ratios, weights)
}

// counts are what stat.Counts compares, in ns per operation: times relative to the control, whose variances are those of
// samples that each are worth so much CPU time.
func (t times[K]) counts(c control, keys []K) [][]stat.Counted {
	whole := c.whole()
	list := make([][]stat.Counted, len(keys))
	for k, key := range keys {
		for i, p := range c.pairs {
			variance := 0.0
			for side := range p {
				each := float64(p[side].CPU) / float64(max(1, p[side].Samples))
				share, relative := ratio(t.sums[key][side], whole[side]), 1.0
				if !c.exact {
					relative += share // the control varies, too
				}
				variance += c.perOp * c.perOp * each * share * relative / c.ns[i][side]
			}
			list[k] = append(list[k], stat.Counted{Baseline: c.perOp * t.of[i][0][key] / c.ns[i][0], Candidate: c.perOp * t.of[i][1][key] / c.ns[i][1], Variance: variance})
		}
	}
	return list
}

// alike is by how much the difference in CPU time is greater than that of work relative to the control.
func (c control) alike(confidence float64) Row {
	if c.exact { // an operation takes as long as one, but for rounding
		return Row{}
	}
	before, differences := make([]float64, len(c.pairs)), make([]float64, len(c.pairs))
	for i, p := range c.pairs {
		before[i] = p[0].cpu()
		for side, sign := range []float64{-1, 1} {
			differences[i] += sign * p[side].cpu() * (1 - c.perOp*float64(p[side].Operations)/c.ns[i][side])
		}
	}
	r := rowOf(sameLonger, before, differences, confidence)
	switch {
	case !r.Excludes0():
		return Row{}
	case r.Value < 0:
		r.Name = sameShorter
	}
	return r
}

// sampled compares what of reads from each profile, in ns, where it is enough of the whole to be looked at, the largest
// first. The rows share the level.
func (c control) sampled(of func(Profile) map[string]float64, least, confidence float64) []Row {
	return c.sampledWith(of, least, confidence, nil, 0)
}

// sampledWith is sampled, but rows that are likely to differ, by something else than their times, share a level of their own.
func (c control) sampledWith(of func(Profile) map[string]float64, least, confidence float64, likely []string, theirs float64) []Row {
	t := timesOf(c.pairs, of, Profile.used)
	names := t.largest(least)
	counts := t.counts(c, names)
	are := func(name string) bool { return slices.Contains(likely, name) }
	few := len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !are(name) }))
	shifts, err := stat.Counts(counts, 1-(1-confidence)/float64(max(1, len(names))))
	if err != nil {
		return nil // nothing is claimed
	}
	if few > 0 {
		narrower, err := stat.Counts(counts, 1-(1-theirs)/float64(few))
		if err != nil {
			return nil
		}
		for i, name := range names {
			if are(name) {
				shifts[i] = narrower[i]
			}
		}
	}
	rows := make([]Row, len(names))
	for i, s := range shifts {
		before := 0.0
		for _, count := range counts[i] {
			before += count.Baseline / float64(len(counts[i]))
		}
		rows[i] = Row{Name: names[i], BaselineValue: before, CandidateValue: math.Max(0, before+s.Value), Shift: s}
	}
	return rows
}
