package chart

import (
	"fmt"
	"math"
	"slices"
)

// A Scale says how values lie along an axis.
type Scale int

// The scales.
const (
	Linear Scale = iota
	Log          // values above 0; others are at the lower end
	// Quantile is that of HdrHistogram's plots: values from 0 to below 1 by log₁₀(1 ÷ (1 − q)),
	// so that 90, 99 and 99.9% are as far apart from each other.
	Quantile
)

func (s Scale) of(x float64) float64 {
	switch s {
	case Log:
		return math.Log10(x)
	case Quantile:
		return -math.Log10(1 - x)
	}
	return x
}

// scaled is an axis in the units of a picture.
type scaled struct {
	Axis
	low, high      float64 // by the scale
	origin, length float64 // length is below 0 where values grow upwards
	direction      float64
	ticks          []tick
}

type tick struct {
	value float64
	text  string
}

// over fits the axis to values.
func (a Axis) over(values []float64, origin, length float64) *scaled {
	s := &scaled{Axis: a, low: math.Inf(1), high: math.Inf(-1), origin: origin, length: length, direction: length}
	seen := slices.ContainsFunc(values, func(x float64) bool { return finite(x) && finite(a.Scale.of(x)) })
	if !seen {
		return s
	}
	if a.Zero {
		values = append(values, 0)
	}
	for _, x := range values {
		if v := a.Scale.of(x); finite(x) && finite(v) {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	s.widen()
	s.ticks = s.thinned(s.every())
	return s
}

// between fits the axis to its ends.
func (a Axis) between(ends [2]float64, origin, length float64) *scaled {
	s := &scaled{Axis: a, low: a.Scale.of(ends[0]), high: a.Scale.of(ends[1]), origin: origin, length: length, direction: length}
	if !finite(s.low) || !finite(s.high) || s.low >= s.high {
		s.low, s.high = math.Inf(1), math.Inf(-1)
		return s
	}
	s.ticks = s.thinned(s.every())
	return s
}

// widen gives a single value some room, and the highest one a tick above it.
func (s *scaled) widen() {
	switch {
	case s.low == s.high && s.Scale == Linear:
		room := max(math.Abs(s.low)/2, 0.5)
		s.low, s.high = s.low-room, s.high+room
	case s.low == s.high:
		s.low, s.high = s.low-0.3, s.high+0.3
	case s.Scale == Quantile:
	default:
		room := (s.high - s.low) / 25
		if s.low != 0 || s.Scale == Log {
			s.low -= room
		}
		s.high += room
	}
}

func (s *scaled) empty() bool { return s.low > s.high }

// at is the position of a value; values beyond an end are put there.
func (s *scaled) at(x float64) float64 {
	v := s.Scale.of(x)
	if math.IsNaN(v) {
		v = s.low
	}
	return s.origin + s.direction*(min(s.high, max(s.low, v))-s.low)/(s.high-s.low)
}

// every are all ticks that the axis could have.
func (s *scaled) every() []tick {
	var values []float64
	switch s.Scale {
	case Linear:
		values = multiples(s.low, s.high, nice((s.high-s.low)/5.5))
	case Log:
		values = s.decades()
	case Quantile:
		for q := 0.0; s.Scale.of(q) <= s.high+1e-9 && len(values) < 12; q = 1 - (1-q)/10 {
			values = append(values, q)
		}
	}
	var list []tick
	for _, v := range values {
		text := fmt.Sprintf("%.4g", v)
		if s.Format != nil {
			text = s.Format(v)
		}
		list = append(list, tick{v, text})
	}
	return list
}

// decades are powers of ten, with 2 and 5 times them where there are few, or round numbers
// where the scale contains no power of ten.
func (s *scaled) decades() []float64 {
	for _, factors := range [][]float64{{1}, {1, 2, 5}} {
		var values []float64
		for power := math.Floor(s.low); power <= s.high; power++ {
			for _, f := range factors {
				if v := math.Log10(f) + power; v >= s.low && v <= s.high {
					values = append(values, f*math.Pow(10, power))
				}
			}
		}
		if len(values) >= 3 && (len(factors) > 1 || s.high-s.low >= 2.5) {
			return values
		}
	}
	low, high := math.Pow(10, s.low), math.Pow(10, s.high)
	return multiples(low, high, nice((high-low)/4.5))
}

// multiples are the multiples of a step from low to high, at most 20.
func multiples(low, high, step float64) []float64 {
	var values []float64
	first := math.Ceil(low / step)
	for i := 0.0; i < 20 && (first+i)*step <= high+step/1e9; i++ {
		values = append(values, (first+i)*step)
	}
	return values
}

// nice is the least of 1, 2 and 5 times a power of ten that is at least x.
func nice(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= x*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// thinned leaves out ticks whose texts would touch.
func (s *scaled) thinned(list []tick) []tick {
	for every := 1; ; every++ {
		var kept []tick
		for i := 0; i < len(list); i += every {
			kept = append(kept, list[i])
		}
		if len(kept) <= 2 || !s.crowded(kept) {
			return kept
		}
	}
}

func (s *scaled) crowded(list []tick) bool {
	for i := 1; i < len(list); i++ {
		room := 14.0
		if s.direction > 0 {
			room = (textWidth(list[i-1].text)+textWidth(list[i].text))/2 + 6
		}
		if math.Abs(s.at(list[i].value)-s.at(list[i-1].value)) < room {
			return true
		}
	}
	return false
}
