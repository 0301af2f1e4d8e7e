package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"contend/expect"
	"contend/report/plain"
	"contend/search"
	"contend/stat"
)

// JUnit writes a test case for each experiment, expectation, verdict and searched rate, in the form of
// JUnit that CI systems read (testdata/junit.xsd). A case fails if it makes the command exit with code 3.
// It errs if what was asked for is INVALID or could not be measured. It is skipped if it is not decided, or
// worse in a way that fails no command: metrics after the first, and findings of the lab.
func (d *Document) JUnit(w io.Writer) error {
	suite := junitSuite{Name: "contend " + plain.Line(d.Command), Cases: d.junitCases(),
		Properties: []junitProperty{{"measured", plain.Line(d.Environment.sentence(d.Version))}}}
	if started := d.Environment.Started; !started.IsZero() {
		suite.Timestamp = started.UTC().Format("2006-01-02T15:04:05")
	}
	for _, c := range suite.Cases {
		suite.Tests++
		suite.Failures += min(1, len(c.Failure))
		suite.Errors += min(1, len(c.Error))
		suite.Skipped += min(1, len(c.Skipped))
	}
	data, err := xml.MarshalIndent(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Suites: []junitSuite{suite}}, "", " ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// A junitCase passes unless it is skipped, errs or fails; Out says what was found.
type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Skipped []junitReason `xml:"skipped"`
	Error   []junitReason `xml:"error"`
	Failure []junitReason `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitReason struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// An ending is how a case can end.
type ending int

const (
	passes ending = iota
	skips
	errs
	fails
)

// junitCase makes the case of something at a place: kind and message say what became of it, in a word
// and in a sentence, and details all that is known.
func (d *Document) junitCase(at Place, name string, end ending, kind, message string, details ...string) junitCase {
	class := cmp.Or(strings.Trim(at.Experiment+"/"+at.Part, "/"), d.Command)
	var text strings.Builder
	for _, line := range details {
		if line != "" {
			text.WriteString(plain.Line(line) + "\n")
		}
	}
	c := junitCase{Class: plain.Line(class), Name: plain.Line(name)}
	reason := []junitReason{{kind, plain.Line(message), text.String()}}
	switch end {
	case skips:
		c.Skipped = reason
	case errs:
		c.Error = reason
	case fails:
		c.Failure = reason
	default:
		c.Out = text.String()
	}
	return c
}

func (d *Document) junitCases() []junitCase {
	var cases []junitCase
	if len(d.Experiments) == 0 {
		cases = append(cases, d.junitMeasured(Experiment{Error: d.Failure}))
	}
	for _, e := range d.Experiments {
		cases = append(cases, d.junitMeasured(e))
		for _, x := range e.Expectations {
			cases = append(cases, d.junitExpected(Place{e.ID, x.Part}, x))
		}
	}
	for _, x := range d.Expectations {
		cases = append(cases, d.junitExpected(Place{}, x))
	}
	for _, c := range d.Comparisons {
		cases = append(cases, d.junitCompared(c))
	}
	for _, c := range d.counted() {
		cases = append(cases, d.junitCounted(c))
	}
	for _, s := range d.Searches {
		cases = append(cases, d.junitSearched(s))
	}
	return cases
}

// junitMeasured is the case of an experiment, or of a document without experiments: that it was
// measured to its end and, if no verdict says so, that its figures are valid.
func (d *Document) junitMeasured(e Experiment) junitCase {
	at, name := Place{Experiment: e.ID}, "measured"
	if e.Status == "planned" {
		return d.junitCase(at, name, skips, e.Status, "this experiment cannot be run yet")
	}
	if e.Error != "" || e.interrupted() {
		return d.junitCase(at, name, errs, cmp.Or(e.Status, "failed"), cmp.Or(e.Error, e.Status), e.Error)
	}
	var refused, codes []string
	for _, r := range d.Refused() {
		judged := slices.ContainsFunc(d.Comparisons, func(c Comparison) bool { return c.Place == r.Place }) ||
			slices.ContainsFunc(d.Searches, func(s Search) bool { return s.Place == r.Place })
		if r.Experiment == e.ID && !judged {
			refused, codes = append(refused, r.Text), append(codes, r.Codes...)
		}
	}
	if len(refused) > 0 {
		slices.Sort(codes)
		return d.junitCase(at, name, errs, string(stat.Invalid), refused[0], append(refused, d.advice(slices.Compact(codes))...)...)
	}
	return d.junitCase(at, name, passes, "", "")
}

func (d *Document) junitExpected(at Place, x expect.Expectation) junitCase {
	if x.Held {
		return d.junitCase(at, x.Text, passes, "", "", outcome(x))
	}
	if x.Excuse != nil {
		return d.junitCase(at, x.Text, errs, string(stat.Invalid), x.Excuse.Text, outcome(x))
	}
	return d.junitCase(at, x.Text, fails, "expectation", x.Detail, outcome(x))
}

func (d *Document) junitCompared(c Comparison) junitCase {
	name := fmt.Sprintf("%s of %s against %s %s", c.Metric.Words(), c.Candidate, c.Baseline, atConcurrency(c.Concurrency))
	end := passes
	switch {
	case c.Verdict == stat.Invalid && c.Primary:
		end = errs
	case c.Verdict.Worse() && c.Primary && d.Command != "lab":
		end = fails
	case c.Verdict == stat.Invalid || c.Verdict == stat.Inconclusive || c.Verdict.Worse():
		end = skips
	}
	details := []string{sentence(c.Comparison), trust(c.Comparison, at(c.Comparison), 0)}
	for _, w := range c.Warnings {
		details = append(details, w.Code+": "+w.String())
	}
	if c.Reason != nil {
		details = append(details, d.advice([]string{c.Reason.Code})...)
	}
	return d.junitCase(c.Place, name, end, string(c.Verdict), sentence(c.Comparison), details...)
}

// rateEndings are those of searched rates.
var rateEndings = map[search.Verdict]ending{search.RateMissed: fails, search.RateInvalid: errs, search.RateUnsettled: skips}

func (d *Document) junitSearched(s Search) junitCase {
	name := strings.Join(append([]string{"highest rate of " + cmp.Or(s.Arm, "the target")}, s.Design.Objectives...), ", ")
	end := rateEndings[s.Verdict]
	first, trust, _ := saidRate(s.Result)
	said := first + ": " + trust
	details := []string{said}
	if s.Reason != nil && end != passes {
		details = append(details, d.advice([]string{s.Reason.Code})...)
	}
	return d.junitCase(s.Place, name, end, string(s.Verdict), said, details...)
}
