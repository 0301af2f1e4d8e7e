package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"contend/count"
	"contend/finding"
	"contend/internal/unit"
	"contend/report/plain"
	"contend/stat"
	"contend/trial"
	"contend/why"
)

// Counts are what operations cost in instructions.
type Counts struct {
	Place
	count.Counts
}

// counted are all comparisons of counts, each with what it is of.
func (d *Document) counted() (list []counting) {
	for i, of := range d.Counts {
		for _, c := range of.Comparisons {
			list = append(list, counting{c, &d.Counts[i], d.sampled(of.Place, c.Candidate)})
		}
	}
	return list
}

type counting struct {
	count.Comparison
	of    *Counts
	calls sampled
}

// sampled are the calls of the variants of a part, if they were sampled as well, and which of them the candidate is.
type sampled struct {
	calls []why.Call
	arm   int
}

func (d *Document) sampled(at Place, candidate string) sampled {
	for _, t := range d.Trials {
		if arm := slices.Index(t.Arms, candidate); t.Place == at && t.Why != nil && arm >= 0 {
			return sampled{t.Why.Calls, arm}
		}
	}
	return sampled{}
}

// under are the program's own functions that lead to that of a row, the nearest last.
func (c counting) under(r count.Row) []string {
	more, than := c.calls.arm, 0
	if r.Value < 0 {
		more, than = than, more
	}
	return why.Under(c.calls.calls, r.Name, more, than)
}

// within is the one function of the program's own that all rows are, or are called from; "": it is not known, or there are several.
func (c counting) within(rows []count.Row) (one string) {
	for _, r := range rows {
		nearest := r.Name
		if r.Kind != "" {
			under := c.under(r)
			if len(under) == 0 {
				return ""
			}
			nearest = under[len(under)-1]
		}
		if one != "" && one != nearest {
			return ""
		}
		one = nearest
	}
	return one
}

const (
	// mostNamed are the functions in the first line, and mostCounted the rows on a page.
	mostNamed   = 3
	mostCounted = 10
)

// countScreen answers which of two or more executes more instructions, and in which functions.
func (d *Document) countScreen() *screen {
	list := d.counted()
	s := &screen{care: new(findings), mood: good, next: d.goesOn()}
	for _, c := range list {
		if c.Verdict == stat.Invalid || c.Verdict == stat.Inconclusive {
			s.mood = doubted
		} else if c.Verdict.Worse() && s.mood == good {
			s.mood = bad
		}
		if c.Reason.Is(finding.TooFewRounds) {
			s.next = advise("run the same command with a longer -d, or without it")
		}
		for _, w := range c.Warnings {
			s.care.addCode(w, "")
		}
	}
	s.first, s.trust = list[0].sentence(), list[0].trust(len(s.marked()))
	s.standFor(d.Arms)
	var sampled []Comparison
	for i, c := range list {
		if i > 0 {
			s.lead("%s", c.sentence())
			s.aside("%s", c.trust(len(s.marked())))
		}
		if c.Looked > 0 { // else nothing ended in time
			s.rows(c.rows(mostCounted))
		}
		if said := c.eventsSentence(); said != "" {
			s.lead("%s", said)
		}
		sampled = append(sampled, Comparison{c.of.Place, trial.Comparison{Baseline: c.Baseline, Candidate: c.Candidate, Concurrency: c.of.Concurrency}})
	}
	d.becauseInShort(&s.view, sampled)
	return s
}

// placed goes on after a sentence with where both sides ran, which changes no count.
func (d *Document) placed() string {
	if len(d.Counts) > 0 {
		return ""
	}
	return d.Environment.CPUs.placed()
}

// sentence says how many more instructions the candidate executes, and where.
func (c counting) sentence() string {
	name, d, per := plain.Line(c.Candidate), c.Decisive(), "per "+c.of.Operation
	switch c.Verdict {
	case stat.Invalid:
		return fmt.Sprintf("No result: the instructions of %s and %s cannot be compared", plain.Line(c.Baseline), name)
	case stat.Equivalent:
		return fmt.Sprintf("%s executes as many instructions %s as %s, within ±%s: %s of %s", name, per, plain.Line(c.Baseline), unit.Percent(c.of.Margin),
			signedAmount(d.Value), amount(c.Total.Baseline))
	case stat.Inconclusive:
		text := fmt.Sprintf("No clear difference between %s and %s in instructions %s", plain.Line(c.Baseline), name, per)
		if d.Level > 0 {
			text += fmt.Sprintf(" (%s %s to %s)", ci(d.Level), signedShare(d.Low/c.Total.Baseline), signedShare(d.High/c.Total.Baseline))
		}
		return text
	}
	low, high := math.Abs(d.Low), math.Abs(d.High)
	text := fmt.Sprintf("%s executes %s %s instructions %s (%s, %s %s to %s)", name, amount(math.Abs(d.Value)), either(d.Value > 0, "more", "fewer"), per,
		signedShare(d.Value/max(1, c.Total.Baseline)), ci(d.Level), amount(min(low, high)), amount(max(low, high)))
	var named []string
	for _, r := range c.Rows[:min(len(c.Rows), mostNamed)] {
		named = append(named, functionName(r.Name)+" "+signedAmount(r.Value))
	}
	if len(named) > 0 {
		text += ": " + strings.Join(named, ", ")
	}
	if more := len(c.Rows) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if one := c.within(c.Rows[:min(len(c.Rows), mostNamed)]); len(named) > 1 && one != "" {
		text += "; under " + functionName(one) + " by sampled stacks"
	}
	return text
}

