package trial

import (
	"cmp"
	"fmt"

	"contend/load"
	"contend/stat"
)

// Thresholds of the refusals: conventions of this project, argued in
// docs/measuring.md.
const (
	maxGeneratorShare = 0.30 // of a VU's cycle, for verdicts about times
	halfOfCycle       = 0.50 // likewise, for every verdict unless the server was busy
	machineFull       = 0.95 // of the CPU time of all cores was used
	noticedOthers     = 0.25 // of the CPU time used, by other processes
	mostlyOthers      = 0.50
)

const generatorSaturated = "generator_saturated"

// Judge returns why no verdict about the metric may rest on the cell, or nil,
// and what else must be known when reading it.
func Judge(c Cell, m Metric) (refusal *stat.Warning, found []stat.Warning) {
	return refuse(c, m), findings(c)
}

// refuse is refuseAt the default gate for errors.
func refuse(c Cell, m Metric) *stat.Warning { return refuseAt(c, m, 0) }

// refuseAt returns why no verdict may rest on this cell, or nil. The text names
// the arm. MaxErrors is the share of the planned iterations that may fail or
// err; 0 stands for load.MaxErrorShare.
func refuseAt(c Cell, m Metric, maxErrors float64) *stat.Warning {
	w := c.incomplete(cmp.Or(maxErrors, load.MaxErrorShare))
	for _, look := range []func(Metric) *stat.Warning{c.notTheServers, c.late, c.unsteady, c.overloaded} {
		if w == nil {
			w = look(m)
		}
	}
	if w == nil {
		return nil
	}
	return &stat.Warning{Code: w.Code, Text: c.Arm + ": " + w.Text}
}

func because(code, format string, args ...any) *stat.Warning {
	return &stat.Warning{Code: code, Text: fmt.Sprintf(format, args...)}
}

// incomplete: too many answers are wrong or missing.
func (c Cell) incomplete(maxErrors float64) *stat.Warning {
	wrong := c.Failed + c.ErroredTotal()
	switch {
	case c.Completed == 0:
		return because("errors", "no right answer arrived (failed %d, errored %d)", c.Failed, c.ErroredTotal())
	case float64(wrong) > maxErrors*float64(c.Planned):
		return because("errors", "%d of %d iterations failed or errored, more than %.3g %%", wrong, c.Planned, 100*maxErrors)
	case c.Model == load.OpenModel && float64(c.Completed) < load.MinRateShare*float64(c.Planned):
		return because("rate_missed", "only %d of %d planned arrivals got a right answer", c.Completed, c.Planned)
	}
	return nil
}

// notTheServers: what was measured is the generator.
func (c Cell) notTheServers(m Metric) *stat.Warning {
	use := c.cpu()
	if use.saturated() {
		return c.saturation(use)
	}
	if c.GeneratorShare == nil {
		return nil
	}
	switch share := *c.GeneratorShare; {
	case m.Kind() == stat.LowerIsFaster && share > maxGeneratorShare:
		return because(generatorSaturated, "%.0f %% of each cycle was spent in the generator, so times are not the target's", 100*share)
	case share > halfOfCycle && use.server < load.MaxCPUShare:
		return because(generatorSaturated, "%.0f %% of each cycle was spent in the generator, and nothing shows that the server was at its limit", 100*share)
	}
	return nil
}

// late: an open model's iterations started late. In the closed model what the
// generator does between two iterations is judged as its share of the cycle.
func (c Cell) late(m Metric) *stat.Warning {
	if c.Model != load.OpenModel || m.Kind() != stat.LowerIsFaster {
		return nil
	}
	return c.Late()
}

// unsteady: one long run that did not stay around one level. Sums of rounds
// have no course; they are judged by their rounds.
func (c Cell) unsteady(m Metric) *stat.Warning {
	if m.Kind() == stat.Amount {
		return nil
	}
	return c.Unsteady()
}

// overloaded: the machine had no CPU left, and most of it went to others.
func (c Cell) overloaded(Metric) *stat.Warning {
	if share := c.others(); share > mostlyOthers {
		return c.crowd(share)
	}
	return nil
}

