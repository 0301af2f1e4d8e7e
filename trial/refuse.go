package trial

import (
	"cmp"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// machineFull is the share of the CPU time of all cores from which on the
// machine has none left.
const machineFull = 0.95

// Judge returns why no verdict about the metric may rest on the cell, or nil,
// and what else must be known when reading it.
func Judge(c Cell, m metric.Name) (refusal *finding.Warning, found []finding.Warning) {
	return refuse(c, m), findings(c)
}

// refuse is refuseAt the default gate for errors.
func refuse(c Cell, m metric.Name) *finding.Warning { return refuseAt(c, m, finding.Errors.Refuses) }

// refuseAt returns why no verdict may rest on this cell, or nil. The text names
// the arm. MaxErrors is the share of the planned iterations that may fail or
// err.
func refuseAt(c Cell, m metric.Name, maxErrors float64) *finding.Warning {
	w := c.incomplete(maxErrors)
	for _, look := range []func(metric.Name) *finding.Warning{c.notTheServers, c.late, c.unsteady, c.overloaded} {
		if w == nil {
			w = look(m)
		}
	}
	if w == nil {
		return nil
	}
	return &finding.Warning{Code: w.Code, Text: c.Arm + ": " + w.Text}
}

// incomplete: too many answers are wrong or missing.
func (c Cell) incomplete(maxErrors float64) *finding.Warning {
	wrong := c.Failed + c.ErroredTotal()
	switch {
	case c.Accounted() != c.Planned:
		return finding.Miscounted.Refusal("%d iterations were planned, but what became of them adds up to %d", c.Planned, c.Accounted())
	case c.Completed == 0:
		return finding.Errors.Refusal("no right answer arrived (failed %d, errored %d)", c.Failed, c.ErroredTotal())
	case float64(wrong) > maxErrors*float64(c.Planned):
		return finding.Errors.Refusal("%d of %d iterations failed or errored, more than %.3g %%", wrong, c.Planned, 100*maxErrors)
	case c.Model == load.OpenModel && float64(c.Completed) < finding.RateMissed.Refuses*float64(c.Planned):
		return finding.RateMissed.Refusal("only %d of %d planned arrivals got a right answer", c.Completed, c.Planned)
	}
	return nil
}

// notTheServers: what was measured is the generator.
func (c Cell) notTheServers(m metric.Name) *finding.Warning {
	use := c.cpu()
	if use.saturated() {
		return c.saturation(use)
	}
	if c.GeneratorShare == nil {
		return nil
	}
	switch share := *c.GeneratorShare; {
	case m.Kind() == metric.Time && share > finding.GeneratorShare.Refuses:
		return finding.GeneratorSaturated.Refusal("%.0f %% of each cycle was spent in the generator, so times are not the target's", 100*share)
	case share > finding.GeneratorSaturated.Refuses && use.server < finding.ServerBusy.Warns:
		return finding.GeneratorSaturated.Refusal("%.0f %% of each cycle was spent in the generator, and nothing shows that the server was at its limit", 100*share)
	}
	return nil
}

// late: an open model's iterations started late. In the closed model what the
// generator does between two iterations is judged as its share of the cycle.
func (c Cell) late(m metric.Name) *finding.Warning {
	if c.Model != load.OpenModel || m.Kind() != metric.Time {
		return nil
	}
	return c.Late()
}

// unsteady: one long run that did not stay around one level. Sums of rounds
// have no course; they are judged by their rounds.
func (c Cell) unsteady(m metric.Name) *finding.Warning {
	if m.Kind().Verdict() == stat.Amount {
		return nil
	}
	return c.Unsteady()
}

// overloaded: the machine had no CPU left, and most of it went to others.
func (c Cell) overloaded(metric.Name) *finding.Warning {
	if share := c.others(); share > finding.MachineBusy.Refuses {
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
	return u.generator >= finding.GeneratorSaturated.Warns && u.server < finding.ServerBusy.Warns
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
	if !full || max(use.generator, use.server) < finding.ServerBusy.Warns && !c.starved() {
		return 0
	}
	return c.Others(server) / all
}

// starved: a side waited for a core for longer than it had one.
func (c Cell) starved() bool {
	return c.GeneratorWaitedSec > c.GeneratorCPUSec || c.Server != nil && c.Server.WaitedSec > c.Server.CPUSec
}

func (c Cell) crowd(share float64) *finding.Warning {
	return finding.MachineBusy.Refusal("other programs used %.0f %% of the CPU time on a machine that had none left, so the figures are about what they left", 100*share)
}

func (c Cell) saturation(use cpuUse) *finding.Warning {
	return finding.GeneratorSaturated.Refusal("the generator used %.0f %% of the CPU it could get and the server only %.0f %%, so the generator was the limit",
		100*use.generator, 100*use.server)
}

// cpuFindings is what the CPU use of both sides, and of others, says about the
// figures.
func (c Cell) cpuFindings() []finding.Warning {
	var found []finding.Warning
	use := c.cpu()
	busy := use.generator >= finding.CPUShared.Warns
	switch {
	case use.saturated():
		found = append(found, *c.saturation(use))
	case busy && !use.apart:
		found = append(found, finding.CPUShared.Warning(
			"generator and server were both busy and shared the cores: of the CPU used %.0f %% was the server's, so a change of the server's cost shows in the throughput at %.0f %% of its size",
			100*use.diluted, 100*use.diluted))
	case use.server >= finding.ServerBusy.Warns:
		found = append(found, finding.ServerBusy.Warning("the server used %.0f %% of the CPU it could get, so it was at its limit", 100*use.server))
	}
	if share := c.others(); share > finding.MachineBusy.Warns {
		found = append(found, *c.crowd(share))
	}
	return found
}

// findings collects the warnings of cells, each text once.
func findings(cells ...Cell) []finding.Warning {
	var all []finding.Warning
	seen := map[string]bool{}
	for _, c := range cells {
		for _, w := range c.Warnings {
			text := w.Text
			if c.Arm != "" {
				text = c.Arm + ": " + text
			}
			if !seen[text] {
				seen[text] = true
				all = append(all, finding.Warning{Code: w.Code, Text: text})
			}
		}
	}
	return all
}
