package pace

import (
	"math"
	"time"
)

// Over returns when n arrivals of a seed, counted from an offset on, are over. Evenly spaced ones take
// as long as the integral of the rate takes to grow by n: 10 at 20 per second take half a second. Random
// ones are over when the next one is due: n divided by that time is the rate on average. Where the
// stages end before that with a rate of 0, they are over with the stages.
func (p *Pacer) Over(seed uint64, from time.Duration, n int64) time.Duration {
	if p.poisson {
		return p.overAtNext(seed, from, n)
	}
	const rounded = 1e-9 // of an arrival
	start, rest := time.Duration(0), p.integral(from)+float64(n)
	for _, s := range p.stages {
		all := s.arrivals()
		if rest <= all+rounded {
			return max(from, s.due(start, min(rest, all)))
		}
		start, rest = start+s.length, rest-all
	}
	if last := p.last(); last.from > 0 {
		return max(from, last.due(start, rest))
	}
	return max(from, start)
}

// overAtNext is Over of random arrivals. Two may be due in the same nanosecond.
func (p *Pacer) overAtNext(seed uint64, from time.Duration, n int64) time.Duration {
	latest := from
	for s := p.Schedule(seed); ; {
		due := s.Next()
		switch {
		case due == Never:
			return max(latest+1, p.bounded())
		case due < from:
		case n == 0:
			return max(latest+1, due)
		default:
			latest, n = due, n-1
		}
	}
}

// last is what holds for ever after all stages that end.
func (p *Pacer) last() stage {
	s := p.stages[len(p.stages)-1]
	return stage{from: s.to, to: s.to}
}

// bounded is the sum of the durations of the stages that have one.
func (p *Pacer) bounded() (sum time.Duration) {
	for _, s := range p.stages {
		sum += s.length
	}
	return sum
}

// integral returns the integral of the rate up to a time.
func (p *Pacer) integral(to time.Duration) (sum float64) {
	for _, s := range append(p.stages[:len(p.stages):len(p.stages)], p.last()) {
		if s.length == 0 || s.length > to {
			x := to.Seconds()
			return sum + x*(s.from+s.slope()*x/2)
		}
		sum, to = sum+s.arrivals(), to-s.length
	}
	return sum
}

// slope is the change of the rate, in arrivals per second, per second.
func (s stage) slope() float64 {
	if s.length == 0 {
		return 0
	}
	return (s.to - s.from) / s.length.Seconds()
}

// arrivals is the integral of the rate over the stage.
func (s stage) arrivals() float64 {
	switch {
	case s.length > 0:
		return (s.from + s.to) / 2 * s.length.Seconds()
	case s.from > 0:
		return math.Inf(1)
	}
	return 0
}

// due solves a·t + (b−a)/(2T)·t² = y for the time t in a stage, which begins at start, at which
// y arrivals have come, in the form without cancellation.
func (s stage) due(start time.Duration, y float64) time.Duration {
	if y <= 0 {
		return start
	}
	t := 2 * y / (s.from + math.Sqrt(max(0, s.from*s.from+2*s.slope()*y)))
	due := float64(start) + t*float64(time.Second)
	if due >= float64(Never) {
		return Never
	}
	return time.Duration(math.Round(due))
}
