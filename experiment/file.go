// Package experiment reads and runs experiment files: subjects, a target, a
// load, a design and expectations. The published experiments are embedded
// files in this form; nothing in the code knows them by name.
package experiment

import (
	"time"

	"contend/count"
	"contend/internal/placement"
	"contend/load"
	"contend/metric"
	"contend/protocol"
	"contend/report"
	"contend/setting"
	"contend/sweep"
	"contend/trial"
)

// A File describes one experiment. docs/experiment-file.md explains each field
// with an example.
type File struct {
	// ID selects the experiment: lower-case letters, digits and hyphens.
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Question is what the experiment answers, in one sentence.
	Question string `yaml:"question"`
	// Source names the publication that the experiment reruns or goes on from.
	Source string `yaml:"source"`
	// Answer is what was published to the question, and what of ours answers it.
	Answer report.Answer `yaml:"answer"`
	// Status is empty, or planned: then the experiment is listed and not run.
	Status   string             `yaml:"status"`
	Subjects map[string]Subject `yaml:"subjects"`
	// The Setup at the top level holds the defaults of all parts; a file without
	// parts has one, made of them.
	Setup
	Parts     []FilePart  `yaml:"parts"`
	Published []Published `yaml:"published"`
	// Analyses are named as in docs/experiment-file.md, and follow the load.
	Analyses []string `yaml:"analyses"`
}

// planned is the Status of an experiment that cannot be run yet.
const planned = "planned"

// A Subject is a system under test. Exactly one of Command, Serve and URL is set.
type Subject struct {
	// Command is anybody's program with its arguments, split at spaces; quotes
	// group. {{addr}} is replaced by a free local address.
	Command string `yaml:"command"`
	// Program is the path that replaces {{out}} in Command, if it is set: a program
	// that was built for the experiment. A file cannot give it.
	Program string
	// Serve holds the arguments of `contend serve`.
	Serve string `yaml:"serve"`
	// URL is the host:port of a server that already runs; it is not started,
	// sampled or stopped.
	URL   string   `yaml:"url"`
	Ready Ready    `yaml:"ready"`
	Env   []string `yaml:"env"` // KEY=VALUE
	Dir   string   `yaml:"dir"`
	// StopTimeout is how long the process has to end after SIGTERM until it is killed; 0: 5 s, and 1 s once it was seen to
	// take no notice.
	StopTimeout time.Duration `yaml:"stop_timeout"`
	// Files holds texts by local path; they are written to a fresh folder, {{dir}}.
	// {{text SIZE}} in them is that much generated text, as in {{text 130kB}}.
	Files map[string]string `yaml:"files"`
	// Requires names a program: where it is not installed, the subject's arms are
	// left out with a warning.
	Requires string `yaml:"requires"`
	// OS names an operating system, as runtime.GOOS does: on another one the
	// subject's arms are left out with a warning.
	OS string `yaml:"os"`
}

// Ready says when a subject can be driven; empty means that {{addr}} accepts
// connections.
type Ready struct {
	HTTP string `yaml:"http"` // path that answers 200
	Log  string `yaml:"log"`  // regular expression of a line it prints
}

// A FilePart is a part as the file gives it: what its Setup does not give is that
// of the file.
type FilePart struct {
	// Name tells parts apart; a file with several must name them.
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	Setup
}

// A Setup is what is driven, how, and what is expected of it.
type Setup struct {
	// Target is what every arm is driven through; {{addr}} is the subject's
	// address. Arms may override its fields.
	Target protocol.Target `yaml:"target"`
	// Arms are the alternatives; empty means one arm per subject.
	Arms map[string]Arm `yaml:"arms"`
	// Asked is what the sections of settings give, by the paths of the settings.
	Asked  setting.Values `yaml:"load,compare,sweep"`
	Expect []string       `yaml:"expect"`
	// Profiles override what is asked, by a name of Profiles.
	Profiles map[string]Profile `yaml:"profiles"`
}

// An Arm is one of the alternatives of a part.
type Arm struct {
	// Subject is the name of the arm's subject; empty: in process.
	Subject string `yaml:"subject"`
	// Document replaces target and load. It holds the arguments of a contend
	// command that measures by itself and writes a document with one result. It
	// runs once a round. All arms of a part have it, or none.
	Document string `yaml:"document"`
	// Target overrides fields of the part's target.
	Target protocol.Target `yaml:"target"`
	// Guard names the design in package guard that this arm puts to the test,
	// for the analysis guard_bound.
	Guard string `yaml:"guard"`
}

// Arrangement is what a comparison needs in addition to a load.Plan and a trial.Design.
type Arrangement struct {
	Baseline string `json:"baseline" file:"compare.baseline" flag:"-" required:"lock" words:"the variant to compare all others with"`
}

// Placing says where load generator and servers run, which are started on this machine.
type Placing struct {
	Placement placement.Kind `json:"placement" file:"load.placement" flag:"placement" default:"auto" oneof:"auto,apart,shared" words:"whether servers that contend starts and the load generator get separate CPUs; auto: where the machine allows it"`
}

// settings returns what can be asked for in the sections of a file.
func settings() []setting.Setting {
	return setting.Of(trial.Design{}, count.Design{}, sweep.Design{}, load.Plan{}, Arrangement{}, Placing{})
}

// A Profile overrides the settings that it gives. A part's profile goes before
// the file's, and either before the part itself.
type Profile struct {
	Asked setting.Values `yaml:"load,compare,sweep"`
}

// Profiles returns the names that profiles can have, the shortest run first.
func Profiles() []string { return report.Profiles() }

// Published is a table of published figures.
type Published struct {
	Part  string `yaml:"part"`
	Title string `yaml:"title"`
	// Environment is the machine and tool that the figures come from.
	Environment string `yaml:"environment"`
	// Notes say what may be compared; the first that fits a metric counts.
	Notes []Note `yaml:"notes"`
	// Columns are arm, vus, metrics and names of Extra; Rows hold a cell for each.
	Columns []string `yaml:"columns"`
	// Extra names published figures that are no metrics of ours: they are shown
	// without any of ours next to them. The unit is part of the name, as in
	// alloc_bytes_per_op.
	Extra []string `yaml:"extra"`
	Rows  []Row    `yaml:"rows"`
}

// A Row holds one cell per column, as text. A value of a figure in _ns may be a
// duration such as 719.94µs; ~ means not published.
type Row []string

// A Note says whether published metrics can be compared with those measured here.
type Note struct {
	Metrics    []metric.Name `yaml:"metrics"` // or names of Extra; empty: all
	Comparable bool          `yaml:"comparable"`
	Because    string        `yaml:"because"`
}
