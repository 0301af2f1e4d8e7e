// Package report is the versioned document that every command produces, and
// its views. The document is the master: a view holds no figure that it could
// not have read or computed from there.
package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"contend/load"
	"contend/stat"
	"contend/trial"
)

// Schema is the version of the document's form. It changes with every change
// that a reader of the old form would trip over.
const Schema = "contend/1"

// A Document is what a command found out.
type Document struct {
	Schema      string       `json:"schema"`
	Version     string       `json:"version"` // of contend
	Command     string       `json:"command"` // run, compare, sweep, lab, …
	Environment Environment  `json:"environment"`
	Experiments []Experiment `json:"experiments,omitempty"`
	// Results has one entry per arm and level: the sum of all rounds.
	Results     []Result     `json:"results"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Curves      []Curve      `json:"curves,omitempty"`
	// Notes are sentences that belong to all of it.
	Notes []string `json:"notes,omitempty"`
	// Trials are the blocks and rounds behind Results and Comparisons.
	Trials []Trials `json:"trials,omitempty"`
}

// A Place says which part of which experiment an entry belongs to; both are
// empty for commands that run no experiment file.
type Place struct {
	Experiment string `json:"experiment,omitempty"`
	Part       string `json:"part,omitempty"`
}

// A Result is what one arm showed at one level of concurrency.
type Result struct {
	Place
	trial.Cell
	// InProcess is set for a guard that was driven in this process.
	InProcess *InProcess `json:"in_process,omitempty"`
}

// A Comparison is a verdict.
type Comparison struct {
	Place
	trial.Comparison
}

// A Curve is a sweep.
type Curve struct {
	Place
	trial.Curve
}

// Trials are the data of interleaved comparisons.
type Trials struct {
	Place
	trial.Trials
}

// Environment is where and when the figures were measured. It is handed in:
// no view reads it from the machine that renders.
type Environment struct {
	Started    time.Time `json:"started"`
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	Kernel     string    `json:"kernel,omitempty"`
	CPU        string    `json:"cpu,omitempty"`
	Cores      int       `json:"cores"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	// CPULimit is the limit of the control group in cores; 0: none.
	CPULimit float64 `json:"cpu_limit,omitempty"`
	Go       string  `json:"go"`
}

// An Experiment is the part of the document that belongs to one experiment
// file.
type Experiment struct {
	ID           string              `json:"id"`
	Title        string              `json:"title"`
	Question     string              `json:"question,omitempty"`
	Source       string              `json:"source,omitempty"`
	Status       string              `json:"status"` // done, planned, failed or interrupted
	Profile      string              `json:"profile,omitempty"`
	Elapsed      time.Duration       `json:"elapsed_ns,omitempty"`
	Parts        []Part              `json:"parts,omitempty"`
	Published    []Published         `json:"published,omitempty"`
	Analyses     []Analysis          `json:"analyses,omitempty"`
	Expectations []trial.Expectation `json:"expectations,omitempty"`
	// Error says why Status is failed.
	Error    string         `json:"error,omitempty"`
	Warnings []stat.Warning `json:"warnings,omitempty"`
}

// A Part is one set of arms under one load.
type Part struct {
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
}

// Published is a table of somebody else's figures, with ours beside them.
type Published struct {
	Part        string `json:"part,omitempty"`
	Title       string `json:"title"`
	Environment string `json:"environment"`
	// Notes say what may and may not be compared, by metric; "" is for all.
	Notes []Note            `json:"notes,omitempty"`
	Rows  []PublishedFigure `json:"figures"`
}

// A Note says whether a metric of theirs may be set beside ours.
type Note struct {
	Metric     trial.Metric `json:"metric,omitempty"`
	Comparable bool         `json:"comparable"`
	Because    string       `json:"because"`
}

