package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"contend/failure"
	"contend/internal/unit"
	"contend/report/plain"
)

// mostLastWords are the lines that a server left which are shown: the first of them, which may be
// the reason before a long text, and the last.
const (
	mostLastWords  = 10
	firstLastWords = 3
)

// lastWord begins the lines of a page that a server wrote.
const lastWord = "  │ "

// failures returns why the document could not be completed; none where failure is "".
func (d *Document) failures() []failure.Failure {
	list, text := d.Failures, d.failure()
	if len(d.Experiments) == 1 {
		list = d.Experiments[0].Failures
	}
	if len(list) == 0 && text != "" {
		list = []failure.Failure{{Kind: failure.Other, Cause: text}}
	}
	return list
}

// failedScreen says what could not be measured, and why.
func (d *Document) failedScreen() *screen {
	list := d.failures()
	one := list[0]
	s := &screen{trust: "FAILED: nothing was measured", mood: bad, care: new(findings),
		next: advise(cmp.Or(plain.Line(one.Advice), "fix that, then run the same command again"))}
	names, why := distinctFailures(list)
	switch {
	case one.Unreached():
		s.first = fmt.Sprintf("Nothing can be measured at %s: %s", names, why)
		s.next = advise(cmp.Or(plain.Line(one.Advice), toReach(one)))
		return s
	case nameOf(one) == "":
		s.first = "It could not be measured: " + why
		s.remains(one)
		return s
	}
	s.trust = "FAILED: no verdict; discard anything measured before the failure"
	how := "could not be measured"
	if one.Died {
		how = "died while it was measured"
	}
	if one.Died && one.Lived > 0 {
		how += fmt.Sprintf(", %s after its start", unit.Duration(float64(one.Lived)))
	}
	s.first = fmt.Sprintf("%s %s: %s", names, how, why)
	var commands []Arm
	for _, f := range list {
		if a, found := d.command(nameOf(f)); found {
			commands = append(commands, a)
		}
	}
	s.standFor(commands)
	s.remains(one) // the others fail for the same reason, or the first line has theirs
	s.next = cmp.Or(advise(d.afterFailure(one)), s.next)
	return s
}

// afterFailure is the advice about a server that contend starts; "" without advice.
func (d *Document) afterFailure(f failure.Failure) string {
	a, found := d.command(nameOf(f))
	switch {
	case f.Kind == failure.AddressTaken:
		return "end that program, or let the command listen at {{addr}}"
	case f.Kind == failure.NoProgram:
		return toFind(f.Program)
	case f.Advice != "":
		return plain.Line(f.Advice)
	case f.Kind == failure.Exited && f.Exit != nil && *f.Exit == 0:
		return "have the command stay in the foreground until it is stopped, without & and no daemon"
	case found && !f.Died: // alone it has no load to die of
		return "start it alone, and see why: " + strings.NewReplacer("{{addr}}", "127.0.0.1:8080", "{{port}}", "8080").Replace(a.Does)
	}
	return ""
}

// nameOf is the name of a failure's server; "": unknown.
func nameOf(f failure.Failure) string { return cmp.Or(f.Arm, f.Server) }

// whyOf is the cause of a failure in a few words.
func whyOf(f failure.Failure) string {
	why := f.Cause
	if f.Kind == failure.NoProgram {
		why = "there is no program " + f.Program
	}
	if f.Worker != "" {
		why = "worker " + f.Worker + ": " + why
	}
	return why
}

// distinctFailures says which failed, and why: once where it is the same of all.
func distinctFailures(list []failure.Failure) (names, why string) {
	var all, whys []string
	same, first := true, whyOf(list[0])
	for _, f := range list {
		name := cmp.Or(f.Arm, "The server")
		if f.Unreached() {
			name = f.Address
		}
		if slices.Contains(all, name) {
			continue
		}
		all, whys = append(all, name), append(whys, name+": "+whyOf(f))
		same = same && whyOf(f) == first
	}
	if same {
		return enumerated(all), first
	}
	return enumerated(all), strings.Join(whys, "; ")
}

// command is what was typed for an arm, unless that is a URL.
func (d *Document) command(name string) (Arm, bool) {
	i := slices.IndexFunc(d.Arms, func(a Arm) bool { return a.Name == name && !isURL(a.Does) })
	if i < 0 {
		return Arm{}, false
	}
	return d.Arms[i], true
}

// remains is what more is known of a failure, and what the server left.
func (v *view) remains(f failure.Failure) {
	if f.More != "" {
		v.aside("%s", f.More)
	}
	if len(f.LastWords) == 0 {
		return
	}
	lines := slices.Clone(f.LastWords)
	if rest := len(lines) - mostLastWords; rest > 0 {
		lines = slices.Replace(lines, firstLastWords, firstLastWords+rest+1, "…")
	}
	v.aside("the last that it wrote to %s:", f.Stream)
	for _, line := range lines {
		v.add(quoted, onPage, "%s", []any{line})
	}
}
