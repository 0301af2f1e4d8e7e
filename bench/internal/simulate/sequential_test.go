package simulate

import (
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
