package trial

import (
	"fmt"

	"contend/load"
	"contend/stat"
)

// Thresholds of the refusals: conventions of this project, argued in
// docs/measuring.md.
const (
	saturated         = 0.85 // of the CPU that a side could get
	maxGeneratorShare = 0.30 // of a VU's cycle, for verdicts about latency
)

// refuse returns why no verdict may rest on this cell, or nil. The text names
// the arm.
func refuse(c Cell, m Metric) *stat.Warning {
	no := func(code, format string, args ...any) *stat.Warning {
		return &stat.Warning{Code: code, Text: c.Arm + ": " + fmt.Sprintf(format, args...)}
	}
	wrong := c.Failed + c.ErroredTotal()
	switch {
	case c.Completed == 0:
		return no("errors", "no right answer arrived (failed %d, errored %d)", c.Failed, c.ErroredTotal())
	case float64(wrong) > load.MaxErrorShare*float64(c.Planned):
		return no("errors", "%d of %d iterations failed or errored, more than %.1f %%", wrong, c.Planned, 100*load.MaxErrorShare)
	case c.Model == load.OpenModel && float64(c.Completed) < load.MinRateShare*float64(c.Planned):
		return no("rate_missed", "only %d of %d planned arrivals got a right answer", c.Completed, c.Planned)
	case c.GeneratorShare != nil && *c.GeneratorShare > maxGeneratorShare && m.Kind() == stat.LowerIsFaster:
		return no(generatorSaturated, "%.0f %% of each cycle was spent in the generator, so times are not the target's", 100**c.GeneratorShare)
	}
	if found := c.cpuFinding(); found != nil && found.Code == generatorSaturated {
		return no(found.Code, "%s", found.Text)
	}
	return nil
}

const generatorSaturated = "generator_saturated"

// cpuUse is how much of the CPU that it could get each side used: the cores of
// the machine minus what the other side took.
type cpuUse struct {
	generator, server float64 // shares, 0 to about 1
	diluted           float64 // server ÷ (server + generator)
}

// cpu returns zeros when no subject was sampled: then nothing can be said.
func (c Cell) cpu() cpuUse {
	seconds := c.Duration.Seconds()
	if c.Server == nil || seconds <= 0 || c.GeneratorCPUSec == 0 || c.Server.CPUSec == 0 {
		return cpuUse{}
	}
	cores := float64(c.GeneratorCores)
	generator, server := c.GeneratorCPUSec/seconds, c.Server.CPUSec/seconds
	return cpuUse{
		generator: generator / max(min(cores-server, c.loops()), generator),
		server:    server / max(cores-generator, server),
		diluted:   server / (server + generator),
	}
}

// loops returns how many cores the generator can use, whatever is left of the
// machine: an event loop uses one.
func (c Cell) loops() float64 {
	if c.Engine == load.EventLoop {
		return float64(c.Loops)
	}
	return float64(c.GeneratorCores)
}

// cpuFinding is what the CPU use of both sides says about the figures, or nil.
func (c Cell) cpuFinding() *stat.Warning {
	use := c.cpu()
	switch {
	case use.generator < saturated:
		return nil
	case use.server < saturated:
		return &stat.Warning{Code: generatorSaturated, Text: fmt.Sprintf(
			"the generator used %.0f %% of the CPU it could get and the server only %.0f %%: the generator was the limit",
			100*use.generator, 100*use.server)}
	}
	return &stat.Warning{Code: "cpu_shared", Text: fmt.Sprintf(
		"generator and server were both busy and shared the cores: of the CPU used %.0f %% was the server's, so a change of the server's cost shows in the throughput at %.0f %% of its size",
		100*use.diluted, 100*use.diluted)}
}

// findings collects the warnings of cells, each text once.
func findings(cells ...Cell) []stat.Warning {
	var all []stat.Warning
	seen := map[string]bool{}
	for _, c := range cells {
		for _, w := range c.Warnings {
			text := w.Text
			if c.Arm != "" {
				text = c.Arm + ": " + text
			}
			if !seen[text] {
				seen[text] = true
				all = append(all, stat.Warning{Code: w.Code, Text: text})
			}
		}
	}
	return all
}