// A PublishedFigure is one figure of theirs and, where we measured it, ours.
type PublishedFigure struct {
	Arm         string       `json:"arm"`
	Concurrency int          `json:"concurrency,omitempty"`
	Metric      trial.Metric `json:"metric"`
	Theirs      float64      `json:"theirs"`
	Ours        *float64     `json:"ours,omitempty"`
	Ratio       *float64     `json:"ratio,omitempty"` // ours ÷ theirs
}

// An Analysis is a reading of figures in words, with the table behind it.
type Analysis struct {
	Name     string     `json:"name"`
	Title    string     `json:"title"`
	Columns  []string   `json:"columns,omitempty"`
	Rows     [][]string `json:"rows,omitempty"`
	Sentence []string   `json:"sentences"`
}

// Add takes the figures of trials into the document.
func (d *Document) Add(at Place, t *trial.Trials) {
	d.Trials = append(d.Trials, Trials{at, *t})
	d.addDerived(at, t)
}

func (d *Document) addDerived(at Place, t *trial.Trials) {
	d.addCells(at, t.Results)
	for _, c := range t.Comparisons {
		d.Comparisons = append(d.Comparisons, Comparison{at, c})
	}
}

// AddCurve takes the figures of a sweep into the document.
func (d *Document) AddCurve(at Place, c *trial.Curve) {
	d.Curves = append(d.Curves, Curve{at, *c})
	d.addCells(at, c.Results)
}

func (d *Document) addCells(at Place, cells []trial.Cell) {
	for _, c := range cells {
		d.Results = append(d.Results, Result{Place: at, Cell: c})
	}
}

// AddRun takes the result of a single run into the document.
func (d *Document) AddRun(r *load.Result) {
	d.AddCell(trial.Cell{Result: r})
}

// AddCell takes a result into the document that belongs to no trials.
func (d *Document) AddCell(c trial.Cell) {
	d.Results = append(d.Results, Result{Cell: c})
}

// Cells returns the results of a part.
func (d *Document) Cells(at Place) []trial.Cell {
	var cells []trial.Cell
	for _, r := range d.Results {
		if r.Place == at {
			cells = append(cells, r.Cell)
		}
	}
	return cells
}

// Derive computes every figure that follows from others: results and
// comparisons from their trials, fits from their points, ours beside theirs.
func (d *Document) Derive() {
	derived := map[Place]bool{}
	for _, t := range d.Trials {
		derived[t.Place] = true
	}
	for _, c := range d.Curves {
		derived[c.Place] = true
	}
	kept := d.Results
	d.Results, d.Comparisons = nil, nil
	for _, r := range kept {
		if !derived[r.Place] {
			r.Cell.Derive()
			d.Results = append(d.Results, r)
		}
	}
	for i := range d.Trials {
		t := &d.Trials[i]
		t.Derive()
		d.addDerived(t.Place, &t.Trials)
	}
	for i := range d.Curves {
		c := &d.Curves[i]
		c.Derive()
		d.addCells(c.Place, c.Results)
	}
	for i := range d.Experiments {
		d.Experiments[i].derive(d)
	}
}

func (e *Experiment) derive(d *Document) {
	for i := range e.Published {
		p := &e.Published[i]
		cells := d.Cells(Place{e.ID, p.Part})
		for j := range p.Rows {
			p.Rows[j].derive(cells)
		}
	}
	for i := range e.Expectations {
		x := &e.Expectations[i]
		x.Check(d.Cells(Place{e.ID, x.Part}))
	}
}

func (f *PublishedFigure) derive(cells []trial.Cell) {
	f.Ours, f.Ratio = nil, nil
	for _, c := range cells {
		if c.Arm != f.Arm || f.Concurrency != 0 && c.Concurrency != f.Concurrency {
			continue
		}
		if ours, ok := f.Metric.Of(c); ok {
			f.Ours = &ours
			if f.Theirs != 0 {
				ratio := ours / f.Theirs
				f.Ratio = &ratio
			}
		}
	}
}

