package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"contend/finding"
	"contend/history"
	"contend/internal/unit"
	"contend/metric"
	"contend/stat"
	"contend/trial"
)

// keptOfRuns are the metrics that a history keeps of results that were compared with nothing.
var keptOfRuns = []metric.Name{metric.Throughput, metric.ResponseP50, metric.ResponseP99, metric.ServerCPUPerOp, metric.ServerRSS,
	metric.WallPerOp, metric.Errors}

// ForHistory is what a history keeps of a document: of revisions a result for each candidate, which was compared with
// the first of them; of anything else one result, of the given commit. The list is empty if nothing was measured.
func (d *Document) ForHistory(commit string, changed bool) (results []history.Result) {
	revisions := map[string]Build{}
	for _, b := range d.Builds {
		revisions[b.Arm] = b
	}
	if len(revisions) == 0 {
		r := d.kept(history.Result{Commit: commit, Changed: changed}, d.valuesOf("", ""))
		if len(r.Values) == 0 {
			return nil
		}
		return []history.Result{r}
	}
	for _, b := range d.Builds[1:] {
		r := history.Result{Commit: b.Commit, Changed: b.Changed, Anchor: d.Builds[0].Commit}
		r.Key.Toolchain = b.Toolchain
		if d.Builds[0].Changed {
			r.Anchor = "" // nobody can build that again
		}
		if r = d.kept(r, d.valuesOf(d.Builds[0].Arm, b.Arm)); len(r.Values) > 0 {
			results = append(results, r)
		}
	}
	return results
}

// kept completes a result.
func (d *Document) kept(r history.Result, values []history.Value) history.Result {
	e := d.Environment
	r.Schema, r.Time, r.Values = history.Schema, e.Started.UTC().Truncate(time.Second), values
	r.Key.Asked, r.Key.CPU, r.Key.Cores, r.Key.Kernel = d.asked(), e.CPU, e.Cores, e.Kernel
	generator, servers, placed := e.like()
	if r.Key.Placement = placed; placed == "apart" {
		r.Key.Placement = fmt.Sprintf("apart: load generator %s, servers %s", generator, servers)
	}
	if r.Anchor == "" {
		r.Key.Program = d.Version
	}
	return r
}

// asked is what was asked for; documents that do not have it have what they compare or load.
func (d *Document) asked() string {
	text := "contend " + d.Command
	for _, a := range d.Arms {
		text += " " + Quoted(a.Does)
	}
	if len(d.Arms) == 0 && len(d.Results) > 0 {
		text += " " + Quoted(d.Results[0].Target)
	}
	return cmp.Or(d.Asked, text)
}

// valuesOf are those of a comparison of two variants; "": of all, by their names.
func (d *Document) valuesOf(baseline, candidate string) (values []history.Value) {
	seen := map[history.Of]bool{}
	add := func(at Place, variant string, concurrency int, m metric.Name, v history.Value) {
		v.Of = history.Of{Part: at.Part, Variant: variant, Concurrency: concurrency, Metric: string(m)}
		if d.isLab() { // others have one experiment, without a name of its own
			v.Experiment = at.Experiment
		}
		if candidate != "" {
			v.Variant = ""
		}
		if !seen[v.Of] {
			values = append(values, v)
		}
		seen[v.Of] = true
	}
	other := func(base, cand string) bool { return candidate != "" && (base != baseline || cand != candidate) }
	for _, c := range d.Comparisons {
		if !other(c.Baseline, c.Candidate) && !c.Reason.Is(finding.NoFigure) {
			add(c.Place, c.Candidate, c.Concurrency, c.Metric, comparedValue(c.Comparison))
		}
	}
	for _, c := range d.counted() {
		if !other(c.Baseline, c.Candidate) {
			add(c.of.Place, c.Candidate, c.of.Concurrency, history.CountedInstructions, countedValue(c))
		}
	}
	if len(values) > 0 {
		return values
	}
	d.answersOfSweeps(add)
	if len(values) > 0 {
		return values
	}
	for _, r := range d.Results {
		at := r.Place
		if r.InProcess != nil {
			at.Part = r.InProcess.Kind
		}
		for i, m := range keptOfRuns {
			if x, ok := m.Beside(r.Cell.Result); ok && interesting(m, r.Cell) {
				v := history.Value{Value: digits(x), Primary: i == 0}
				if refusal := r.RefusalOf(m); refusal != nil && m.Kind() != metric.Count {
					v.Verdict, v.Reason = string(stat.Invalid), refusal.Code
				}
				add(at, r.Arm, r.Concurrency, m, v)
			}
		}
	}
	return values
}

