package trial

import (
	"math"
	"slices"
	"testing"
	"time"

	"contend/load"
	"contend/metric"
	"contend/probe"
)

var near, far = probe.Sample{RoundTrip: 100, Wakeup: 5000, Loop: 1000}, probe.Sample{RoundTrip: 450, Wakeup: 5000, Loop: 1000}

// probes of one round at level 1, one after the other.
func probes(samples ...probe.Sample) []Probe {
	var list []Probe
	for i, s := range samples {
		list = append(list, Probe{Concurrency: 1, Round: 1, Stretch: i, Sample: s})
	}
	return list
}

func TestStretchesAreSortedByTheirProbes(t *testing.T) {
	m := readMachine(probes(near, near, far, far, near))
	for stretch, want := range map[int]bool{1: false, 2: true, 3: false, 4: true} {
		if got := m.changed[stretchKey{1, 1, stretch}]; got != want {
			t.Errorf("stretch %d: changed is %v", stretch, got)
		}
	}
	if a, b := m.states[stretchKey{1, 1, 1}], m.states[stretchKey{1, 1, 3}]; a == b || len(m.known) != 2 {
		t.Errorf("near is state %d, far %d, of %d", a, b, len(m.known))
	}
	if w := m.findings(1); w != nil {
		t.Errorf("findings where 2 of 4 stretches changed are %v", w)
	}
	restless := readMachine(probes(near, near, far, near))
	if w := restless.findings(1); len(w) != 1 || w[0].Code != "machine_changed" {
		t.Errorf("findings where 2 of 3 changed are %v", w)
	}
	if w := m.findings(2); w != nil {
		t.Errorf("findings of a level without probes are %v", w)
	}
}

// blockOf is a block of the first round, one second long.
func blockOf(arm string, pair, stretch int, perSec int64) Cell {
	return Cell{Arm: arm, Round: 1, Pair: pair, Stretch: stretch, Result: &load.Result{
		Concurrency: 1, Duration: time.Second, Counts: load.Counts{Completed: perSec, Ops: perSec}}}
}

// Stretch 1 is near at ln 2, stretch 3 far at ln 1, each with one block per arm
// and no other noise: all of the variance is between the states. With blocks
// that differ by as much within a state as between, half is: residuals ±½·ln
// 2 and ±½·ln 2 crossed, between = ½ of all.
func TestMachineShare(t *testing.T) {
	m := readMachine(probes(near, near, far, far))
	block := func(stretch int, perSec int64) Cell { return blockOf("a", 0, stretch, perSec) }
	tests := []struct {
		name   string
		blocks []Cell
		want   float64
	}{
		{"all", []Cell{block(1, 2), block(1, 2), block(3, 1), block(3, 1)}, 1},
		{"none", []Cell{block(1, 2), block(1, 1), block(3, 2), block(3, 1)}, 0},
		{"half", []Cell{block(1, 4), block(1, 2), block(3, 2), block(3, 1)}, 0.5},
		{"changed stretches do not count", []Cell{block(1, 2), block(3, 1), block(2, 77)}, 1},
		{"no blocks", nil, 0},
	}
	for _, tt := range tests {
		if got := m.share(tt.blocks); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	one := readMachine(probes(near, near))
	if got := one.share([]Cell{block(1, 2), block(1, 1)}); got != 0 {
		t.Errorf("one state explains %v", got)
	}
}

// Pairs of a stretch in which the machine changed are left out while at least
// half of the round remains.
func TestPairsOfChangedStretches(t *testing.T) {
	pair := func(n, stretch int, ratio int64) []Cell {
		return []Cell{blockOf("a", n, stretch, 1), blockOf("b", n, stretch, ratio)}
	}
	trials := &Trials{Arms: []string{"a", "b"}, Blocks: append(pair(1, 1, 2), pair(2, 2, 4)...)}
	trials.machine = readMachine(probes(near, near, far))
	if got := trials.PairLogRatios(metric.Throughput, "b", 1)[1]; len(got) != 1 || got[0] != math.Log(2) {
		t.Errorf("log-ratios %v, want ln 2 alone: the second pair's stretch changed", got)
	}
	trials.machine = readMachine(probes(near, far, near))
	if got := trials.PairLogRatios(metric.Throughput, "b", 1)[1]; len(got) != 2 {
		t.Errorf("log-ratios %v, want both: every stretch changed", got)
	}
}

// A probe is made before the first pair, after the last, and about every 1.5 s
// between: pairs of 2·(400+80) ms make two of them a stretch.
func TestProbesBetweenStretches(t *testing.T) {
	d := design()
	d.Rounds, d.Pairs, d.Block = 1, 5, 400*time.Millisecond
	d.Probe = func() probe.Sample { return near }
	trials := compareInBubble(t, d, sleeping("a", time.Millisecond), sleeping("b", time.Millisecond))
	var stretches []int
	for _, b := range trials.Blocks {
		stretches = append(stretches, b.Stretch)
	}
	if want := []int{1, 1, 1, 1, 2, 2, 2, 2, 3, 3}; len(trials.Probes) != 4 || !slices.Equal(stretches, want) {
		t.Errorf("%d probes, blocks in stretches %v; want 4 and %v", len(trials.Probes), stretches, want)
	}
}
