package experiment

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"contend/expect"
	"contend/guard"
	"contend/internal/lazyregexp"
	"contend/metric"
)

// validate notes every mistake of sense. A file that is valid can be run by any
// profile, as far as its words tell. A planned file needs only id, title and
// status; what else it holds must be right.
func (f *File) validate(m *mistakes) {
	v := &validator{file: f, mistakes: m, wrongAlone: map[string]bool{}}
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
	v.answer()
	for i, p := range f.Published {
		v.published(fmt.Sprintf("published[%d]", i), p)
	}
	v.analyses()
}

// partPath is the path of a part in the file.
func partPath(i int) string { return fmt.Sprintf("parts[%d]", i) }

// A validator looks for mistakes of sense. Paths with a dot at their end are
// prefixes; "" is the top of the file.
type validator struct {
	*mistakes
	file *File
	// wrongAlone holds the paths with a mistake, whatever the rest of the file says.
	wrongAlone map[string]bool
}

var (
	idForm   = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	nameForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

const nameAllowed = "expected letters and digits with . _ - between them"

func (v *validator) head() {
	f := v.file
	if f.ID == "" {
		v.missing("id", "lower-case letters, digits and hyphens, as in orders-lock")
	} else if !idForm().MatchString(f.ID) {
		v.add("id", "is %q; expected lower-case letters and digits, with single hyphens between them", f.ID)
	}
	if f.Title == "" {
		v.missing("title", "what is compared, in a few words")
	}
	if f.Status != "" && f.Status != planned {
		v.add("status", "is %q%s, or nothing for an experiment that runs", f.Status, oneOf(f.Status, []string{planned}))
	}
}

func (v *validator) partNames() {
	seen := map[string]bool{}
	for i, p := range v.file.Parts {
		path := partPath(i) + ".name"
		switch {
		case p.Name == "" && len(v.file.Parts) > 1:
			v.missing(path, "a file with several parts must name them")
		case p.Name != "" && !nameForm().MatchString(p.Name):
			v.add(path, "is %q; %s", p.Name, nameAllowed)
		case seen[p.Name]:
			v.add(path, "is %q, as an earlier part is called", p.Name)
		}
		seen[p.Name] = true
	}
}

// setup checks the fields on their own, at their places.
func (v *validator) setup(prefix string, s Setup) {
	v.target(prefix+"target", s.Target)
	for _, name := range sortedKeys(s.Arms) {
		v.arm(prefix+"arms."+name, name, s.Arms[name])
	}
	for i, text := range s.Expect {
		if _, err := expect.Parse(text); err != nil {
			v.addSentence(fmt.Sprintf("%sexpect[%d]", prefix, i), "%v", err)
		}
	}
	for _, name := range sortedKeys(s.Profiles) {
		if !slices.Contains(Profiles(), name) {
			v.addSentence(prefix+"profiles."+name, "unknown profile%s", oneOf(name, Profiles()))
		}
	}
}

func (v *validator) arm(path, name string, a Arm) {
	if !nameForm().MatchString(name) {
		v.addSentence(path, "the name is %q; %s", name, nameAllowed)
	}
	if _, ok := v.file.Subjects[a.Subject]; a.Subject != "" && !ok && !v.anyUnread("subjects") {
		v.add(path+".subject", "is %q%s", a.Subject, oneOf(a.Subject, sortedKeys(v.file.Subjects)))
	}
	if _, unknown := guard.Lookup(a.Guard); a.Guard != "" && unknown != nil {
		v.add(path+".guard", "is %q%s", a.Guard, oneOf(a.Guard, guard.Names(false)))
	}
	v.target(path+".target", a.Target)
	if a.Document == "" {
		return
	}
	if words, err := SplitWords(a.Document); err != nil || len(words) == 0 {
		v.add(path+".document", "is %q; expected the words of a contend command, quotes in pairs", a.Document)
	}
	if a.Subject != "" || a.Guard != "" || len(a.Target) > 0 {
		v.addSentence(path, "the keys subject, target and guard do not apply to a variant with a document: it measures by itself")
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
			v.add(path, "is %q%s", name, oneOf(name, known))
		case slices.Index(v.file.Analyses, name) < i:
			err = fmt.Errorf("%q is given twice", name)
		case v.file.Status == planned || len(v.list) > 0:
		case name == "little" && !slices.ContainsFunc(v.file.Published, Published.isLittles):
			err = fmt.Errorf("little reads a published table with the columns %s", strings.Join(littleColumns(), ", "))
		case name == "guard_bound" && !slices.ContainsFunc(v.file.Experiment("").Parts, Part.comparesGuards):
			err = errors.New("guard_bound needs a part whose baseline and another variant name different guards")
		case name == roundTripsName && !slices.ContainsFunc(slices.Collect(maps.Values(v.file.Subjects)), Subject.isStarted):
			err = errors.New(roundTripsName + " needs a server with command or serve, whose counts begin with it")
		}
		if err != nil {
			v.addSentence(path, "%v", err)
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
	base := p.Arms[p.Baseline].Guard
	for _, a := range p.Arms {
		if base != "" && a.Guard != "" && a.Guard != base {
			return true
		}
	}
	return false
}
