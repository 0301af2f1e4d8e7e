package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"contend/failure"
	"contend/internal/unit"
	"contend/load"
	"contend/report/former"
	"contend/report/plain"
	"contend/search"
	"contend/trial"
	"contend/why"
)

// What a document may hold. The limits are far beyond what any command writes;
// they bound what a damaged or hostile file can cost.
const (
	maxBytes      = 64 << 20
	maxHistograms = 10_000 // 270 kB each once decoded, however short their text
	maxWork       = 1e9    // comparisons of two values in recomputing one part
)

// Write writes the document as indented JSON, in which all that does not print is escaped: it may be
// a server's, and a terminal's to read.
func (d *Document) Write(w io.Writer) error {
	doc := *d
	if doc.Results == nil {
		doc.Results = []Result{}
	}
	data, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(printableJSON(data), '\n'))
	return err
}

// printableJSON escapes what does not print and json.Marshal leaves, which is beyond ASCII and in texts.
func printableJSON(data []byte) []byte {
	hidden := func(r rune) bool { return r > unicode.MaxASCII && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	var b []byte
	for _, r := range string(data) {
		if !hidden(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}

// Read reads a document of this schema or the one before and recomputes every derived figure. A
// document that is complete but does not agree with itself is returned with an
// error that names each stored figure that differs; any other error comes
// without a document.
func Read(r io.Reader) (*Document, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("longer than %s", unit.Bytes(maxBytes))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // of an editor
	if err := checkHead(data); err != nil {
		return nil, err
	}
	d := new(Document)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, err
	}
	if err := d.complete(); err != nil {
		return nil, err
	}
	d.Derive()
	err = d.differs(data)
	d.readFailures()
	d.NextFor = cmp.Or(d.NextFor, former.Purpose(d.Next))
	d.SettleFor = cmp.Or(d.SettleFor, former.Purpose(d.Settle))
	return d, err
}

// readFailures adds values where the document has failures as texts alone.
func (d *Document) readFailures() {
	var arms []string
	for _, a := range d.Arms {
		arms = append(arms, a.Name)
	}
	fill := func(list *[]failure.Failure, text string) {
		if text != "" && len(*list) == 0 {
			*list = former.Failures(text, arms)
		}
	}
	fill(&d.Failures, d.Failure)
	for i := range d.Experiments {
		fill(&d.Experiments[i].Failures, d.Experiments[i].Error)
	}
	for i := range d.Trials {
		if of := d.Trials[i].Why; of != nil {
			fill(&of.Failures, of.Failed)
		}
	}
}

// checkHead refuses text that is not a document of these schemas before it is decoded.
func checkHead(data []byte) error {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("not a result file, as written by -o FILE of run, sweep, compare or lab: %w", err)
	}
	if head.Schema != Schema && head.Schema != formerSchema {
		return fmt.Errorf("schema is %q, this version reads %q and %q", head.Schema, formerSchema, Schema)
	}
	if n := histograms(data); n > maxHistograms {
		return fmt.Errorf("%d histograms, at most %d are allowed", n, maxHistograms)
	}
	return nil
}

// histograms counts the objects in valid JSON whose key ends in _ns.
func histograms(data []byte) int {
	n, key := 0, ""
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.Token()
		if err != nil {
			return n
		}
		if token == json.Delim('{') && endsInNS(key) {
			n++
		}
		key, _ = token.(string)
	}
}

// endsInNS folds case, as decoding does.
func endsInNS(key string) bool {
	runes := []rune(key)
	return len(runes) >= 3 && strings.EqualFold(string(runes[len(runes)-3:]), "_ns")
}

// problems are mistakes of a document; only the first few are kept.
type problems struct {
	list []error
	more int
}

const (
	maxProblems    = 20
	longestProblem = 500 // bytes
)

