// Package report is the versioned document that every command produces, and
// its views. The document is the master: a view reads or computes every number
// from it.
package report

import (
	"strconv"
	"time"

	"contend/expect"
	"contend/failure"
	"contend/finding"
	"contend/internal/placement"
	"contend/load"
	"contend/metric"
	"contend/sweep"
	"contend/trial"
)

// Schema is the version of the document's form. It changes with every change
// that a reader of the old form would trip over.
const Schema = "contend/2"

// formerSchema is the version before, which can still be read: its results have a series instead
// of a course.
const formerSchema = "contend/1"

// A Document is what a command found out.
type Document struct {
	Schema  string `json:"schema"`
	Version string `json:"version"` // of contend
	Command string `json:"command"` // run, compare, sweep, lab, …
	// Asked is the command line without names of revisions, lengths and outputs: documents that were asked for alike
	// belong to one line of a history. "": not known.
	Asked       string       `json:"asked,omitempty"`
	Environment Environment  `json:"environment"`
	Experiments []Experiment `json:"experiments,omitempty"`
	// Failure is why a command without experiments could not measure to its end, and Failures the
	// same as values, from which pages are made.
	Failure  string            `json:"failure,omitempty"`
	Failures []failure.Failure `json:"failures,omitempty"`
	// Arms are the alternatives of a comparison as they were typed.
	Arms []Arm `json:"arms,omitempty"`
	// Builds say what the arms are that were built for it.
	Builds []Build `json:"builds,omitempty"`
	// Results has one entry per arm and level: the sum of all rounds.
	Results     []Result     `json:"results"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Curves      []Curve      `json:"curves,omitempty"`
	Searches    []Search     `json:"searches,omitempty"`
	// Calibration is what is known of the machine.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Bisection is what is known of the commits between two revisions.
	Bisection *Bisection `json:"bisection,omitempty"`
	// Expectations are claims about a run; those of experiments are in Experiments.
	Expectations []expect.Expectation `json:"expectations,omitempty"`
	// Notes are sentences that belong to all of it.
	Notes []string `json:"notes,omitempty"`
	// Settle is the command line that would settle what was not decided, or why nothing right came
	// and what to do; "": none is known.
	Settle string `json:"settle,omitempty"`
	// SettleFor is what that command line is for; "": it is advice.
	SettleFor string `json:"settle_for,omitempty"`
	// Found is the command line that names all that contend found out of servers; "": it was typed.
	Found string `json:"found,omitempty"`
	// Again is the command line that shows the document again; "": that which made it.
	Again string `json:"-"`
	// Has reports whether the command that the document is of has a flag, such as --rate or -c; nil: all.
	Has func(flag string) bool `json:"-"`
	// Next is the command line that goes on where this one ended; "": none is known.
	Next string `json:"next,omitempty"`
	// NextFor is what that command line is for.
	NextFor string `json:"next_for,omitempty"`
	// Counts are what was counted instead of timed.
	Counts []Counts `json:"counts,omitempty"`
	// Trials are the blocks and rounds that Results and Comparisons are computed from.
	Trials []Trials `json:"trials,omitempty"`
	// Apart are the rounds of two stored documents that were compared, and
	// Sources these documents.
	Apart   []Apart  `json:"apart,omitempty"`
	Sources []Source `json:"sources,omitempty"`
}

// An Arm is an alternative of a comparison.
type Arm struct {
	Name string `json:"name"`
	Does string `json:"does"` // its command or its URL
	// URL is where its command is asked, as typed; "": Does is a URL, or the document does not say.
	URL string `json:"url,omitempty"`
}

// A Build says what the program of an arm was built from.
type Build struct {
	Arm     string `json:"arm"` // the revision as it was asked for
	Commit  string `json:"commit"`
	Subject string `json:"subject"` // first line of the commit's message
	// Changed says that it was built from a checkout with changes over the commit.
	Changed bool   `json:"changed,omitempty"`
	Build   string `json:"build"` // the command
	// Toolchain is the version of Go that built it; "": another language, or not known.
	Toolchain string    `json:"toolchain,omitempty"`
	Built     time.Time `json:"built"`
	// Kept says that it was built for an earlier comparison.
	Kept bool `json:"kept,omitempty"`
}

// A Place says to which part and experiment an entry belongs; both are empty
// for commands that run no experiment file.
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
	// Uplink is set for a run of uplinks.
	Uplink *Uplink `json:"uplink,omitempty"`
}

// A Comparison is a verdict.
type Comparison struct {
	Place
	trial.Comparison
}

// A Curve is a sweep.
type Curve struct {
	Place
	sweep.Curve
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
	CPUs
	Go string `json:"go"`
}

// CPUs are those that the load generator and the servers that it started were held to, as
// in 0,2-3; "": to none.
type CPUs struct {
	GeneratorCPUs string `json:"generator_cpu_list,omitempty"`
	ServerCPUs    string `json:"server_cpu_list,omitempty"`
	// SharedBecause is why they were held to none although nobody asked for that.
	SharedBecause string `json:"cpus_shared_because,omitempty"`
}

// PlacedOn returns the CPUs of a layout.
func PlacedOn(l placement.Layout) CPUs {
	return CPUs{placement.Format(l.Generator), placement.Format(l.Servers), l.Because}
}

// layout returns them as placement has them.
func (c CPUs) layout() placement.Layout {
	return placement.Layout{Generator: placement.Parse(c.GeneratorCPUs), Servers: placement.Parse(c.ServerCPUs), Because: c.SharedBecause}
}

// placed goes on after a sentence with where both sides ran, where that was chosen.
func (c CPUs) placed() string {
	if l := c.layout(); l.Apart() || l.Because != "" {
		return "; " + l.String()
	}
	return ""
}

// like is how the CPUs are divided: which ones these are does not matter.
func (c CPUs) like() (generator, servers, placed string) {
	l := c.layout()
	if placed = "shared"; l.Apart() {
		placed = "apart"
	}
	return howMany(l.Generator), howMany(l.Servers), placed
}

func howMany(cpus []int) string {
	if len(cpus) == 0 {
		return "all"
	}
	return strconv.Itoa(len(cpus))
}

// An Experiment is the part of the document that belongs to one experiment
// file.
type Experiment struct {
	ID string `json:"id"`
	// File is where it was read from, as typed; "": it is embedded.
	File         string               `json:"file,omitempty"`
	Title        string               `json:"title"`
	Question     string               `json:"question,omitempty"`
	Source       string               `json:"source,omitempty"`
	Answer       Answer               `json:"answer,omitzero"`
	Status       string               `json:"status"` // done, planned, failed or interrupted
	Profile      string               `json:"profile,omitempty"`
	Elapsed      time.Duration        `json:"elapsed_ns,omitempty"`
	Parts        []Part               `json:"parts,omitempty"`
	Published    []Published          `json:"published,omitempty"`
	Analyses     []Analysis           `json:"analyses,omitempty"`
	Expectations []expect.Expectation `json:"expectations,omitempty"`
	// Error says why Status is failed, and Failures the same as values.
	Error    string            `json:"error,omitempty"`
	Failures []failure.Failure `json:"failures,omitempty"`
	Warnings []finding.Warning `json:"warnings,omitempty"`
}

// Fail notes why the experiment could not be measured to its end.
func (e *Experiment) Fail(err error) {
	e.Status, e.Error, e.Failures = "failed", err.Error(), failure.All(err)
}

func (e Experiment) interrupted() bool { return e.Status == "interrupted" }

// An Answer is what was published to the question, and which of our figures
// answers it, as in experiment files.
type Answer struct {
	// Published is theirs in a few words, and Caveat, in a sentence, what is to be known of it.
	Published string `json:"published,omitempty" yaml:"published"`
	Caveat    string `json:"caveat,omitempty" yaml:"caveat"`
	// Parts are those whose verdicts or sweeps answer the question; empty: all, or where there
	// are Figures none, as these do.
	Parts   []string       `json:"parts,omitempty" yaml:"parts"`
	Figures []AnswerFigure `json:"figures,omitempty" yaml:"figures"`
}

// An AnswerFigure is a metric of an arm that answers a question.
type AnswerFigure struct {
	Part   string      `json:"part,omitempty" yaml:"part"`
	Arm    string      `json:"arm" yaml:"arm"`
	Metric metric.Name `json:"metric" yaml:"metric"`
}

// A Part is one set of arms under one load.
type Part struct {
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
	CPUs
}

// Published is a table of somebody else's figures next to ours.
type Published struct {
	Part        string `json:"part,omitempty"`
	Title       string `json:"title"`
	Environment string `json:"environment"`
	// Notes say what may and may not be compared, by metric; "" is for all.
	Notes []Note            `json:"notes,omitempty"`
	Rows  []PublishedFigure `json:"figures"`
}

// A Note says whether a published metric can be compared with ours.
type Note struct {
	Metric     metric.Name `json:"metric,omitempty"`
	Comparable bool        `json:"comparable"`
	Because    string      `json:"because"`
}

// A PublishedFigure is one figure of theirs and, where we measured it, ours.
type PublishedFigure struct {
	Arm         string      `json:"arm"`
	Concurrency int         `json:"concurrency,omitempty"`
	Metric      metric.Name `json:"metric"`
	Theirs      float64     `json:"theirs"`
	Ours        *float64    `json:"ours,omitempty"`
	Ratio       *float64    `json:"ratio,omitempty"` // ours ÷ theirs
}

// An Analysis is a reading of figures in words, with the table that supports it.
type Analysis struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Answer is what follows from all of it, in a sentence; "": none is asked for.
	Answer   string     `json:"answer,omitempty"`
	Columns  []string   `json:"columns,omitempty"`
	Rows     [][]string `json:"rows,omitempty"`
	Sentence []string   `json:"sentences"`
}

// Fail notes why a command without experiments could not measure to its end.
func (d *Document) Fail(err error) { d.Failure, d.Failures = err.Error(), failure.All(err) }

// Add takes the figures of trials into the document.
func (d *Document) Add(at Place, t *trial.Trials) {
	d.Trials = append(d.Trials, Trials{at, *t})
	d.addDerived(at, t.Results, t.Comparisons)
}

func (d *Document) addDerived(at Place, cells []trial.Cell, comparisons []trial.Comparison) {
	d.addCells(at, cells)
	for _, c := range comparisons {
		d.Comparisons = append(d.Comparisons, Comparison{at, c})
	}
}

// AddCurve takes the figures of a sweep into the document.
func (d *Document) AddCurve(at Place, c *sweep.Curve) {
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
	c.Derive()
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