// remark is what an experiment says to its question.
func (c counting) remark() remark {
	r := remark{part: c.of.Part, standing: answered, verdict: string(c.Verdict), text: c.sentence(), level: c.Decisive().Level,
		means: fmt.Sprintf("Counted under a simulator (%s), which shows no time.", plain.Line(c.of.Tool))}
	if c.Verdict == stat.Invalid && c.Reason != nil {
		r.standing, r.code = disbelieved, c.Reason.Code
	} else if c.Verdict == stat.Inconclusive {
		r.standing = undecided
	}
	return r
}

// trust is the status: the verdict, and how it was counted.
func (c counting) trust(caveats int) string {
	how := fmt.Sprintf("counted under a simulator (%s), which shows no time", plain.Line(c.of.Tool))
	if c.of.Measured > 0 { // else the time was up before it was known how many
		how += fmt.Sprintf(": %s of %s %ss at concurrency %d", plural(c.of.Done(), "repetition"), unit.Count(c.of.Measured), c.of.Operation, c.of.Concurrency)
	}
	switch {
	case c.Verdict == stat.Invalid && c.Reason != nil:
		return invalid(finding.Warning{Code: c.Reason.Code, Text: c.Reason.String()}) + "; " + how
	case c.Verdict == stat.Inconclusive && c.Decides == count.Total:
		return "INCONCLUSIVE, which is not \"equal\": most functions do not do the same in each repetition; " + how
	case c.Verdict == stat.Inconclusive:
		return "INCONCLUSIVE, which is not \"equal\"; " + how
	}
	about := ""
	if c.Decides == count.Total {
		about = " of all instructions, as most functions do not do the same in each repetition"
	}
	return fmt.Sprintf("%s%s, valid%s, %s", c.Verdict, about, withCaveats(caveats), how)
}

// rows are the functions that differ, at most so many, and what is left: they add up to the total. What leads to them is
// in a column if it is known.
func (c counting) rows(most int) table {
	t := table{columns: []string{"instructions per " + c.of.Operation, plain.Line(c.Baseline), plain.Line(c.Candidate), "difference", "interval"}}
	called := len(c.calls.calls) > 0
	if called {
		t.columns = append(t.columns, "called from")
	}
	line := func(name string, d count.Difference, under ...string) {
		row := append([]string{name}, counted(d)...)
		if called {
			row = append(row, pathOf(under))
		}
		t.rows = append(t.rows, row)
	}
	rest := c.Work
	for _, r := range c.Rows[:min(len(c.Rows), most)] {
		line(functionName(r.Name), r.Difference, c.under(r)...)
		rest.Baseline, rest.Candidate, rest.Value = rest.Baseline-r.Baseline, rest.Candidate-r.Candidate, rest.Value-r.Value
	}
	rest.Level = 0 // its interval is not known
	line("other functions", rest)
	line("runtime and scheduling", c.Scattered)
	line("all", c.Total)
	return t
}

// functionName is a function's short name, or says why it has no name.
func functionName(name string) string {
	if name == count.Unnamed {
		return "[stripped or JIT code]"
	}
	return shortName(name)
}

// pathOf is the end of a call path.
func pathOf(functions []string) string {
	const most = 2
	var names []string
	for _, f := range functions[max(0, len(functions)-most):] {
		names = append(names, functionName(f))
	}
	return strings.Join(names, " → ")
}

// lineRows are the lines of source in which the functions differ.
func (c counting) lineRows() table {
	t := table{columns: []string{"line", plain.Line(c.Baseline), plain.Line(c.Candidate), "difference", "interval", "function"}}
	for _, r := range c.Rows {
		for _, l := range r.Lines {
			t.rows = append(t.rows, append(append([]string{l.Name}, counted(l.Difference)...), functionName(r.Name)))
		}
	}
	return t
}

// counted are the cells of a difference.
func counted(d count.Difference) []string {
	return []string{amount(d.Baseline), amount(d.Candidate), signedAmount(d.Value), bounds(d)}
}

// eventsSentence says what the candidate asks of the kernel more or less often, at full speed; "": nothing was counted.
func (c counting) eventsSentence() string {
	if len(c.Events) == 0 {
		return ""
	}
	var differ []string
	for _, e := range c.Events {
		if e.Differs {
			differ = append(differ, fmt.Sprintf("%s %s (%s → %s)", e.Name, unit.Signed(e.Value, unit.Digits), unit.Digits(e.Baseline), unit.Digits(e.Candidate)))
		}
	}
	said := either(len(differ) > 0, strings.Join(differ, ", "), "no clear difference in what the servers ask of the kernel")
	return fmt.Sprintf("Without the simulator, per %s: %s", c.of.Operation, said)
}

