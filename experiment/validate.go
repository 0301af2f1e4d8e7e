package experiment

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"contend/load"
	"contend/metric"
	"contend/trial"
)

// Validate returns every mistake of the file at once, one per line, each with
// the path of its field. A file that is valid can be run by any profile, as far
// as its words tell. A planned file needs only id, title and status; what else
// it holds must be right.
func (f *File) Validate() error {
	m := newMistakes("")
	f.validate(m)
	return m.err()
}

func (f *File) validate(m *mistakes) {
	v := &validator{file: f, mistakes: m}
	v.head()
	for _, name := range sortedKeys(f.Subjects) {
		v.subject("subjects."+name, name, f.Subjects[name])
	}
	v.setup("", f.Setup)
	v.partNames()
	for i, p := range f.Parts {
		v.setup(partPath(i)+".", p.Setup)
	}
	v.effective()
	for i, p := range f.Published {
		v.published(fmt.Sprintf("published[%d]", i), p)
	}
	v.analyses()
}

// partPath is where a part stands in the file.
func partPath(i int) string { return fmt.Sprintf("parts[%d]", i) }

// A validator looks for mistakes of sense. Paths with a dot at their end are
// prefixes; "" is the top of the file.
type validator struct {
	*mistakes
	file *File
}

var (
	idForm   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

const nameAllowed = "allowed are letters and digits with . _ - between them"

func (v *validator) head() {
	f := v.file
	if f.ID == "" {
		v.missing("id", "lower-case letters, digits and hyphens, as in orders-lock")
	} else if !idForm.MatchString(f.ID) {
		v.add("id", "%q is not allowed: lower-case letters and digits, with single hyphens between them", f.ID)
	}
	if f.Title == "" {
		v.missing("title", "what is compared, in a few words")
	}
	if f.Status != "" && f.Status != Planned {
		v.add("status", "%q is not known: %s; leave it out for an experiment that runs", f.Status, oneOf(f.Status, []string{Planned}))
	}
}

func (v *validator) partNames() {
	seen := map[string]bool{}
	for i, p := range v.file.Parts {
		path := partPath(i) + ".name"
		switch {
		case p.Name == "" && len(v.file.Parts) > 1:
			v.missing(path, "a file with several parts must name them")
		case p.Name != "" && !nameForm.MatchString(p.Name):
			v.add(path, "%q is not allowed: %s", p.Name, nameAllowed)
		case seen[p.Name]:
			v.add(path, "%q is the name of an earlier part", p.Name)
		}
		seen[p.Name] = true
	}
}

// setup checks what can be said of the fields where they stand.
func (v *validator) setup(prefix string, s Setup) {
	v.target(prefix+"target", s.Target)
	for _, name := range sortedKeys(s.Arms) {
		v.arm(prefix+"arms."+name, name, s.Arms[name])
	}
	v.load(prefix+"load", s.Load)
	v.compare(prefix+"compare", s.Compare)
	v.sweep(prefix+"sweep", s.Sweep)
	for i, text := range s.Expect {
		if _, err := trial.ParseExpectation(text); err != nil {
			v.add(fmt.Sprintf("%sexpect[%d]", prefix, i), "%v", err)
		}
	}
	for _, name := range sortedKeys(s.Profiles) {
		path := prefix + "profiles." + name
		if !slices.Contains(Profiles(), name) {
			v.add(path, "there is no such profile: %s", oneOf(name, Profiles()))
		}
		v.load(path+".load", s.Profiles[name].Load)
		v.compare(path+".compare", s.Profiles[name].Compare)
		v.sweep(path+".sweep", s.Profiles[name].Sweep)
	}
}

func (v *validator) arm(path, name string, a Arm) {
	if !nameForm.MatchString(name) {
		v.add(path, "the name %q is not allowed: %s", name, nameAllowed)
	}
	if _, ok := v.file.Subjects[a.Subject]; a.Subject != "" && !ok && !v.anyUnread("subjects") {
		v.add(path+".subject", "%q is no subject: %s", a.Subject, oneOf(a.Subject, sortedKeys(v.file.Subjects)))
	}
	if a.Guard != "" {
		if err := knownGuard(a.Guard); err != nil {
			v.add(path+".guard", "%v", err)
		}
	}
	v.target(path+".target", a.Target)
	if a.Document == "" {
		return
	}
	if words, err := splitWords(a.Document); err != nil || len(words) == 0 {
		v.add(path+".document", "%q is not allowed: the words of a contend command, quotes in pairs", a.Document)
	}
	if a.Subject != "" || a.Guard != "" || len(a.Target) > 0 {
		v.add(path, "subject, target and guard do not apply to an arm with a document: it measures by itself")
	}
}

// Bounds of a plan and a design, as load and trial have them.
const (
	maxVUs    = 1_000_000
	maxTime   = 30 * 24 * time.Hour
	maxRounds = 1000
	maxPairs  = 10000
)

func (v *validator) load(path string, l Load) {
	for i, n := range l.VUs {
		at := fmt.Sprintf("%s.vus[%d]", path, i)
		if n < 1 || n > maxVUs {
			v.add(at, "%d is not allowed: 1 to %d", n, maxVUs)
		}
		if slices.Index(l.VUs, n) < i {
			v.add(at, "the level %d is given twice", n)
		}
	}
	if l.Rate != "" {
		if _, err := load.ParsePacer(l.Rate); err != nil {
			v.add(path+".rate", "%v", err)
		}
	}
	v.between(path+".duration", l.Duration, time.Millisecond)
	v.between(path+".warmup", l.Warmup, 0)
	v.between(path+".timeout", l.Timeout, 0)
	v.between(path+".think", l.Think, 0)
}

// between checks a duration that is given. In a File made in memory, zero
// means that it is not.
func (v *validator) between(path string, d, least time.Duration) {
	if (d != 0 || v.given(path)) && (d < least || d > maxTime) {
		v.add(path, "%v is not allowed: %v to %v", d, least, maxTime)
	}
}

func (v *validator) compare(path string, c Compare) {
	v.count(path+".rounds", c.Rounds, maxRounds)
	v.count(path+".pairs", c.Pairs, maxPairs)
	v.share(path+".margin", c.Margin)
	v.share(path+".precision", c.Precision)
	v.share(path+".max_errors", c.MaxErrors)
	if len(c.Metrics) == 0 && v.given(path+".metrics") {
		v.missing(path+".metrics", "an empty list has no primary metric")
	}
	for i, m := range c.Metrics {
		at := fmt.Sprintf("%s.metrics[%d]", path, i)
		if err := m.Check(); err != nil {
			v.add(at, "%v", err)
		}
		if slices.Index(c.Metrics, m) < i {
			v.add(at, "%q is given twice", m)
		}
	}
}

func (v *validator) share(path string, p Percent) {
	if (p != 0 || v.given(path)) && !(p > 0 && p < 1) {
		v.add(path, "%g%% is not allowed: more than 0%% and less than 100%%", 100*float64(p))
	}
}

func (v *validator) sweep(path string, s Sweep) {
	v.count(path+".visits", s.Visits, maxRounds)
	v.count(path+".extend_to", s.ExtendTo, maxVUs)
}

func (v *validator) count(path string, n, most int) {
	if (n != 0 || v.given(path)) && (n < 1 || n > most) {
		v.add(path, "%d is not allowed: 1 to %d", n, most)
	}
}

func (v *validator) subject(path, name string, s Subject) {
	if !nameForm.MatchString(name) {
		v.add(path, "the name %q is not allowed: %s", name, nameAllowed)
	}
	var kinds []string
	for _, kind := range []struct{ name, value string }{{"command", s.Command}, {"serve", s.Serve}, {"url", s.URL}} {
		if kind.value == "" {
			continue
		}
		kinds = append(kinds, kind.name)
		if kind.name == "url" {
			continue
		}
		if words, err := splitWords(kind.value); err != nil {
			v.add(path+"."+kind.name, "%v", err)
		} else if len(words) == 0 {
			v.add(path+"."+kind.name, "%q has no words", kind.value)
		}
		v.placeholders(path+"."+kind.name, withoutDir(kind.value, s), startPlaceholder)
	}
	switch {
	case len(kinds) == 0 && !v.anyUnread("command", "serve", "url"):
		v.missing(path, "one of command, serve and url")
	case len(kinds) > 1:
		v.add(path, "%s are both set: allowed is one of command, serve and url", strings.Join(kinds, " and "))
	}
	if systems := []string{"linux", "darwin", "windows"}; s.OS != "" && !slices.Contains(systems, s.OS) {
		v.add(path+".os", "%q is not known: %s", s.OS, oneOf(s.OS, systems))
	}
	v.surroundings(path, s)
}

// isStarted says whether the subject is a process of ours.
func (s Subject) isStarted() bool { return s.Command != "" || s.Serve != "" }

// surroundings checks what goes with a command.
func (v *validator) surroundings(path string, s Subject) {
	if s.URL != "" {
		if _, _, err := net.SplitHostPort(s.URL); err != nil {
			v.add(path+".url", "%q is not of the form host:port", s.URL)
		}
		if !reflect.ValueOf(s.Ready).IsZero() || len(s.Env) > 0 || s.Dir != "" || len(s.Files) > 0 {
			v.add(path, "ready, env, dir and files do not apply to url: it is not started here")
		}
	}
	for i, entry := range s.Env {
		at := fmt.Sprintf("%s.env[%d]", path, i)
		if key, _, ok := strings.Cut(entry, "="); !ok || key == "" {
			v.add(at, "%q is not of the form KEY=VALUE", entry)
		}
		v.placeholders(at, withoutDir(entry, s), startPlaceholder)
	}
	v.files(path+".files", s.Files)
	if h := s.Ready.HTTP; h != "" {
		if !strings.HasPrefix(h, "/") && !strings.HasPrefix(h, "http://") {
			v.add(path+".ready.http", "%q is not allowed: a path such as /ready, or an http:// URL", h)
		}
		v.placeholders(path+".ready.http", h, startPlaceholder)
	}
	if _, err := regexp.Compile(s.Ready.Log); err != nil {
		v.add(path+".ready.log", "%q is no regular expression: %v", s.Ready.Log, err)
	}
}

// files checks the files that go with a command.
func (v *validator) files(path string, files map[string]string) {
	for _, name := range sortedKeys(files) {
		at := path + "." + name
		if !filepath.IsLocal(name) {
			v.add(at, "the path must stay below {{dir}}")
		}
		content := strings.ReplaceAll(files[name], "{{dir}}", "")
		for _, found := range generated.FindAllString(content, -1) {
			if _, err := textSize(found); err != nil {
				v.add(at, "%v", err)
			}
		}
		v.placeholders(at, generated.ReplaceAllString(content, ""), filePlaceholder)
	}
}

// withoutDir leaves out {{dir}}, which a subject with files has.
func withoutDir(text string, s Subject) string {
	if len(s.Files) == 0 {
		return text
	}
	return strings.ReplaceAll(text, "{{dir}}", "")
}

// A placeholders says which {{…}} a text may hold.
type placeholders struct {
	form    *regexp.Regexp
	allowed string
}

var (
	braces           = regexp.MustCompile(`\{\{.*?\}\}`)
	startPlaceholder = placeholders{regexp.MustCompile(`^\{\{(host|(addr|port)(\.[A-Za-z0-9_-]+)?)\}\}$`),
		"{{addr}}, {{port}}, {{host}}, {{addr.NAME}}, {{port.NAME}}"}
	filePlaceholder = placeholders{startPlaceholder.form, startPlaceholder.allowed + ", {{dir}}, {{text SIZE}}"}
	urlPlaceholder  = placeholders{regexp.MustCompile(`^\{\{ *(addr|vu|iteration|row|uuid|random .*|".*") *\}\}$`),
		"{{addr}}, and what stands in docs/data-and-checks.md; names of columns with rows"}
)

func (v *validator) placeholders(path, text string, p placeholders) {
	for _, found := range braces.FindAllString(text, -1) {
		if !p.form.MatchString(found) {
			v.add(path, "the placeholder %s is not known: allowed are %s", found, p.allowed)
		}
	}
}

// analyses checks that each is known and has what it reads.
func (v *validator) analyses() {
	known := slices.Sorted(maps.Keys(analysisTable()))
	for i, name := range v.file.Analyses {
		path := fmt.Sprintf("analyses[%d]", i)
		var err error
		switch {
		case !slices.Contains(known, name):
			err = fmt.Errorf("there is no analysis %q: %s", name, oneOf(name, known))
		case slices.Index(v.file.Analyses, name) < i:
			err = fmt.Errorf("%q is given twice", name)
		case v.file.Status == Planned || len(v.list) > 0:
		case name == "little" && !slices.ContainsFunc(v.file.Published, Published.isLittles):
			err = fmt.Errorf("little reads a published table with the columns %s", strings.Join(littleColumns(), ", "))
		case name == "guard_bound" && !slices.ContainsFunc(v.file.effectiveParts(defaultProfile), Part.comparesGuards):
			err = errors.New("guard_bound needs a part whose baseline and another arm name different guards")
		case name == roundTripsName && !slices.ContainsFunc(slices.Collect(maps.Values(v.file.Subjects)), Subject.isStarted):
			err = errors.New(roundTripsName + " needs a subject with command or serve, whose counts begin with it")
		}
		if err != nil {
			v.add(path, "%v", err)
		}
	}
}

func littleColumns() []string {
	return []string{armColumn, vusColumn, string(metric.Throughput), string(callTime), string(iterationTime)}
}

func (p Published) isLittles() bool {
	return !slices.ContainsFunc(littleColumns(), func(c string) bool { return !slices.Contains(p.Columns, c) })
}

func (p Part) comparesGuards() bool {
	base := p.Arms[p.Compare.Baseline].Guard
	for _, a := range p.Arms {
		if base != "" && a.Guard != "" && a.Guard != base {
			return true
		}
	}
	return false
}
