// Package experiment reads and runs experiment files: subjects, a target, a
// load, a design and expectations. The published experiments are embedded
// files in this form; nothing in the code knows them by name.
package experiment

import (
	"time"

	"contend/metric"
	"contend/protocol"
)

// A File describes one experiment. docs/experiment-file.md explains each field
// with an example.
type File struct {
	// ID selects the experiment: lower-case letters, digits and hyphens.
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Question is what the experiment answers, in one sentence.
	Question string `yaml:"question,omitempty"`
	// Source names the publication that the experiment reruns or goes on from.
	Source string `yaml:"source,omitempty"`
	// Status is empty, or planned: then the experiment is listed and not run.
	Status   string             `yaml:"status,omitempty"`
	Subjects map[string]Subject `yaml:"subjects,omitempty"`
	// The Setup at the top level holds the defaults of all parts; a file without
	// parts has one, made of them.
	Setup     `yaml:",inline"`
	Parts     []Part      `yaml:"parts,omitempty"`
	Published []Published `yaml:"published,omitempty"`
	// Analyses are named as in docs/experiment-file.md, and follow the load.
	Analyses []string `yaml:"analyses,omitempty"`
}

// Planned is the Status of an experiment that cannot be run yet.
const Planned = "planned"

// A Subject is a system under test. Exactly one of Command, Serve and URL is set.
type Subject struct {
	// Command is anybody's program with its arguments, split at spaces; quotes
	// group. {{addr}} is replaced by a free local address.
	Command string `yaml:"command,omitempty"`
	// Serve holds the arguments of `contend serve`.
	Serve string `yaml:"serve,omitempty"`
	// URL is the host:port of a server that already runs; it is not started,
	// sampled or stopped.
	URL   string   `yaml:"url,omitempty"`
	Ready Ready    `yaml:"ready,omitempty"`
	Env   []string `yaml:"env,omitempty"` // KEY=VALUE
	Dir   string   `yaml:"dir,omitempty"`
	// Files holds texts by local path; they are written to a fresh folder, {{dir}}.
	// {{text SIZE}} in them is that much generated text, as in {{text 130kB}}.
	Files map[string]string `yaml:"files,omitempty"`
	// Requires names a program: where it is not installed, the subject's arms are
	// left out with a warning.
	Requires string `yaml:"requires,omitempty"`
	// OS names an operating system, as runtime.GOOS does: on another one the
	// subject's arms are left out with a warning.
	OS string `yaml:"os,omitempty"`
}

// Ready says when a subject can be driven; empty means that {{addr}} accepts
// connections.
type Ready struct {
	HTTP string `yaml:"http,omitempty"` // path that answers 200
	Log  string `yaml:"log,omitempty"`  // regular expression of a line it prints
}

// A Part is a set of arms under one load. Fields of its Setup that are not set
// are those of the file.
type Part struct {
	// Name tells parts apart; a file with several must name them.
	Name  string `yaml:"name,omitempty"`
	Title string `yaml:"title,omitempty"`
	Setup `yaml:",inline"`
}

// A Setup is what is driven, how, and what is expected of it.
type Setup struct {
	// Target is what every arm is driven through; {{addr}} is the subject's
	// address. Arms may override its fields.
	Target protocol.Target `yaml:"target,omitempty"`
	// Arms are the alternatives; empty means one arm per subject.
	Arms    map[string]Arm `yaml:"arms,omitempty"`
	Load    Load           `yaml:"load,omitempty"`
	Compare Compare        `yaml:"compare,omitempty"`
	// Sweep, if set, has each arm swept over the levels instead of compared.
	Sweep  Sweep    `yaml:"sweep,omitempty"`
	Expect []string `yaml:"expect,omitempty"`
	// Profiles override Load, Compare and Sweep, by a name of Profiles.
	Profiles map[string]Profile `yaml:"profiles,omitempty"`
}

