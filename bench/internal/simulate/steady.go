package simulate

import (
	"math"
	"math/rand/v2"

	"contend/stat"
)

// Shape is a label of a series: how its level runs from 0 to 1 of the time.
type Shape struct {
	Name   string
	Steady bool
	// draw chooses one run of the level; the result is a factor by time.
	draw func(r *rand.Rand) func(at float64) float64
}

// Shapes are those that stat.Steady must tell apart: flat; a ramp of 20 to 30 %, up or
// down; a step of 20 to 30 % in the middle half; a wave of 25 to 35 % from trough to peak
// with 2 to 6 periods; a fall by 25 to 40 % in the last 15 to 30 % of the time.
func Shapes() []Shape {
	return []Shape{
		{"flat", true, func(*rand.Rand) func(float64) float64 {
			return func(float64) float64 { return 1 }
		}},
		{"ramp", false, func(r *rand.Rand) func(float64) float64 {
			size := either(r) * between(r, 0.20, 0.30)
			return func(at float64) float64 { return 1 + size*at }
		}},
		{"step", false, func(r *rand.Rand) func(float64) float64 {
			return step(either(r)*between(r, 0.20, 0.30), between(r, 0.25, 0.75))
		}},
		{"oscillation", false, func(r *rand.Rand) func(float64) float64 {
			size, periods, phase := between(r, 0.25, 0.35), between(r, 2, 6), between(r, 0, 1)
			return func(at float64) float64 { return 1 + size/2*math.Sin(2*math.Pi*(periods*at+phase)) }
		}},
		{"late slowdown", false, func(r *rand.Rand) func(float64) float64 {
			return step(-between(r, 0.25, 0.40), between(r, 0.70, 0.85))
		}},
	}
}

func either(r *rand.Rand) float64 { return float64(1 - 2*r.IntN(2)) }

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

func step(size, from float64) func(float64) float64 {
	return func(at float64) float64 {
		if at < from {
			return 1
		}
		return 1 + size
	}
}

// series draws 20 to 60 values of the shape with noise of 3 to 5 % in which neighbours
// correlate by 0.3.
func (s Shape) series(r *rand.Rand) []float64 {
	values := autoregressive(r, 20+r.IntN(41), 0.3, between(r, 0.03, 0.05))
	level := s.draw(r)
	for i, x := range values {
		values[i] = 1000 * level(float64(i)/float64(len(values)-1)) * math.Exp(x)
	}
	return values
}

// SteadyRight is how many of so many series of a shape stat.Steady judges right, with
// a tolerance of 5 %.
func SteadyRight(s Shape, series int, seed uint64) int {
	r := rand.New(rand.NewPCG(seed, uint64(len(s.Name))))
	right := 0
	for range series {
		if (stat.Steady(s.series(r), 0.05) == nil) == s.Steady {
			right++
		}
	}
	return right
}
