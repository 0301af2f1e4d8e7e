package report

import (
	"fmt"
	"slices"
	"time"

	"contend/internal/unit"
	"contend/probe"
	"contend/trial"
)

// scatter says where the spread of figures comes from: blocks, rounds, or the machine
// itself, which the probes looked at.
func scatter(v *view, list []trial.Comparison, probes []trial.Probe) {
	var pairs, rounds, shares, machine []float64
	for _, c := range list {
		if c.Spread == nil {
			continue
		}
		pairs = append(pairs, c.Spread.Block)
		rounds = append(rounds, c.Spread.Round)
		shares = append(shares, c.Spread.RoundShare)
		machine = append(machine, c.MachineShare)
	}
	if len(pairs) > 0 {
		v.say("How far the measured differences lie apart (spread): %s from block to block, %s from one start of the servers to the next. Of the uncertainty of a round %s comes with the start, for which only more rounds help; longer blocks help for the rest.",
			percents(pairs), percents(rounds), percents(shares))
	}
	if len(probes) == 0 {
		return
	}
	var samples []probe.Sample
	for _, p := range probes {
		samples = append(samples, p.Sample)
	}
	text := fmt.Sprintf("The machine itself, looked at %s between blocks: %s from core to core and back, %s for a wake-up",
		plural(len(samples), "time"), probed(samples, func(s probe.Sample) time.Duration { return s.RoundTrip }),
		probed(samples, func(s probe.Sample) time.Duration { return s.Wakeup }))
	if most := slices.Max(append(machine, 0)); most > 0 {
		text += fmt.Sprintf("; its states explain up to %.0f%% of the variance of the blocks", 100*most)
	}
	v.say("%s.", text)
}

// probes are those of a part.
func (d *Document) probes(at Place) []trial.Probe {
	var list []trial.Probe
	for _, t := range d.Trials {
		if t.Place == at {
			list = append(list, t.Probes...)
		}
	}
	return list
}

// percents writes a range of shares: 4.12% to 12.5%.
func percents(shares []float64) string {
	low, high := unit.Percent(slices.Min(shares)), unit.Percent(slices.Max(shares))
	if low != high {
		low += " to " + high
	}
	return low
}

// probed writes the range of a figure of the probes that have it.
func probed(samples []probe.Sample, read func(probe.Sample) time.Duration) string {
	var known []time.Duration
	for _, s := range samples {
		if d := read(s); d > 0 {
			known = append(known, d)
		}
	}
	if len(known) == 0 {
		return "unknown"
	}
	low, high := unit.Duration(float64(slices.Min(known))), unit.Duration(float64(slices.Max(known)))
	if low != high {
		low += " to " + high
	}
	return low
}
