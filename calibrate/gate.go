package calibrate

import (
	"math"
	"math/rand/v2"

	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// A Gate is a job that compares each commit with the one before, as contend compare does without flags, and accuses the commit
// if the verdict is SLOWER. What it does is replayed from the rounds of equal arms.
type Gate struct {
	// Rounds are the most of each comparison.
	Rounds int `json:"rounds"`
	// Accused are those of Replays, whose commits changed nothing, that end as SLOWER.
	Accused int `json:"accused"`
	Replays int `json:"replays"`
	// Finds is the smallest slowdown, as the factor − 1 of the time that an operation takes, that is found with a chance of
	// 90%, and FindsTwice that where a second comparison must find it, too. 0: none up to mostSlowdown.
	Finds      float64 `json:"finds,omitempty"`
	FindsTwice float64 `json:"finds_twice,omitempty"`
}

// Accuses is the share of unchanged commits that are accused where so many comparisons, 1 or more, must agree.
func (g Gate) Accuses(comparisons int) float64 {
	return math.Pow(float64(g.Accused)/float64(max(1, g.Replays)), float64(comparisons))
}

const (
	// replays of unchanged commits: 2% of them are known to a sixth.
	replays = 2000
	// replaysOfSteps, at each size: 90% are known to 2%.
	replaysOfSteps = 200
	// mostSlowdown is the largest slowdown that is looked for, half the throughput, and slowdownWithin how exactly it is found.
	mostSlowdown, slowdownWithin = 1.0, 0.0005
)

// replaying are the rounds of equal arms, in the comparisons in which they were driven.
type replaying struct {
	logRatios [][]float64
	looks     []stat.Look
	levels    []float64
	margin    float64
	metric    metric.Name
	seed      uint64
}

// gate replays comparisons; nil without any that had a verdict.
func (c *Calibration) gate() (*Gate, error) {
	r := &replaying{looks: c.Design.Looks(c.PlannedRounds), metric: c.Design.Metrics[0], margin: c.Design.MarginOf(c.Design.Metrics[0]), seed: c.Design.Seed}
	for _, found := range c.Comparisons {
		if found.Primary && found.Verdict != stat.Invalid {
			r.logRatios = append(r.logRatios, found.RoundLogRatios)
		}
	}
	if len(r.logRatios) == 0 {
		return nil, nil
	}
	var err error
	if r.levels, err = stat.SequentialLevels(r.looks, 1-c.Design.Confidence); err != nil {
		return nil, err
	}
	g := &Gate{Rounds: c.PlannedRounds, Replays: replays}
	if g.Accused, err = r.accused(replays, 0); err != nil {
		return nil, err
	}
	if g.Finds, err = r.finds(trial.Power); err != nil {
		return nil, err
	}
	g.FindsTwice, err = r.finds(math.Sqrt(trial.Power))
	return g, err
}

// accused is in how many comparisons a candidate that is slower by so much is called SLOWER. The same seed deals the same rounds
// for each size, so that a larger one is found no less often.
func (r *replaying) accused(comparisons int, slowdown float64) (accused int, err error) {
	shift := math.Log1p(slowdown)
	if r.metric.Kind().Verdict() == stat.HigherIsFaster {
		shift = -shift
	}
	random := rand.New(rand.NewPCG(r.seed, 6))
	for range comparisons {
		verdict, err := r.compare(random, shift)
		if err != nil {
			return 0, err
		}
		if verdict.Worse() {
			accused++
		}
	}
	return accused, nil
}

// compare ends at the first look with a verdict.
func (r *replaying) compare(random *rand.Rand, shift float64) (stat.Verdict, error) {
	logs := r.deal(random, shift)
	for i, look := range r.looks {
		effect, err := stat.Paired(logs[:look.Rounds], 1-r.levels[i])
		if err != nil {
			return "", err
		}
		if verdict := stat.Decide(effect, r.margin, r.metric.Kind().Verdict()); verdict != stat.Inconclusive {
			return verdict, nil
		}
	}
	return stat.Inconclusive, nil
}

// deal draws whole comparisons, each with its rounds in their order from a random one on: what lasts from round to round stays.
// Which of two equal arms is the candidate is as random.
func (r *replaying) deal(random *rand.Rand, shift float64) []float64 {
	var logs []float64
	for most := r.looks[len(r.looks)-1].Rounds; len(logs) < most; {
		from := r.logRatios[random.IntN(len(r.logRatios))]
		sign, start := float64(2*random.IntN(2)-1), random.IntN(len(from))
		for i := range from {
			logs = append(logs, shift+sign*from[(start+i)%len(from)])
		}
	}
	return logs
}

// finds is the smallest slowdown that is found with so high a chance; 0: none up to mostSlowdown.
func (r *replaying) finds(chance float64) (float64, error) {
	low, high := 0.0, mostSlowdown
	for high-low > slowdownWithin {
		middle := (low + high) / 2
		accused, err := r.accused(replaysOfSteps, middle)
		if err != nil {
			return 0, err
		}
		if float64(accused) >= chance*replaysOfSteps {
			high = middle
		} else {
			low = middle
		}
	}
	if high == mostSlowdown {
		return 0, nil
	}
	return high, nil
}
