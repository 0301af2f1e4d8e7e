package count

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
	"contend/why/symbol/work"
)

const (
	// confidence is that of the verdict, and of all rows together.
	confidence = 0.995
	// A function does work if its counts agree from repetition to repetition: none is farther from their mean than
	// agreeShare of it, or agreeCount instructions.
	agreeShare = 0.0005
	agreeCount = 0.1
	// leastWork is the share of all instructions that functions which agree must have to show that two are equal.
	leastWork = 0.5
	// leastRow is the least difference that is a row. mostRows and mostRuntime are the rows that are kept.
	leastRow    = 0.05
	mostRows    = 200
	mostRuntime = 20
	// covered is the share of all instructions that rows and other functions have, of these at most mostOthers.
	covered    = 0.99
	mostOthers = 200
	// ownFirst is the share of the difference that puts a function of the program's own before larger ones of libraries.
	ownFirst = 0.01
)

// series are the instructions of one function per operation, by repetitions.
type series struct{ baseline, candidate []float64 }

// agrees reports whether the counts agree from repetition to repetition, on each side.
func (s series) agrees() bool { return agree(s.baseline) && agree(s.candidate) }

func agree(values []float64) bool {
	m := mean(values)
	allowed := max(agreeCount, agreeShare*math.Abs(m))
	return !slices.ContainsFunc(values, func(x float64) bool { return math.Abs(x-m) > allowed })
}

func mean(values []float64) (sum float64) {
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

// add adds the counts of another function.
func (s *series) add(o series) {
	for i := range s.baseline {
		s.baseline[i] += o.baseline[i]
	}
	for i := range s.candidate {
		s.candidate[i] += o.candidate[i]
	}
}

// shift compares both sides at a confidence.
func (s series) shift(confidence float64) Difference {
	shift, err := stat.Means(s.baseline, s.candidate, confidence)
	if err != nil {
		return Difference{} // of no repetition
	}
	d := Difference{Baseline: mean(s.baseline), Candidate: mean(s.candidate), Value: shift.Value, Low: shift.Low, High: shift.High}
	if shift.Bounded() {
		d.Level = shift.Level
	}
	return d
}

// ofEach turns counts of one operation, of each repetition, into those of each function.
func ofEach(baseline, candidate []map[string]float64) map[string]series {
	all := map[string]series{}
	for _, side := range [][]map[string]float64{baseline, candidate} {
		for _, counts := range side {
			for name := range counts {
				if _, known := all[name]; !known {
					all[name] = series{make([]float64, len(baseline)), make([]float64, len(candidate))}
				}
			}
		}
	}
	for name, s := range all {
		for i, counts := range baseline {
			s.baseline[i] = counts[name]
		}
		for i, counts := range candidate {
			s.candidate[i] = counts[name]
		}
	}
	return all
}

// weigh compares the counts of one operation, by function, of each repetition. The margin is a share of all of the baseline.
func weigh(baseline, candidate []map[string]float64, margin float64) Comparison {
	functions := ofEach(baseline, candidate)
	c := Comparison{Looked: len(functions), Decides: Work}
	each := 1 - (1-confidence)/float64(max(1, len(functions)))
	empty := func() series { return series{make([]float64, len(baseline)), make([]float64, len(candidate))} }
	agreeing, done, runtime, collecting, all := empty(), empty(), empty(), empty(), empty()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		s := functions[name]
		all.add(s)
		row := Row{Name: name, Kind: work.Of(name, ""), Difference: s.shift(each), Agrees: s.agrees()}
		if row.Agrees {
			agreeing.add(s)
		}
		if row.Agrees || row.excludes0() && !schedules(row.Kind) {
			done.add(s)
			c.Rows = appendRow(c.Rows, row)
			continue
		}
		if c.Runtime = appendRow(c.Runtime, row); row.Kind == work.Collection {
			collecting.add(s)
		} else {
			runtime.add(s)
		}
	}
	if d := collecting.shift(confidence); d.excludes0() { // none of its functions does alone
		done.add(collecting)
		c.Rows = appendRow(c.Rows, Row{Name: string(work.Collection), Kind: work.Collection, Difference: d})
	} else {
		runtime.add(collecting)
	}
	c.Work, c.Scattered, c.Total = done.shift(confidence), runtime.shift(confidence), all.shift(confidence)
	allowed := margin * c.Total.Baseline
	if c.Verdict = c.Work.verdict(allowed); mean(agreeing.baseline) < leastWork*c.Total.Baseline {
		c.decideByTotal(allowed)
	}
	from := ownFirst * math.Abs(c.Decisive().Value)
	c.Rows = largest(c.Rows, mostRows, func(r Row) bool { return r.Kind == "" && r.Name != Unnamed && math.Abs(r.Value) >= from })
	c.Runtime = largest(c.Runtime, mostRuntime, func(Row) bool { return false })
	c.Others = others(functions, c.Rows, c.Total.Candidate)
	if nameless := functions[Unnamed]; nameless.baseline != nil {
		share := max(mean(nameless.baseline)/c.Total.Baseline, mean(nameless.candidate)/c.Total.Candidate)
		if share > finding.UnnamedCode.Warns {
			c.Warnings = append(c.Warnings, finding.UnnamedCode.Warning("%s of the instructions are of code without a name: a stripped program, or a JIT compiler's, whose code is another one under a simulator", unit.Percent(share)))
		}
	}
	return c
}