func (p *problems) add(path, format string, args ...any) {
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	text := path + " " + fmt.Sprintf(format, args...)
	p.list = append(p.list, errors.New(plain.Line(text[:min(len(text), longestProblem)])))
}

func (p *problems) err() error {
	if p.more > 0 {
		return errors.Join(append(p.list, fmt.Errorf("and %d more", p.more))...)
	}
	return errors.Join(p.list...)
}

// complete refuses what the views and Derive could not work with.
func (d *Document) complete() error {
	p := new(problems)
	for i, r := range d.Results {
		path := fmt.Sprintf("results[%d]", i)
		p.cell(path, r.Cell)
		if r.InProcess != nil && r.InProcess.Latency == nil {
			p.add(path+".in_process", "lacks latency_ns")
		}
	}
	for i, c := range d.Curves {
		path := fmt.Sprintf("curves[%d]", i)
		if err := c.Design.Validate(); err != nil {
			p.add(path, "has an impossible design: %v", err)
		}
		p.cells(path+".explored", c.Explored)
		p.cells(path+".visits", c.Visits)
	}
	for i, s := range d.Searches {
		p.search(fmt.Sprintf("searches[%d]", i), s.Result)
	}
	for i, t := range d.Trials {
		p.trials(fmt.Sprintf("trials[%d]", i), t.Trials)
	}
	if d.Bisection != nil {
		if err := d.Bisection.Validate(); err != nil {
			p.add("bisection", "is impossible: %v", err)
		}
	}
	if n := len(d.Sources); n != 0 && n != 2 {
		p.add("sources", "has %d entries; expected 0, 2", n)
	}
	for i, a := range d.Apart {
		p.apart(fmt.Sprintf("apart[%d]", i), &a.Apart)
	}
	p.expectations("expectations", len(d.Expectations), len(d.Results))
	for i, e := range d.Experiments {
		p.experiment(fmt.Sprintf("experiments[%d]", i), e, len(d.Results))
	}
	return p.err()
}

func (p *problems) search(path string, s search.Result) {
	if err := s.Design.Validate(); err != nil {
		p.add(path, "has an impossible design: %v", err)
	}
	if s.Alone != nil {
		p.cell(path+".alone", *s.Alone)
	} else if len(s.Attempts) > 0 {
		p.add(path, "lacks alone")
	}
	for i, a := range s.Attempts {
		p.cell(fmt.Sprintf("%s.attempts[%d]", path, i), a.Cell)
		if !(a.RatePerSec > 0) {
			p.add(fmt.Sprintf("%s.attempts[%d].rate_per_s", path, i), "is %v; expected more than 0", a.RatePerSec)
		}
	}
}

func (p *problems) trials(path string, t trial.Trials) {
	if err := t.Design.Validate(); err != nil {
		p.add(path, "has an impossible design: %v", err)
	}
	if len(t.Arms) == 0 { // one alone is a job that was repeated
		p.add(path+".arms", "are 0, at least 1 is needed")
	}
	seen := map[string]bool{}
	for _, arm := range t.Arms {
		if seen[arm] {
			p.add(path+".arms", "name %q twice", arm)
		}
		seen[arm] = true
	}
	if t.Why != nil {
		p.calls(path+".why.calls", t.Why.Calls, len(t.Arms))
	}
	p.cells(path+".rounds", t.Rounds)
	work := float64(len(t.Design.Levels)) * float64(len(t.Arms)) * float64(len(t.Design.Metrics)) *
		float64(len(t.Blocks)+len(t.Rounds))
	if work > maxWork {
		p.add(path, "has too many levels, variants and blocks to be recomputed")
	}
	for i, o := range t.ChangedOver {
		switch path := fmt.Sprintf("%s.changed_over[%d].trials", path, i); {
		case o.Trials == nil:
			p.add(path, "are missing")
		case len(o.Trials.ChangedOver) > 0:
			p.add(path, "change over themselves")
		default:
			p.trials(path, *o.Trials)
		}
	}
}

