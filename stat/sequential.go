package stat

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
)

const (
	// simulatedRounds is up to where the joint distribution of the looks is simulated:
	// the signs of so many rounds fit into one word.
	simulatedRounds = 64
	// simulatedPaths and the fixed seed decide the levels: same looks, same levels.
	simulatedPaths = 1 << 17
	simulatedSeed  = 1983
	// cautious is by how many standard errors a simulated probability is rounded up.
	cautious = 3
)

// A Look is a number of rounds after which one looks, and the share of the level, above
// 0 and at most 1, that all looks until then may have spent. Both grow from look to look.
type Look struct {
	Rounds int
	Spent  float64
}

// SequentialLevels says at which level Paired may be asked at each of several looks
// at a growing number of rounds, so that the chance of even one false alarm over all
// looks together is at most level. What a look may spend must not depend on what the
// rounds showed, and so it may be their share of the most rounds there can be, and, when
// no more will come for another reason than what was seen (time is up), all of it.
//
// At look k call Paired with confidence 1 − levels[k], and stop or go on as one
// likes: the intervals of all looks cover the true ratio together with the
// confidence 1 − level (repeated confidence intervals, Jennison and Turnbull 1989, J.
// R. Statist. Soc. B 51), whatever the rule for stopping is. A look at which nothing can
// be claimed yet has a level below the smallest p of that many rounds; Paired then
// gives no interval, and Decide INCONCLUSIVE.
//
// Of an alpha-spending function only its values at the looks are used, which need not be
// known beforehand (Lan and DeMets 1983, "Discrete sequential boundaries for
// clinical trials", Biometrika 70). As large as the share of the rounds it is that of
// the power family (Kim and DeMets 1987, "Design and analysis of group sequential tests
// based on the type I error spending rate function", Biometrika 74) with power 1, near
// Pocock's boundary. What a look cannot use, because p comes in steps, is left to later
// ones. Of the better-known function of the O'Brien–Fleming kind nothing would be spent
// before half of the rounds, and 8 rounds that all agree, p = 0.008, would not be enough
// to stop.
//
// That a look repeats most of what the previous one saw is taken into account. In
// rounds without a difference the signs are fair coins and the order of the sizes is
// random, whatever the noise is, so the chance of crossing is a number that is
// simulated here (131072 experiments, fixed seed, rounded up by three standard
// errors). This needs rounds that come from one distribution. Looks at more than 64
// rounds are added up instead (Bonferroni), which is always on the safe side.
//
// An error means that rounds do not increase from at least 1 to at most 2000, or shares
// from above 0 to at most 1, or that level is not from 0.000001 to 0.5.
func SequentialLevels(looks []Look, level float64) ([]float64, error) {
	if err := checkLooks(looks, level); err != nil {
		return nil, err
	}
	if len(looks) == 1 {
		return []float64{level * looks[0].Spent}, nil
	}
	key := fmt.Sprint(looks, level)
	if levels, ok := keptLevels.Load(key); ok {
		return slices.Clone(levels.([]float64)), nil
	}
	levels := simulateLevels(looks, level)
	keptLevels.Store(key, slices.Clone(levels))
	return levels, nil
}

// keptLevels holds the levels of looks by these: equal trials ask for the same, and each
// computation takes a tenth of a second.
var keptLevels sync.Map

func simulateLevels(looks []Look, level float64) []float64 {
	paths := simulatePaths(looks)
	levels := make([]float64, len(looks))
	spent := 0.0 // at most this is the chance of a false alarm so far
	for k, look := range looks {
		budget := level * look.Spent
		size, tail := signedRankTailAt(look.Rounds)
		// The largest one that is significant at this look; −1: none.
		statistic := sort.Search(size, func(w int) bool { return spent+2*tail(w) > budget }) - 1
		alarms, played := 0, k < len(paths.statistics)
		if played {
			statistic, alarms = paths.reject(k, statistic, budget, tail)
		}
		if statistic >= 0 {
			spent += 2 * tail(statistic)
		}
		if played && statistic >= 0 {
			spent = max(2*tail(statistic), min(spent, roundedUp(alarms)))
		}
		levels[k] = between(size, tail, statistic)
	}
	return levels
}