// others are the largest functions that have no row, until all of them are enough of the candidate's instructions.
func others(functions map[string]series, rows []Row, total float64) (list []Cost) {
	sum, known := 0.0, map[string]bool{}
	for _, r := range rows {
		sum, known[r.Name] = sum+r.Candidate, true
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if s := functions[name]; !known[name] {
			list = append(list, Cost{name, mean(s.candidate), s.agrees()})
		}
	}
	slices.SortStableFunc(list, func(a, b Cost) int { return cmp.Compare(b.Instructions, a.Instructions) })
	for i, c := range list {
		if i == mostOthers || sum >= covered*total {
			return slices.Clip(list[:i])
		}
		sum += c.Instructions
	}
	return list
}

// schedules reports whether functions of the kind do more or less by what else goes on, and not by what is asked of the server.
func schedules(kind work.Kind) bool { return kind == work.Scheduling || kind == work.Polling }

func appendRow(rows []Row, row Row) []Row {
	if math.Abs(row.Value) < leastRow || row.Agrees && !row.excludes0() {
		return rows
	}
	return append(rows, row)
}

// largest are the rows that differ most, those first that are to be.
func largest(rows []Row, most int, first func(Row) bool) []Row {
	slices.SortStableFunc(rows, func(a, b Row) int {
		switch one, other := first(a), first(b); {
		case one && !other:
			return -1
		case other && !one:
			return 1
		}
		return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
	})
	return slices.Clip(rows[:min(len(rows), most)])
}

// decideByTotal reaches the verdict where few functions agree: some may differ beyond their scatter, but only all
// instructions can be equal, or contradict these.
func (c *Comparison) decideByTotal(allowed float64) {
	total := c.Total.verdict(allowed)
	decided := c.Verdict == stat.More || c.Verdict == stat.Less
	if decided && (total == c.Verdict || total == stat.Inconclusive) {
		return
	}
	if c.Decides = Total; decided {
		total = stat.Inconclusive
	}
	c.Verdict = total
}

// verdict is EQUIVALENT if the interval is within what is allowed, and MORE or LESS if that excludes 0 and the difference
// itself is larger than that.
func (d Difference) verdict(allowed float64) stat.Verdict {
	switch {
	case d.Level == 0: // one repetition has no interval
		return stat.Inconclusive
	case d.Low >= -allowed && d.High <= allowed:
		return stat.Equivalent
	case d.Low > 0 && d.Value > allowed:
		return stat.More
	case d.High < 0 && d.Value < -allowed:
		return stat.Less
	}
	return stat.Inconclusive
}
