package trial

import (
	"maps"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
	"contend/load"
	"contend/metric"
	"contend/stat"
)

// PairLogRatios returns ln(candidate ÷ baseline) of each pair of blocks, by round,
// for the rates, costs and counted events, which a single block has. Pairs from
// stretches in which the machine changed are left out, unless these are more than half
// of the round.
func (t *Trials) PairLogRatios(m metric.Name, candidate string, level int) map[int][]float64 {
	if kind := m.Kind(); kind != metric.Rate && kind != metric.Cost && kind != metric.Events {
		return nil
	}
	type pair struct {
		base, cand float64
		changed    bool
	}
	rounds := map[int]map[int]pair{}
	for _, b := range t.blocks(candidate, level) {
		value, ok := m.Of(b.Result)
		if !ok {
			continue
		}
		if rounds[b.Round] == nil {
			rounds[b.Round] = map[int]pair{}
		}
		p := rounds[b.Round][b.Pair]
		if b.Arm == candidate {
			p.cand = value
		} else {
			p.base = value
		}
		p.changed = p.changed || t.machine.changed[stretchOf(b)]
		rounds[b.Round][b.Pair] = p
	}
	logs := map[int][]float64{}
	for n, pairs := range rounds {
		var all, alike []float64
		for _, i := range slices.Sorted(maps.Keys(pairs)) {
			p := pairs[i]
			if p.base <= 0 || p.cand <= 0 {
				continue
			}
			log := math.Log(p.cand / p.base)
			all = append(all, log)
			if !p.changed {
				alike = append(alike, log)
			}
		}
		if 2*len(alike) >= len(all) {
			all = alike
		}
		if len(all) > 0 {
			logs[n] = all
		}
	}
	return logs
}

// blocks returns those of the baseline and the candidate at a level.
func (t *Trials) blocks(candidate string, level int) []Cell {
	var list []Cell
	for _, b := range t.Blocks {
		if b.Concurrency == level && (b.Arm == t.Arms[0] || b.Arm == candidate) {
			list = append(list, b)
		}
	}
	return list
}

// logRatios returns ln(candidate ÷ baseline) of the metric, one per round: the
// Hodges–Lehmann estimate over the round's pairs where each block has the
// figure, so that one disturbed block does not decide the round, and otherwise
// the ratio of the round's merged histograms. Those of percentiles have weights.
func (t *Trials) logRatios(m metric.Name, candidate string, level int, pairs map[int][]float64) (logs, weights []float64) {
	if _, isPercentile := m.Percentile(); isPercentile && t.Weighted {
		return t.percentiles(m, candidate, level)
	}
	for n := 1; n <= t.roundsDone(); n++ {
		if len(pairs[n]) > 0 {
			logs = append(logs, stat.Center(pairs[n]))
		} else if log, ok := t.roundLog(candidate, level, n, m.Of); ok {
			logs = append(logs, log)
		}
	}
	return logs, nil
}