// Write writes the document as indented JSON.
func (d *Document) Write(w io.Writer) error {
	data, err := json.MarshalIndent(d, "", " ")
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}

// Read reads a document of this schema, recomputes every derived figure, and
// returns an error that names each stored figure that differs.
func Read(r io.Reader) (*Document, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("report: not a document: %w", err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("report: schema is %q, this version reads %q", head.Schema, Schema)
	}
	d := new(Document)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := d.complete(); err != nil {
		return nil, err
	}
	d.Derive()
	return d, d.differs(data)
}

// complete refuses entries without the data that the views and Derive rest on.
func (d *Document) complete() error {
	var errs []error
	check := func(where string, i int, c trial.Cell) {
		if c.Result == nil || c.Response == nil || c.Service == nil || c.StartLag == nil {
			errs = append(errs, fmt.Errorf("report: %s[%d] lacks response_ns, service_ns or start_lag_ns", where, i))
		}
	}
	for i, r := range d.Results {
		check("results", i, r.Cell)
		if r.InProcess != nil && r.InProcess.Latency == nil {
			errs = append(errs, fmt.Errorf("report: results[%d].in_process lacks latency_ns", i))
		}
	}
	for i, c := range d.Curves {
		for j, v := range c.Visits {
			check(fmt.Sprintf("curves[%d].visits", i), j, v)
		}
	}
	for i, t := range d.Trials {
		for j, c := range t.Rounds {
			check(fmt.Sprintf("trials[%d].rounds", i), j, c)
		}
	}
	return errors.Join(errs...)
}

// differs compares the document with its stored form, path by path.
func (d *Document) differs(stored []byte) error {
	recomputed, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var was, is any
	for _, side := range []struct {
		data []byte
		into *any
	}{{stored, &was}, {recomputed, &is}} {
		dec := json.NewDecoder(bytes.NewReader(side.data))
		dec.UseNumber()
		if err := dec.Decode(side.into); err != nil {
			return err
		}
	}
	return errors.Join(diff("", was, is)...)
}

func diff(path string, was, is any) []error {
	switch w := was.(type) {
	case map[string]any:
		if i, ok := is.(map[string]any); ok {
			return diffObject(path, w, i)
		}
	case []any:
		if i, ok := is.([]any); ok && len(i) == len(w) {
			var errs []error
			for n := range w {
				errs = append(errs, diff(fmt.Sprintf("%s[%d]", path, n), w[n], i[n])...)
			}
			return errs
		}
	case json.Number:
		if i, ok := is.(json.Number); ok && sameNumber(w, i) {
			return nil
		}
	default:
		if reflect.DeepEqual(was, is) {
			return nil
		}
	}
	return []error{fmt.Errorf("%s is stored as %s, recomputed it is %s", path, brief(was), brief(is))}
}

func diffObject(path string, was, is map[string]any) []error {
	var errs []error
	for key, w := range was {
		if i, ok := is[key]; ok {
			errs = append(errs, diff(path+"."+key, w, i)...)
		} else {
			errs = append(errs, fmt.Errorf("%s.%s is stored as %s, but nothing of that name is computed", path, key, brief(w)))
		}
	}
	for key, i := range is {
		if _, ok := was[key]; !ok {
			errs = append(errs, fmt.Errorf("%s.%s is missing, recomputed it is %s", path, key, brief(i)))
		}
	}
	return errs
}

// sameNumber allows for the last digits of a sum in another order.
func sameNumber(a, b json.Number) bool {
	x, err1 := a.Float64()
	y, err2 := b.Float64()
	diff := x - y
	return err1 == nil && err2 == nil && (diff == 0 || max(diff, -diff) <= 1e-9*max(x, -x, y, -y))
}

func brief(v any) string {
	text := fmt.Sprint(v)
	if len(text) > 60 {
		text = text[:57] + "..."
	}
	return text
}