// comparedValue is a comparison as a history has it.
func comparedValue(c trial.Comparison) history.Value {
	v := history.Value{Primary: c.Primary, Value: digits(c.CandidateValue), Baseline: digits(c.BaselineValue), Verdict: string(c.Verdict)}
	if c.Reason != nil {
		v.Reason = c.Reason.Code
	}
	if c.Verdict == stat.Invalid || c.Rounds == 0 {
		return v
	}
	v.LogRatio = digits(math.Log(c.Ratio))
	if c.Bounded() {
		v.Low, v.High, v.Level = digits(math.Log(c.Low)), digits(math.Log(c.High)), digits(c.Level)
	}
	for i, r := range c.RoundLogRatios {
		v.Rounds = append(v.Rounds, digits(r))
		if c.RoundWeights != nil {
			v.Weights = append(v.Weights, digits(c.RoundWeights[i]))
		}
	}
	return v
}

// countedValue is a comparison of counts as a history has it.
func countedValue(c counting) history.Value {
	d := c.Decisive()
	v := history.Value{Primary: true, Value: digits(d.Candidate), Baseline: digits(d.Baseline), Verdict: string(c.Verdict)}
	if c.Reason != nil {
		v.Reason = c.Reason.Code
	}
	share := func(difference float64) float64 { return digits(math.Log1p(difference / d.Baseline)) }
	if c.Verdict == stat.Invalid || d.Baseline <= 0 || d.Candidate <= 0 {
		return v
	}
	v.LogRatio = share(d.Value)
	if d.Level > 0 && d.Low > -d.Baseline {
		v.Low, v.High, v.Level = share(d.Low), share(d.High), d.Level
	}
	for _, r := range c.Rows {
		v.Functions = append(v.Functions, history.Function{Name: r.Name, Value: digits(r.Candidate), Baseline: digits(r.Baseline)})
	}
	length := 0
	v.Others, v.Scattered = map[string]float64{}, map[string]float64{}
	for _, o := range c.Others {
		if length += len(o.Name); length > history.MostOthers {
			break
		}
		into := v.Scattered
		if o.Agrees {
			into = v.Others
		}
		into[o.Name] = max(0, digits(o.Instructions)) // the difference of two runs
	}
	return v
}

// answersOfSweeps are the throughputs, levels and rates that sweeps and searches answer with.
func (d *Document) answersOfSweeps(add func(Place, string, int, metric.Name, history.Value)) {
	for _, c := range d.Curves {
		var v history.Value
		if refused := refusedLevels(c.Curve); len(refused) > 0 {
			v.Verdict, v.Reason = string(stat.Invalid), refused[0]
		}
		if v.Primary = true; c.Best != nil {
			v.Value = digits(c.Best.Throughput)
			add(c.Place, c.Arm, 0, "best_throughput_per_s", v)
		}
		if v.Primary = false; c.Recommended() != nil {
			v.Value = c.Recommended().N.Value
			add(c.Place, c.Arm, 0, "recommended_concurrency", v)
		}
	}
	for _, s := range d.Searches {
		if s.HeldPerSec > 0 {
			add(s.Place, s.Arm, 0, "sustained_rate_per_s", history.Value{Value: digits(s.HeldPerSec), Primary: true})
		}
	}
}

// digits rounds to more digits than any of these values has.
func digits(x float64) float64 { return unit.Rounded(x, 6) }

// shortHash is a hash as pages have it.
func shortHash(commit string) string { return strings.ToValidUTF8(commit[:min(len(commit), 7)], "") }