// calls are in the order of a tree, with a time for each arm.
func (p *problems) calls(path string, list []why.Call, arms int) {
	deepest := -1
	for i, c := range list {
		path := fmt.Sprintf("%s[%d]", path, i)
		if c.Depth < min(i, 1) || c.Depth > deepest+1 {
			p.add(path+".depth", "is %d; expected %d to %d", c.Depth, min(i, 1), deepest+1)
			return
		}
		deepest = c.Depth
		if len(c.PerOp) != arms || slices.ContainsFunc(c.PerOp, func(ns float64) bool { return ns < 0 }) {
			p.add(path+".cpu_ns_per_op", "are %v; expected 0 or more, %d of them", c.PerOp[:min(len(c.PerOp), 5)], arms)
			return
		}
	}
}

func (p *problems) apart(path string, a *trial.Apart) {
	if err := a.Validate(); err != nil {
		p.add(path, "cannot be compared: %v", err)
	}
	p.cells(path+".baseline.rounds", a.Baseline.Rounds)
	p.cells(path+".candidate.rounds", a.Candidate.Rounds)
	rounds := float64(len(a.Baseline.Rounds) + len(a.Candidate.Rounds))
	if rounds*rounds*float64(len(a.Metrics)) > maxWork {
		p.add(path, "has too many rounds to be recomputed")
	}
}

func (p *problems) cells(path string, cells []trial.Cell) {
	for i, c := range cells {
		p.cell(fmt.Sprintf("%s[%d]", path, i), c)
	}
}

func (p *problems) cell(path string, c trial.Cell) {
	if c.Result == nil || c.Response == nil || c.Service == nil || c.StartLag == nil {
		p.add(path, "lacks response_ns, service_ns or start_lag_ns")
		return
	}
	if c.Concurrency < 1 {
		p.add(path+".concurrency", "is %d; expected 1 or more", c.Concurrency)
	}
	if models := []load.Model{load.ClosedModel, load.OpenModel, load.MixedModel}; !slices.Contains(models, c.Model) {
		p.add(path+".model", "is %q; expected %v", c.Model, models)
	}
	if c.Course != nil {
		if err := c.Course.Validate(); err != nil {
			p.add(path+".course", "has %v", err)
		}
	}
	if a := c.Answers; a != nil {
		for i, k := range a.Kinds {
			p.positive(fmt.Sprintf("%s.answers.kinds[%d]", path, i), k.Count)
		}
		for i, b := range a.Bodies {
			p.positive(fmt.Sprintf("%s.answers.bodies[%d]", path, i), b.Count)
		}
	}
	for _, h := range []struct {
		key   string
		count int64
	}{{"response_ns", c.Response.Count()}, {"service_ns", c.Service.Count()}, {"start_lag_ns", c.StartLag.Count()}} {
		if h.count != c.Completed {
			p.add(path+"."+h.key+".count", "is %d, but completed is %d", h.count, c.Completed)
		}
	}
}

func (p *problems) positive(path string, count int64) {
	if count < 1 {
		p.add(path+".count", "is %d; expected 1 or more", count)
	}
}

func (p *problems) expectations(path string, n, results int) {
	if float64(n)*float64(results)*float64(results) > maxWork {
		p.add(path, "are too many to be recomputed")
	}
}

func (p *problems) experiment(path string, e Experiment, results int) {
	figures := 0
	for _, t := range e.Published {
		figures += len(t.Rows)
	}
	if float64(figures)*float64(results) > maxWork {
		p.add(path, "has too many published figures to be recomputed")
	}
	p.expectations(path+".expectations", len(e.Expectations), results)
	for i, a := range e.Analyses {
		for j, row := range a.Rows {
			if len(row) != len(a.Columns) {
				p.add(fmt.Sprintf("%s.analyses[%d].rows[%d]", path, i, j), "has %d values for %d columns", len(row), len(a.Columns))
			}
		}
	}
}
