package report

import (
	"fmt"
	"time"

	"contend/calibrate"
	"contend/finding"
	"contend/internal/unit"
	"contend/stat"
)

// calibrateScreen answers what a comparison on this machine can see.
func (d *Document) calibrateScreen() *screen {
	c := d.Calibration
	s := &screen{care: new(findings), mood: good}
	s.first = c.sees()
	trustworthy, again := c.alarmed()
	s.trust = trustworthy
	s.next = Step{compareTwo, "contend compare http://localhost:8081/ http://localhost:8082/"}
	t, gate := c.visibleTable(), ""
	if c.Gate != nil {
		s.first, t, gate = c.gateDoes(), c.gateTable(), " --gate"
		s.next = Step{"gate a branch", "contend compare --revisions main,HEAD --build 'go build -trimpath -o {{out}} .' -- '{{out}}'"}
	}
	switch {
	case c.Alarms.Comparisons == 0:
		s.mood, s.next = doubted, c.advice()
	case again:
		s.mood, s.next = doubted, Step{"measure more comparisons of equal servers", fmt.Sprintf("contend calibrate -c %d --experiments %d%s", append(c.Design.Levels, 1)[0], tellingExperiments, gate)}
	}
	s.rows(t)
	if c.Gate != nil {
		s.aside("A gate fails a job if contend compare ends as SLOWER, after at most %s", plural(c.Gate.Rounds, "round"))
	}
	if len(c.Lengths) > 0 {
		s.aside("Blocks of %s vary least; contend compare will use them", unit.Duration(float64(c.Design.Block)))
	}
	for _, n := range d.Notes {
		s.aside("%s", n)
	}
	return s
}

// visibleTable has what is seen of each metric.
func (c *Calibration) visibleTable() table {
	t := table{columns: []string{"", "smallest detected", "finds equal servers EQUIVALENT"}}
	for _, v := range c.Visible {
		smallest := "none"
		if v.Smallest > 0 {
			smallest = unit.Percent(v.Smallest)
		}
		t.rows = append(t.rows, []string{v.Metric.Words(), smallest, c.equal(v)})
	}
	return t
}

// sees is the smallest difference of the primary metric that is detected.
func (c *Calibration) sees() string {
	const comparison = "A default comparison here"
	switch {
	case len(c.Visible) == 0:
		return "Nothing is known about what a comparison here can detect"
	case c.Visible[0].Smallest == 0:
		return fmt.Sprintf("%s detects no difference in %s", comparison, c.Visible[0].Metric.Words())
	}
	return fmt.Sprintf("%s detects differences in %s of %s and above", comparison, c.Visible[0].Metric.Words(), unit.Percent(c.Visible[0].Smallest))
}

// tooWide: an interval of the rate of false alarms that reaches so many times the expected
// rate does not show whether it is that rate. tellingExperiments have an interval that
// reaches less at 95% confidence, if none of them is a false alarm (17 would).
const (
	tooWide            = 4
	tellingExperiments = 40
)

// alarmed says how often a verdict about equal servers was wrong, and whether to measure that again.
func (c *Calibration) alarmed() (text string, again bool) {
	a := c.Alarms
	if a.Comparisons+a.Invalid == 0 {
		return "No result: no comparison of equal servers finished", false
	}
	if a.Comparisons == 0 {
		return fmt.Sprintf("INVALID: none of %s of equal servers was valid%s", plural(a.Invalid, "comparison"), c.refusals()), false
	}
	expected := 1 - c.Design.Confidence
	said := fmt.Sprintf("%d of %s of equal servers", a.Alarms, plural(a.Comparisons, "comparison"))
	percent := fmt.Sprintf("%s %s to %s", ci(expected), unit.Percent(a.Low), unit.Percent(a.High))
	rest := ""
	if a.Invalid > 0 {
		rest = fmt.Sprintf("; %d INVALID%s", a.Invalid, c.refusals())
	}
	switch {
	case a.Low > expected:
		return fmt.Sprintf("Do not use verdicts from this machine: %s gave a false alarm (%s); %s is expected%s", said, percent, unit.Percent(expected), rest), true
	case a.High > tooWide*expected:
		return fmt.Sprintf("Preliminary: %s gave a false alarm, too few to know the rate (%s)%s", said, percent, rest), true
	}
	return fmt.Sprintf("Valid: %s gave a false alarm (%s); about %s is expected%s", said, percent, unit.Percent(expected), rest), false
}

// equal reports whether two equal arms are found to be equal by a metric, and when.
func (c *Calibration) equal(v calibrate.Visible) string {
	margin := c.Design.MarginOf(v.Metric)
	within := "within ±" + unit.Percent(margin)
	rounds := v.RoundsToEqual(margin, c.Design.Confidence)
	if rounds == 0 {
		return fmt.Sprintf("%s: not within %s rounds", within, unit.Number(calibrate.MostRounds))
	}
	text := fmt.Sprintf("%s after about %s", within, plural(rounds, "round"))
	if takes := time.Duration(rounds) * c.RoundTakes(); takes > 0 {
		text = fmt.Sprintf("%s after about %s", within, roughly(takes))
	}
	if rounds > c.PlannedRounds {
		text += ", longer than a default one"
	}
	return text
}

// advice says what to do where all comparisons were refused.
func (c *Calibration) advice() Step {
	for _, found := range c.Comparisons {
		if found.Primary && found.Verdict == stat.Invalid && found.Reason != nil {
			return advise(finding.Advice(found.Reason.Code))
		}
	}
	return Step{"measure more comparisons of equal servers", "contend calibrate"}
}
