package setting

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Mistake is one thing that is wrong with what was asked for. Whoever shows
// it says how the setting is called: see Error, InFlags and Path.
type Mistake struct {
	// Setting is the one that it is about; its zero value speaks of none.
	Setting Setting
	// Owner is whose setting it is where several have one of their own, as in "A", an
	// arm; "" for nobody's.
	Owner string
	// In is the path to the struct of the setting, as in "requests[1].", if that is
	// an element of another.
	In string
	// Index is the element of a list that is wrong, or -1.
	Index int
	// Problem follows the name, as in "is 7" or "is missing".
	Problem string
	// Sentence says that Problem has a subject of its own: a colon precedes it.
	Sentence bool
	// Allowed is what is allowed, "" where Problem has said all.
	Allowed string
	// Meant is what was probably meant, or "".
	Meant string
	// Unreadable says that the text is not a value of the setting's type.
	Unreadable bool
	// At is where it was given in a file; its zero value is not known.
	At Place
}

// A Place is a line and a column of a file, from 1.
type Place struct{ Line, Column int }

// Error calls the setting by its name.
func (m *Mistake) Error() string { return m.called(m.Owner, m.In+m.Setting.Name) }

// Text is the mistake without a name: the problem, what is allowed and what was
// probably meant.
func (m *Mistake) Text() string {
	text := m.Problem
	if m.Allowed != "" {
		text += "; expected " + m.Allowed
	}
	if m.Meant != "" {
		text += fmt.Sprintf(" (did you mean %q?)", m.Meant)
	}
	return text
}

// Path is that of the value in a file, as in load.vus[1].
func (m *Mistake) Path() string {
	if m.Index >= 0 {
		return fmt.Sprintf("%s%s[%d]", m.In, m.Setting.Path, m.Index)
	}
	return m.In + m.Setting.Path
}

func (m *Mistake) called(owner, name string) string {
	if m.Sentence && name != "" {
		name += ":"
	}
	text := strings.TrimSpace(name + " " + m.Text())
	if owner != "" {
		text = owner + ": " + text
	}
	return text
}

// Wrong is a mistake in the words of the caller, which follow the name.
func (s Setting) Wrong(format string, args ...any) *Mistake {
	return &Mistake{Setting: s, Index: -1, Problem: fmt.Sprintf(format, args...)}
}

// Says is a mistake in the words of an error, in which what a mistake expects stays a value.
func (s Setting) Says(words string, err error) *Mistake {
	m := s.Wrong("%s%v", words, err)
	if of, ok := errors.AsType[*Mistake](err); ok {
		if before, last := strings.CutSuffix(m.Problem, of.Text()); last {
			m.Problem, m.Allowed, m.Meant = before+of.Problem, of.Allowed, of.Meant
		}
	}
	return m
}

// NotAllowed is the mistake in a text that a type returns which reads itself.
func NotAllowed(text, allowed string) *Mistake {
	return &Mistake{Index: -1, Problem: fmt.Sprintf("is %q", text), Allowed: allowed}
}

// CannotRead is the mistake that a file cannot be read.
func CannotRead(path string, err error) *Mistake {
	m := NotAllowed(path, "a readable file")
	m.Problem += fmt.Sprintf(", which cannot be read: %v", Cause(err))
	return m
}

// Cause is what the system says, without the call and the path that it was about.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// Or lists alternatives, as in "a, b or c".
func Or(names []string) string {
	last := max(0, len(names)-1)
	return strings.TrimPrefix(strings.Join(names[:last], ", ")+" or "+strings.Join(names[last:], ""), " or ")
}

// NotOneOf is the mistake of a text that is not among the names, with the one
// that was probably meant.
func NotOneOf(text string, names []string) *Mistake {
	m := NotAllowed(text, Or(names))
	m.Meant = Nearest(text, names)
	return m
}

// About says of the mistakes in an error that they are about the setting, unless
// they name another.
func (s Setting) About(err error) error {
	var errs []error
	for _, m := range Mistakes(err) {
		if m.Setting.Name == "" {
			about := *m
			about.Setting, m = s, &about
		}
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// OutOf is the mistake that the value is not allowed.
func (s Setting) OutOf(value any, allowed string) *Mistake {
	m := s.Wrong("is %s", s.shown(s.Text(value)))
	m.Allowed = allowed
	return m
}

// shown puts quotes around what is not a number.
func (s Setting) shown(text string) string {
	if form := s.form(); form == "" && !s.Bool() || text == "" {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// Mistakes returns the mistakes in an error that was joined or wrapped, in
// order; another error in it is one without a setting.
func Mistakes(err error) []*Mistake {
	switch e := err.(type) {
	case nil:
		return nil
	case *Mistake:
		return []*Mistake{e}
	case interface{ Unwrap() []error }:
		var all []*Mistake
		for _, one := range e.Unwrap() {
			all = append(all, Mistakes(one)...)
		}
		return all
	case interface{ Unwrap() error }:
		if inner := Mistakes(e.Unwrap()); len(inner) > 0 && inner[0].Setting.Name != "" {
			return inner
		}
	}
	return []*Mistake{{Index: -1, Problem: err.Error(), Sentence: true}}
}

// InFile calls the setting by its path, after its place in the file of that name.
func (m *Mistake) InFile(name string) string {
	subject := m.Path()
	switch {
	case subject == "":
	case m.Sentence:
		subject += ": "
	default:
		subject += " "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", name, m.At.Line, m.At.Column, subject, m.Text())
}

// FlagErrors calls the settings in an error by their flags, one mistake a line
// and each once, though two structs have it; what has no flag keeps its name and
// its owner.
func FlagErrors(err error) error {
	var errs []error
	said := map[string]bool{}
	for _, m := range Mistakes(err) {
		named := *m
		switch {
		case m.In != "":
			named.Owner, named.In, named.Setting.Name = "", "", "--"+m.In+m.Setting.Name
		case m.Setting.Flag != "":
			named.Owner, named.Setting = "", Setting{Name: "--" + m.Setting.Flag}
		}
		if text := named.Error(); !said[text] {
			errs, said[text] = append(errs, &named), true
		}
	}
	return errors.Join(errs...)
}

// longList is the length in bytes at and above which a list of what is expected is not repeated.
const longList = 60

// Once leaves out of mistakes what an earlier one says is expected, if that is long.
func Once(err error) error { return once(err, map[string]bool{}) }

func once(err error, said map[string]bool) error {
	switch e := err.(type) {
	case *Mistake:
		if said[e.Allowed] {
			brief := *e
			brief.Allowed = "as above"
			return &brief
		}
		said[e.Allowed] = len(e.Allowed) >= longList
	case interface{ Unwrap() []error }:
		var list []error
		for _, one := range e.Unwrap() {
			list = append(list, once(one, said))
		}
		return errors.Join(list...)
	}
	return err
}

// Text is the text of a file, without the byte-order mark that some editors begin it with.
func Text(content []byte) ([]byte, error) {
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return nil, errors.New("is UTF-16, as PowerShell's > writes; expected UTF-8")
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}