// percentiles returns ln(candidate ÷ baseline) of a percentile, one per round that has it of both
// arms, and the weight of each: 1 ÷ its standard error.
func (t *Trials) percentiles(m metric.Name, candidate string, level int) (logs, weights []float64) {
	type estimate struct{ log, err float64 }
	base, cand := map[int]estimate{}, map[int]estimate{}
	for _, c := range t.Rounds {
		log, err, ok := m.Estimate(c.Result)
		switch {
		case !ok || c.Concurrency != level:
		case c.Arm == t.Arms[0]:
			base[c.Round] = estimate{log, err}
		case c.Arm == candidate:
			cand[c.Round] = estimate{log, err}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(base)) {
		if c, ok := cand[n]; ok {
			logs = append(logs, c.log-base[n].log)
			weights = append(weights, 1/math.Hypot(c.err, base[n].err))
		}
	}
	return logs, weights
}

// roundLog returns ln(candidate ÷ baseline) of what is read from the merged result of
// a round; false where one of the arms has no such figure.
func (t *Trials) roundLog(candidate string, level, round int, read func(*load.Result) (float64, bool)) (float64, bool) {
	var base, cand float64
	for _, c := range t.Rounds {
		if c.Round != round || c.Concurrency != level {
			continue
		}
		switch value, _ := read(c.Result); c.Arm {
		case t.Arms[0]:
			base = value
		case candidate:
			cand = value
		}
	}
	return math.Log(cand / base), base > 0 && cand > 0
}

// spread splits the variance of the pairs into that of rounds and of blocks.
func spread(pairs map[int][]float64) *stat.Variance {
	v, ok := stat.Shares(inOrder(pairs))
	if !ok {
		return nil
	}
	return &v
}

// inOrder returns what each round has, in the order of the rounds.
func inOrder(byRound map[int][]float64) [][]float64 {
	var rounds [][]float64
	for _, n := range slices.Sorted(maps.Keys(byRound)) {
		rounds = append(rounds, byRound[n])
	}
	return rounds
}

// enoughBeyond is how many samples rounds must have on average beyond a percentile that
// is compared, so that these say something about it, and enoughUnweighted where the figure
// of a round is metric.Name.Of, which is biased by the number of its samples, and arms of
// different throughput have not as many: with 10 beyond p99, and 30% more samples in one
// arm, the ratio of a lognormal response time with stragglers is off by 1%, with 20 by
// half of that (simulated).
const (
	enoughBeyond     = 5
	enoughUnweighted = 20
)

// fewSamples returns why a percentile must not be compared, or nil.
func (t *Trials) fewSamples(m metric.Name, candidate string, level int) *finding.Warning {
	q, isPercentile := m.Percentile()
	if !isPercentile {
		return nil
	}
	enough := enoughUnweighted
	if t.Weighted {
		enough = enoughBeyond
	}
	for _, arm := range []string{t.Arms[0], candidate} {
		beyond, rounds := 0.0, 0.0
		for _, c := range t.cells(arm, level) {
			if n, ok := m.Recorded(c.Result); ok {
				beyond, rounds = beyond+float64(n)*(1-q), rounds+1
			}
		}
		if rounds > 0 && beyond/rounds < float64(enough) {
			return finding.FewSamples.Refusal("%s: a round of %s has only %s samples beyond it and needs %d: use more pairs or longer blocks",
				m, arm, unit.Digits(beyond/rounds), enough)
		}
	}
	return nil
}

// armSteady is the relative change of an arm's throughput within rounds that goes without saying: more
// than stat.SteadyThroughput, which the ratio is held to, as processes that have just started quicken
// together. A convention of this project.
const armSteady = 2 * stat.SteadyThroughput

// ageing names the arms whose throughput changes during a round. As both are compared at the same age
// the ratio stays right, unless it changes as well: see notSteady.
func (t *Trials) ageing(level int, arms ...string) (found []finding.Warning) {
	for _, arm := range arms {
		courses := map[int][]float64{}
		for _, b := range t.Blocks {
			if b.Arm == arm && b.Concurrency == level && b.Counted == nil {
				courses[b.Round] = append(courses[b.Round], b.Throughput())
			}
		}
		if ratio, over := stat.RepeatedChange(inOrder(courses), armSteady); over > 0 {
			found = append(found, *finding.StillWarming.Warning("the throughput changed by %+.1f%% from the start of each round to its end; the variants are compared at the same age",
				100*(ratio-1)).About(arm))
		}
	}
	return found
}

// notSteady returns why the rounds show no steady state of the arms' ratio, or nil.
func (t *Trials) notSteady(candidate string, level int) *finding.Warning {
	ratios := inOrder(t.PairLogRatios(metric.Throughput, candidate, level))
	for _, round := range ratios {
		for i, log := range round {
			round[i] = math.Exp(log)
		}
	}
	if seen := stat.Course(ratios, stat.SteadyThroughput); len(seen) > 0 {
		return seen[0].About(candidate + " ÷ " + t.Arms[0])
	}
	return nil
}

// findings are those of the trial itself.
func (t *Trials) findings(candidate string, level int) []finding.Warning {
	found := slices.Concat(t.unsettled(level, t.Arms[0], candidate), t.warmedUp(t.Arms[0], candidate), t.ageing(level, t.Arms[0], candidate))
	found = append(found, t.machine.findings(level)...)
	if t.InProcess {
		found = append(found, finding.RoundsNotFresh.Warning("a server was not restarted between rounds; an effect of that one start may be in all of them"))
	}
	return found
}