// An Arm is one of the alternatives of a part.
type Arm struct {
	// Subject is the name of the subject behind the arm; empty: in process.
	Subject string `yaml:"subject,omitempty"`
	// Document, in the place of a target and a load, holds the arguments of a
	// contend command that measures by itself and writes a document with one
	// result. It runs once a round. All arms of a part have it, or none.
	Document string `yaml:"document,omitempty"`
	// Target overrides fields of the part's target.
	Target protocol.Target `yaml:"target,omitempty"`
	// Guard names the design in package guard that this arm puts to the test,
	// for the analysis guard_bound.
	Guard string `yaml:"guard,omitempty"`
}

// Load says how each block is driven.
type Load struct {
	// VUs are the levels of concurrency.
	VUs      []int         `yaml:"vus,omitempty"`
	Rate     string        `yaml:"rate,omitempty"`     // arrivals, as in --rate; empty: closed model
	Duration time.Duration `yaml:"duration,omitempty"` // measured length of a block
	Warmup   time.Duration `yaml:"warmup,omitempty"`   // per round, level and arm
	Timeout  time.Duration `yaml:"timeout,omitempty"`  // of one iteration
	Think    time.Duration `yaml:"think,omitempty"`
}

// Compare says what is compared and how often.
type Compare struct {
	// Baseline is the arm that all others are compared with.
	Baseline string `yaml:"baseline,omitempty"`
	// Metrics to compare; the first is the primary one.
	Metrics []metric.Name `yaml:"metrics,omitempty"`
	// Margin is the largest difference that does not matter.
	Margin Percent `yaml:"margin,omitempty"`
	// Precision, if given, makes Rounds the most that are run: see trial.Design.
	Precision Percent `yaml:"precision,omitempty"`
	// MaxErrors is the share of failed and errored iterations beyond which there
	// is no verdict.
	MaxErrors Percent `yaml:"max_errors,omitempty"`
	Rounds    int     `yaml:"rounds,omitempty"`
	Pairs     int     `yaml:"pairs,omitempty"`
}

// A Sweep looks for the best level of concurrency of each arm.
type Sweep struct {
	// Visits is how often each level is measured, in a fresh process each time.
	Visits int `yaml:"visits,omitempty"`
	// ExtendTo allows levels beyond those of the load: see trial.SweepDesign.
	ExtendTo int `yaml:"extend_to,omitempty"`
}

// Percent is a share, written as in 2%.
type Percent float64

// A Profile overrides the fields of Load, Compare and Sweep that it sets. A part's
// profile goes before the file's, and either before the part itself.
type Profile struct {
	Load    Load    `yaml:"load,omitempty"`
	Compare Compare `yaml:"compare,omitempty"`
	Sweep   Sweep   `yaml:"sweep,omitempty"`
}

// Profiles returns the names that profiles can have, the shortest run first.
func Profiles() []string { return []string{"quick", "standard", "published"} }

// Published is a table of published figures.
type Published struct {
	Part  string `yaml:"part,omitempty"`
	Title string `yaml:"title"`
	// Environment is the machine and tool that the figures come from.
	Environment string `yaml:"environment"`
	// Notes say what may be compared; the first that fits a metric counts.
	Notes []Note `yaml:"notes,omitempty"`
	// Columns are arm, vus, metrics and names of Extra; Rows hold a cell for each.
	Columns []string `yaml:"columns"`
	// Extra names published figures that are no metrics of ours: they are shown,
	// and nothing of ours stands beside them. The unit is part of the name, as in
	// alloc_bytes_per_op.
	Extra []string `yaml:"extra,omitempty"`
	Rows  []Row    `yaml:"rows"`
}

// A Row holds one cell per column, as text. A value of a figure in _ns may be a
// duration such as 719.94µs; ~ means not published.
type Row []string

// A Note says whether metrics of theirs may be set beside ours.
type Note struct {
	Metrics    []metric.Name `yaml:"metrics,omitempty"` // or names of Extra; empty: all
	Comparable bool          `yaml:"comparable"`
	Because    string        `yaml:"because"`
}