// eventRows are all that was counted without the simulator.
func (c counting) eventRows() table {
	t := table{columns: []string{"per " + c.of.Operation, plain.Line(c.Baseline), plain.Line(c.Candidate), "difference", "interval"}}
	for _, e := range c.Events {
		signed := func(x float64) string { return unit.Signed(x, unit.Digits) }
		t.rows = append(t.rows, []string{e.Name, unit.Digits(e.Baseline), unit.Digits(e.Candidate), signed(e.Value), signed(e.Low) + " … " + signed(e.High)})
	}
	return t
}

// runtimeRows are the functions of runtime and scheduling that differ most.
func (c counting) runtimeRows() table {
	t := table{columns: []string{"function", plain.Line(c.Baseline), plain.Line(c.Candidate), "difference", "interval", "kind"}}
	for _, r := range c.Runtime {
		t.rows = append(t.rows, append(append([]string{functionName(r.Name)}, counted(r.Difference)...), cmp.Or(string(r.Kind), "-")))
	}
	return t
}

func bounds(d count.Difference) string {
	if d.Level == 0 {
		return "-"
	}
	return signedAmount(d.Low) + " … " + signedAmount(d.High)
}

// amount writes a number of instructions. What is left of a start can be fewer than none.
func amount(x float64) string { return strings.Replace(unit.Digits(hundredths(x)), "-", "−", 1) }

// hundredths leaves out what is the noise of a division. To add 0 takes the sign from −0.
func hundredths(x float64) float64 { return math.Round(100*x)/100 + 0 }

func signedAmount(x float64) string { return unit.Signed(hundredths(x), unit.Digits) }

func signedShare(x float64) string { return unit.Signed(x, unit.Percent) }

// countedIn writes all that is known of the counts of a part.
func (d *Document) countedIn(v *view, at Place) {
	for _, c := range d.counted() {
		if c.of.Place != at {
			continue
		}
		if c.Looked > 0 {
			v.say("%s looked at. The interval of each function holds together with those of all others, at %s.", plural(c.Looked, "function"), unit.Percent(1-c.Total.Level))
			v.table(c.rows(len(c.Rows)))
		}
		if lines := c.lineRows(); len(lines.rows) > 0 {
			v.say("Lines of source in which these differ, with the numbers that they have in %s:", plain.Line(c.Candidate))
			v.table(lines)
		}
		if len(c.Runtime) > 0 {
			v.say("Of runtime and scheduling, the functions that differ most. Their counts differ from repetition to repetition:")
			v.table(c.runtimeRows())
		}
		if events := c.eventRows(); len(events.rows) > 0 {
			v.say("What the kernel counted, without the simulator and at full speed; the intervals hold together:")
			v.table(events)
		}
		for _, missing := range c.of.Missing {
			v.say("Not counted: %s.", missing)
		}
		runs := table{columns: []string{"repetition", "variant", c.of.Operation + "s", "processes", "instructions"}}
		for _, r := range c.of.Runs {
			if slices.Contains([]string{c.Baseline, c.Candidate}, r.Arm) {
				runs.rows = append(runs.rows, []string{fmt.Sprint(r.Repetition), plain.Line(r.Arm), unit.Count(r.Iterations), unit.Count(r.Processes), unit.Count(r.Instructions)})
			}
		}
		v.say("Runs, two of different length in each repetition:")
		v.table(runs)
	}
}

func (d *Document) junitCounted(c counting) junitCase {
	end := passes
	switch {
	case c.Verdict == stat.Invalid:
		end = errs
	case c.Verdict.Worse() && d.Command != "lab":
		end = fails
	case c.Verdict.Worse() || c.Verdict == stat.Inconclusive:
		end = skips
	}
	name := fmt.Sprintf("instructions per %s of %s against %s", c.of.Operation, c.Candidate, c.Baseline)
	return d.junitCase(c.of.Place, name, end, string(c.Verdict), c.sentence(), c.sentence(), c.trust(len(c.Warnings)))
}

// csvCounted is the difference that decides, relative to all instructions.
func (d *Document) csvCounted(c counting) csvRow {
	row := d.csvRow(c.of.Place, "comparison", c.Candidate, c.of.Concurrency, "instructions_per_op")
	row["baseline"], row["verdict"] = c.Baseline, string(c.Verdict)
	if c.Reason != nil {
		row["reason"] = c.Reason.Code
	}
	all, by := c.Total.Baseline, c.Decisive()
	if all == 0 { // nothing ended in time
		return row
	}
	row["value"], row["baseline_value"], row["ratio"] = number(all+by.Value), number(all), number(1+by.Value/all)
	if by.Level > 0 {
		row["ratio_low"], row["ratio_high"], row["confidence"] = number(1+by.Low/all), number(1+by.High/all), number(1-by.Level)
	}
	return row
}