// between is a level that calls exactly the statistics up to the given one significant.
func between(size int, tail func(w int) float64, statistic int) float64 {
	below, above := 0.0, 1.0
	if statistic >= 0 {
		below = 2 * tail(statistic)
	}
	if statistic+1 < size {
		above = 2 * tail(statistic+1)
	}
	return (below + above) / 2
}

// roundedUp is a probability that is hardly below the true one of an event that was
// seen so often.
func roundedUp(alarms int) float64 {
	p := float64(alarms) / simulatedPaths
	return p + cautious*math.Sqrt(p*(1-p)/simulatedPaths)
}

// paths are simulated experiments without a difference.
type paths struct {
	statistics [][]uint16 // by look and experiment: the signed-rank statistic, of the thinner side
	rejected   []bool     // by experiment: at some look so far
	alarms     int        // how many are rejected
}

// simulatePaths plays experiments up to the last look that can be simulated. A round
// is a sign and the rank of its size among those so far; the signs are kept in the
// order of the sizes, so that a new one shifts those above it and adds 1 to their ranks.
func simulatePaths(looks []Look) paths {
	p := paths{rejected: make([]bool, simulatedPaths)}
	for _, look := range looks {
		if look.Rounds <= simulatedRounds {
			p.statistics = append(p.statistics, make([]uint16, simulatedPaths))
		}
	}
	random := rand.NewPCG(simulatedSeed, simulatedSeed)
	for path := range simulatedPaths {
		random.Seed(simulatedSeed, uint64(path)) // so that later looks change nothing in earlier ones
		var signs uint64
		n, positive := 0, 0
		for k := range p.statistics {
			for n < looks[k].Rounds {
				draw := random.Uint64()
				n++
				rank := int(draw >> 32 * uint64(n) >> 32) // how many are smaller
				above := signs >> rank
				plus := draw & 1
				positive += bits.OnesCount64(above) + int(plus)*(rank+1)
				signs = signs&(1<<rank-1) | plus<<rank | above<<(rank+1)
			}
			p.statistics[k][path] = uint16(min(positive, n*(n+1)/2-positive))
		}
	}
	return p
}

// reject raises the statistic as far as the budget allows at look k, marks what is
// rejected with it, and returns it with the number of experiments rejected so far. What
// the look alone spends is known from its tail, however seldom it was simulated.
func (p *paths) reject(k, statistic int, budget float64, tail func(w int) float64) (largest, alarms int) {
	counts := make([]int, simulatedRounds*(simulatedRounds+1)/4+2)
	for path, w := range p.statistics[k] {
		if !p.rejected[path] {
			counts[w]++
		}
	}
	for w, count := range counts {
		if w > statistic && max(2*tail(w), roundedUp(p.alarms+count)) > budget {
			break
		}
		p.alarms += count
		statistic = max(statistic, w)
	}
	for path, w := range p.statistics[k] {
		p.rejected[path] = p.rejected[path] || int(w) <= statistic
	}
	return statistic, p.alarms
}

func checkLooks(looks []Look, level float64) error {
	if !(level >= 1e-6 && level <= 0.5) {
		return fmt.Errorf("stat: level is %g; expected 0.000001 to 0.5", level)
	}
	if len(looks) == 0 {
		return fmt.Errorf("stat: there is no look; at least one is needed")
	}
	var previous Look
	for _, look := range looks {
		if look.Rounds <= previous.Rounds || look.Rounds > maxRounds || !(look.Spent > previous.Spent && look.Spent <= 1) {
			return fmt.Errorf("stat: looks are %v; expected increasing rounds from 1 to %d, with increasing shares above 0, at most 1", looks, maxRounds)
		}
		previous = look
	}
	return nil
}
