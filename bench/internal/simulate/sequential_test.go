package simulate

import (
	"math"
	"math/rand/v2"

	"contend/stat"
)

// Looks is what looking several times comes to.
type Looks struct {
	FalseAlarms float64 // share of experiments without a difference that any look calls one
	Coverage    float64 // share in which the intervals of all looks hold the true ratio
	Naive       float64 // FalseAlarms if every look were taken at the full level
}

// Sequential plays comparisons of equal arms with these looks, at the levels of
// stat.SequentialLevels for 5 % in all; noise is drawn once a round.
func Sequential(looks []stat.Look, noise func(*rand.Rand) float64, experiments int, seed uint64) (Looks, error) {
	levels, err := stat.SequentialLevels(looks, 1-confidence)
	if err != nil {
		return Looks{}, err
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(looks))))
	var alarms, covered, naive int
	for range experiments {
		var logs []float64
		alarm, covers, careless := false, true, false
		for k, look := range looks {
			for len(logs) < look.Rounds {
				logs = append(logs, noise(r))
			}
			e, err := stat.Paired(logs, 1-levels[k])
			if err != nil {
				return Looks{}, err
			}
			alarm = alarm || e.P <= e.Level
			covers = covers && (!e.Bounded() || e.Low <= 1 && 1 <= e.High)
			careless = careless || e.P <= 1-confidence
		}
		alarms += count(alarm)
		covered += count(covers)
		naive += count(careless)
	}
	n := float64(experiments)
	return Looks{float64(alarms) / n, float64(covered) / n, float64(naive) / n}, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// An Early is what looking early costs and saves where rounds differ by d of their spread.
type Early struct {
	Planned, Found float64 // shares in which the difference is found: at the last look alone, and at any
	Rounds         float64 // until then, on average
	TooLarge       float64 // the estimate that is printed, less d, on average, in spreads
}

// LookEarly plays comparisons with normal noise.
func LookEarly(looks []stat.Look, d float64, experiments int, seed uint64) (e Early, err error) {
	levels, err := stat.SequentialLevels(looks, 1-confidence)
	if err != nil {
		return e, err
	}
	r := rand.New(rand.NewPCG(seed, math.Float64bits(d)))
	last := looks[len(looks)-1].Rounds
	for range experiments {
		logs := make([]float64, last)
		for i := range logs {
			logs[i] = (r.NormFloat64() + d) / 100
		}
		planned, err := stat.Paired(logs, confidence)
		if err != nil {
			return e, err
		}
		e.Planned += float64(count(planned.P <= planned.Level && planned.Ratio > 1))
		for k, look := range looks {
			effect, err := stat.Paired(logs[:look.Rounds], 1-levels[k])
			if err != nil {
				return e, err
			}
			found := effect.P <= effect.Level && effect.Ratio > 1
			if !found && k < len(looks)-1 {
				continue
			}
			e.Found += float64(count(found))
			e.Rounds += float64(look.Rounds)
			e.TooLarge += 100*math.Log(effect.Ratio) - d
			break
		}
	}
	n := float64(experiments)
	return Early{e.Planned / n, e.Found / n, e.Rounds / n, e.TooLarge / n}, nil
}
