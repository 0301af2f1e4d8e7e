package simulate

import (
	"math"
	"math/rand/v2"

	"contend/history/change"
)

// A History is a series of commits, each measured once against an anchor, on one machine.
type History struct {
	Commits int
	// Rounds are log-ratios of equal servers, to draw those of each measurement from, whose mean is 0. Each has
	// PerCommit rounds. A repetition has 5 times as many.
	Rounds    []float64
	PerCommit int
	// Build is the lowest and highest standard deviation between the builds of a history, the anchor's too. A Jitter of
	// builds, 0 to 1, differ by 3 times as much.
	Build  [2]float64
	Jitter float64
	// Drift is that of the machine's speed between two commits. It is common to a commit and the anchor, but for a
	// hundredth of it.
	Drift float64
	// Moved is by how much another machine, from the middle on, favours the anchor. Builds differ anew there.
	Moved float64
	// Step is what commit At costs, in logarithms; 0: nothing.
	Step float64
	At   int
	// Options are those of the checks, one after each commit.
	Options change.Options
}

// Told is what the checks of histories came to.
type Told struct {
	// Commits were checked, in Histories.
	Commits, Histories int
	// Repetitions were asked for.
	Repetitions int
	// False alerts name commits that changed nothing.
	False int
	// Within is in how many histories the step was told of after so many commits with it, 1 at index 0.
	Within [10]int
}

// machine has what does not depend on a commit's code.
type machine struct {
	History
	random *rand.Rand
	spread float64 // between builds
}

// measured is the mean of rounds and its standard error.
func (m machine) measured(rounds int) (mean, se float64) {
	if len(m.Rounds) == 0 {
		return 0, 0
	}
	var squares float64
	for range rounds {
		r := m.Rounds[m.random.IntN(len(m.Rounds))]
		mean += r / float64(rounds)
		squares += r * r
	}
	n := float64(rounds)
	return mean, math.Sqrt(max(0, squares/n-mean*mean) / (n - 1))
}

// build is what a build has of its own.
func (m machine) build() float64 {
	own := m.spread * m.random.NormFloat64()
	if m.random.Float64() < m.Jitter {
		own *= 3
	}
	return own
}

// Histories plays histories, each with a check after every commit that may ask for one repetition.
func Histories(h History, histories int, seed uint64) Told {
	told := Told{Histories: histories, Commits: histories * h.Commits}
	for i := range histories {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		spread := h.Build[0] + random.Float64()*(h.Build[1]-h.Build[0])
		machine{h, random, spread}.play(&told)
	}
	return told
}

func (m machine) play(told *Told) {
	var series []change.Point
	var known []change.Known
	var levels, builds []float64
	level, drift, anchor := 0.0, 0.0, m.build()
	for i := range m.Commits {
		if i == m.Commits/2 && m.Moved != 0 {
			anchor = m.build() + m.Moved
			for j := range builds {
				builds[j] = m.build()
			}
		}
		if i == m.At {
			level += m.Step
		}
		drift += m.Drift * m.random.NormFloat64()
		levels, builds = append(levels, level), append(builds, m.build())
		noise, se := m.measured(m.PerCommit)
		series = append(series, change.Point{Value: level + builds[i] - anchor + drift/100 + noise, SE: se, Rounds: m.PerCommit})
		s, before, after, ok := change.Next(change.Find(series, m.Options), known, len(series))
		if !ok {
			continue
		}
		told.Repetitions++
		noise, se = m.measured(5 * m.PerCommit)
		r := change.Repetition{Value: levels[after] + builds[after] - levels[before] - builds[before] + noise, SE: se}
		var c change.Confirmation
		if known, c = change.Remember(known, s, r, len(series)); c.Confirmed {
			told.alert(m.Step != 0 && before < m.At && m.At <= after, i-m.At)
		}
	}
}

// alert counts an alert after so many commits with the step.
func (t *Told) alert(right bool, after int) {
	if !right {
		t.False++
		return
	}
	for n := after; n < len(t.Within); n++ {
		t.Within[n]++
	}
}