// cpuUse is how much of the CPU that it could get each side used.
type cpuUse struct {
	generator, server float64 // shares, 0 to 1; both 0: not known
	diluted           float64 // server ÷ (server + generator)
	apart             bool    // on different CPUs
}

func (u cpuUse) saturated() bool {
	return u.generator >= load.MaxCPUShare && u.server < load.MaxCPUShare
}

// cpu returns zeros when no subject was sampled: then nothing can be said.
func (c Cell) cpu() cpuUse {
	if c.Server == nil || c.Duration <= 0 || c.GeneratorCPUSec == 0 || c.Server.CPUSec == 0 {
		return cpuUse{}
	}
	return cpuUse{
		generator: c.GeneratorUse(min(c.Server.CPUSec, c.shared())),
		server:    c.serverUse(),
		diluted:   c.Server.CPUSec / (c.Server.CPUSec + c.GeneratorCPUSec),
		apart:     c.Server.CPUs > 0 && c.Server.SharedCPUs == 0,
	}
}

// shared is the CPU time, in seconds, of the CPUs that both sides may use.
func (c Cell) shared() float64 {
	if c.Server.CPUs == 0 {
		return float64(c.GeneratorCores) * c.Duration.Seconds()
	}
	return float64(c.Server.SharedCPUs) * c.Duration.Seconds()
}

// serverUse is what the server used of its CPUs without what the generator and
// others took from it. A limit of its own (a quota, one thread) is not known.
func (c Cell) serverUse() float64 {
	cpus := cmp.Or(c.Server.CPUs, c.GeneratorCPUs, c.GeneratorCores)
	could := float64(cpus)*c.Duration.Seconds() - min(c.GeneratorCPUSec, c.shared()) -
		c.TakenByOthers(c.Server.WaitedSec, c.Others(c.Server.CPUSec))
	return c.Server.CPUSec / max(could, c.Server.CPUSec)
}

// others is the share of the CPU time used that other processes used, on a
// machine that had none left and where at least one side was at its limit, or
// starved. 0: elsewhere, or not known, as when the server may be one of the others.
func (c Cell) others() float64 {
	all, server := c.MachineCPUSec, 0.0
	use := cpuUse{generator: c.GeneratorUse(0)}
	switch {
	case c.Server != nil:
		server, use = c.Server.CPUSec, c.cpu()
	case !c.Local:
		return 0
	}
	full := all > 0 && all >= machineFull*float64(c.MachineCores)*c.Duration.Seconds()
	if !full || max(use.generator, use.server) < load.MaxCPUShare && !c.starved() {
		return 0
	}
	return c.Others(server) / all
}

// starved: a side waited for a core for longer than it had one.
func (c Cell) starved() bool {
	return c.GeneratorWaitedSec > c.GeneratorCPUSec || c.Server != nil && c.Server.WaitedSec > c.Server.CPUSec
}

func (c Cell) crowd(share float64) *stat.Warning {
	return because("machine_busy", "other programs used %.0f %% of the CPU time on a machine that had none left, so the figures are about what they left", 100*share)
}

func (c Cell) saturation(use cpuUse) *stat.Warning {
	return because(generatorSaturated, "the generator used %.0f %% of the CPU it could get and the server only %.0f %%, so the generator was the limit",
		100*use.generator, 100*use.server)
}

// cpuFindings is what the CPU use of both sides, and of others, says about the
// figures.
func (c Cell) cpuFindings() []stat.Warning {
	var found []stat.Warning
	use := c.cpu()
	busy := use.generator >= load.MaxCPUShare
	switch {
	case use.saturated():
		found = append(found, *c.saturation(use))
	case busy && !use.apart:
		found = append(found, *because("cpu_shared",
			"generator and server were both busy and shared the cores: of the CPU used %.0f %% was the server's, so a change of the server's cost shows in the throughput at %.0f %% of its size",
			100*use.diluted, 100*use.diluted))
	case use.server >= load.MaxCPUShare:
		found = append(found, *because("server_busy", "the server used %.0f %% of the CPU it could get, so it was at its limit", 100*use.server))
	}
	if share := c.others(); share > noticedOthers {
		found = append(found, *c.crowd(share))
	}
	return found
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
