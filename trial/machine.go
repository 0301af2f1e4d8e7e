package trial

import (
	"math"

	"contend/finding"
	"contend/probe"
)

// stretchKey names a stretch of blocks between two probes.
type stretchKey struct{ level, round, stretch int }

// machine is what the probes say about the stretches of a trial.
type machine struct {
	changed map[stretchKey]bool // the probes before and after differ
	states  map[stretchKey]int  // of the other stretches: equal states share a number
	known   []probe.Sample      // the first sample of each state
}

// readMachine sorts the stretches by the probes around them.
func readMachine(probes []Probe) machine {
	m := machine{changed: map[stretchKey]bool{}, states: map[stretchKey]int{}}
	before := map[stretchKey]probe.Sample{}
	for _, p := range probes {
		before[stretchKey{p.Concurrency, p.Round, p.Stretch}] = p.Sample
	}
	for _, p := range probes {
		key := stretchKey{p.Concurrency, p.Round, p.Stretch}
		earlier, ok := before[stretchKey{p.Concurrency, p.Round, p.Stretch - 1}]
		switch {
		case !ok:
		case earlier.Like(p.Sample):
			m.states[key] = m.state(p.Sample)
		default:
			m.changed[key] = true
		}
	}
	return m
}

func (m *machine) state(s probe.Sample) int {
	for i, known := range m.known {
		if known.Like(s) {
			return i
		}
	}
	m.known = append(m.known, s)
	return len(m.known) - 1
}

func stretchOf(b Cell) stretchKey { return stretchKey{b.Concurrency, b.Round, b.Stretch} }

// share is the part of the variance of the blocks' throughput, in logarithms and
// around each arm's own mean, that is due to the states of the machine (η²,
// the ratio of the sums of squares of a one-way analysis of variance); 0 if
// there was only one state.
func (m *machine) share(blocks []Cell) float64 {
	type group struct{ n, sum float64 }
	arms := map[string]group{}
	for _, b := range blocks {
		if x, ok := m.logThroughput(b); ok {
			g := arms[b.Arm]
			arms[b.Arm] = group{g.n + 1, g.sum + x}
		}
	}
	states := make([]group, len(m.known))
	all, between := 0.0, 0.0
	for _, b := range blocks {
		if x, ok := m.logThroughput(b); ok {
			x -= arms[b.Arm].sum / arms[b.Arm].n
			state := m.states[stretchOf(b)]
			states[state] = group{states[state].n + 1, states[state].sum + x}
			all += x * x
		}
	}
	for _, s := range states {
		between += s.sum * s.sum / max(1, s.n)
	}
	if len(m.known) < 2 || all == 0 {
		return 0
	}
	return between / all
}

// logThroughput is that of a block in a stretch with a state.
func (m *machine) logThroughput(b Cell) (float64, bool) {
	_, known := m.states[stretchOf(b)]
	perSec := b.Throughput()
	return math.Log(perSec), known && perSec > 0
}

// findings says in how many stretches of a level the machine changed, if that is over half of them: those
// of a round are left out if others remain, and nothing is lost as long as most do not change.
func (m *machine) findings(level int) []finding.Warning {
	all, changed := 0, 0
	for key := range m.states {
		if key.level == level {
			all++
		}
	}
	for key := range m.changed {
		if key.level == level {
			all++
			changed++
		}
	}
	if 2*changed <= all {
		return nil
	}
	return []finding.Warning{finding.MachineChanged.Warning(
		"in %d of %d stretches between two probes the machine's speed changed; their pairs are excluded if enough others remain", changed, all)}
}
