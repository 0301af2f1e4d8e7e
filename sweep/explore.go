package sweep

import (
	"cmp"
	"math"
	"slices"
	"time"

	"contend/usl"
)

// How levels are chosen: conventions of this project, argued in
// docs/measuring.md.
const (
	minLevels    = 6    // of a sweep that chooses them
	regionLevels = 7    // in the region around the peak
	fallen       = 0.85 // of the best throughput: below it a level is clearly worse
	flat         = 1.05 // what three doublings must bring to go on
	widestStep   = 4    // from a level to the next one
)

// DefaultLimit is the highest level of an adaptive sweep without another limit.
const DefaultLimit = 1024

// Explore chooses the levels that a sweep should measure, 1 to ExtendTo. It calls measure with 1, 2, 4, … until
// throughput has clearly fallen or no longer grows, and takes levels in even ratios around the answer that they
// suggest: the knee, or the best of them if Within is set. measure returns the throughput per second, or false if
// that is not valid, which ends the doubling: at 1 with that level alone. An error ends it without levels.
// Callers think for so long between two operations.
func (d Design) Explore(think time.Duration, measure func(level int) (float64, bool, error)) ([]int, error) {
	limit := cmp.Or(d.ExtendTo, DefaultLimit)
	var seen []usl.Point
	for level := 1; level > 0; level = nextDoubled(seen, limit) {
		perSec, believed, err := measure(level)
		if err != nil {
			return nil, err
		}
		if !believed && len(seen) == 0 {
			return []int{level}, nil
		}
		if !believed {
			limit = int(seen[len(seen)-1].N)
			break
		}
		seen = append(seen, usl.Point{N: float64(level), X: perSec})
	}
	if d.Within > 0 {
		return aroundBest(seen, limit), nil
	}
	return aroundKnee(seen, think, limit), nil
}

// nextDoubled returns the level to explore after those seen, or 0.
func nextDoubled(seen []usl.Point, limit int) int {
	last := len(seen) - 1
	highest := int(seen[last].N)
	most := best(seen).X
	switch {
	case highest >= limit:
		return 0
	case last+1 < minLevels:
	case seen[last].X < fallen*most && seen[last-1].X < most:
		return 0
	case most <= flat*best(seen[:last-2]).X:
		return 0
	}
	return min(2*highest, limit)
}

func best(points []usl.Point) usl.Point {
	return slices.MaxFunc(points, func(a, b usl.Point) int { return cmp.Compare(a.X, b.X) })
}

// aroundBest returns the levels to measure where throughput decides: 1, the region in which the levels
// seen came near the best, with one level more on either side, and between 1 and the
// region as many as leave no wide step: a little less throughput may be enough.
func aroundBest(seen []usl.Point, limit int) []int {
	best := best(seen)
	near := func(p usl.Point) bool { return p.X >= fallen*best.X }
	first := slices.IndexFunc(seen, near)
	last := first + slices.IndexFunc(seen[first:], func(p usl.Point) bool { return p == best })
	for last+1 < len(seen) && near(seen[last+1]) {
		last++
	}
	low, high := seen[max(first-1, 0)].N, seen[min(last+1, len(seen)-1)].N
	return filled(low, high, limit)
}

// aroundKnee returns the levels to measure where throughput ÷ response time decides: from half of the level where it
// was highest to twice that, and up to the highest level seen as many as leave no wide step, which show what more
// callers bring.
func aroundKnee(seen []usl.Point, think time.Duration, limit int) []int {
	power := func(p usl.Point) float64 { return usl.Power(p, think.Seconds()) }
	knee := slices.MaxFunc(seen, func(a, b usl.Point) int { return cmp.Compare(power(a), power(b)) }).N
	low, high, highest := max(1, knee/2), min(2*knee, float64(limit)), int(seen[len(seen)-1].N)
	levels := filled(low, high, limit)
	for more := int(high); more < highest; {
		more = min(widestStep*more, highest)
		levels = append(levels, more)
	}
	distinct(&levels)
	return levels
}

// filled returns seven levels in even ratios from low to high, 1, and what leaves no wide step between; six levels at least.
func filled(low, high float64, limit int) []int {
	levels := []int{1}
	for i := range regionLevels {
		share := float64(i) / (regionLevels - 1)
		levels = append(levels, int(math.Round(low*math.Pow(high/low, share))))
	}
	for fewer := low / widestStep; fewer > 1; fewer /= widestStep {
		levels = append(levels, int(math.Round(fewer)))
	}
	for more := int(high); distinct(&levels) < minLevels && more < limit; {
		more = min(2*more, limit)
		levels = append(levels, more)
	}
	for n := 1; distinct(&levels) < min(minLevels, limit); n++ {
		levels = append(levels, n)
	}
	return levels
}

// distinct sorts the list, leaves out what it holds twice and returns its length.
func distinct(list *[]int) int {
	slices.Sort(*list)
	*list = slices.Compact(*list)
	return len(*list)
}
