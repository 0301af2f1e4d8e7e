package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// mostLastWords are the lines that a server left which are shown: the first of them, which may be
// the reason before a long text, and the last.
const (
	mostLastWords  = 10
	firstLastWords = 3
)

// lastWords is where the error of a command's process ends and its last lines begin.
var lastWords = regexp.MustCompile(`; end of its (stderr|stdout):\n`)

// lastWord begins the lines of a page that a server wrote.
const lastWord = "  │ "

// failedServer begins what an error says of a server, also in the words of older documents.
var failedServer = regexp.MustCompile(`^(its process died: )?(?:(?:subject|server) ([^:]+): )?`)

// dialled says the address again, in the words of the system call, before the reason that it
// cannot be reached.
var dialled = regexp.MustCompile(`((?:cannot reach|connect to) \S+: )(?:[a-z]+: )?(?:dial: )?dial (?:tcp|udp|unix)[46]?(?: \S+)?: (?:connect: )?`)

// unreached is an address at which nothing answers, and why.
var unreached = regexp.MustCompile(`^cannot reach (\S+): (?:[a-z]+: )?(.*)$`)

// whatToPut is the advice for a server that listens elsewhere.
var whatToPut = regexp.MustCompile(`: (put [^;]*)`)

// missingProgram is one that the system did not find.
var missingProgram = regexp.MustCompile(`fork/exec (\S+): no such file or directory|exec: "([^"]+)": executable file not found in \S+`)

// A failedArm is why an arm could not be measured.
type failedArm struct {
	name  string   // "": it is not known which
	said  string   // what a sentence calls it
	why   string   //
	died  bool     // while it was measured
	at    string   // where nothing answers; "": something else is wrong
	more  []string // lines that say more of it
	hint  string   // what to do; "": not known
	find  string   // where to look for the program; "": it is there
	put   string   // what to put into URL or command; "": they fit
	words []string // its last, as lines
}

// failedScreen says what could not be measured, and why.
func (d *Document) failedScreen() *screen {
	var list []failedArm
	for _, text := range d.byArm(d.failure()) {
		list = append(list, d.failedArm(text))
	}
	one := list[0]
	s := &screen{trust: "FAILED: there is no figure to believe", mood: bad, most: mostInProcess, care: new(findings),
		next: cmp.Or(one.hint, "mend that, then the same command again")}
	names, why := distinctFailures(list)
	switch {
	case one.at != "":
		s.first = fmt.Sprintf("Nothing can be measured at %s: %s", names, why)
		s.next = cmp.Or(one.hint, toReach(one.at, why))
		return s
	case one.name == "":
		s.first = "It could not be measured: " + why
		s.body = slices.Concat(one.more, one.words)
		return s
	}
	s.trust = "FAILED: there is no verdict, and figures until then say nothing"
	s.first = fmt.Sprintf("%s %s: %s", names, either(one.died, "died while it was measured", "could not be measured"), why)
	for _, f := range list {
		if a, found := d.command(f.name); found {
			s.body = append(s.body, standsFor(a.Name, a.Does))
		}
	}
	s.body = slices.Concat(s.body, one.more, one.words) // others fail likewise, or their reason is in the first line
	a, found := d.command(one.name)
	switch {
	case strings.HasPrefix(one.why, "another program listens at "):
		s.next = "end that program, or let the command listen at {{addr}}"
	case one.find != "":
		s.next = one.find
	case strings.HasSuffix(one.why, "ended unasked: exit status 0"):
		s.next = "have the command stay in the foreground until it is stopped, without & and no daemon"
	case one.put != "":
		s.next = one.put
	case found:
		s.next = "start it alone, and see why: " + strings.NewReplacer("{{addr}}", "127.0.0.1:8080", "{{port}}", "8080").Replace(a.Does)
	}
	return s
}

// byArm splits an error that says of several arms, one behind the other, why they failed.
func (d *Document) byArm(text string) []string {
	begins := []int{0}
	for i := range text {
		if text[i] == '\n' && slices.ContainsFunc(d.Arms, func(a Arm) bool { return strings.HasPrefix(text[i+1:], a.Name+": ") }) {
			begins = append(begins, i+1)
		}
	}
	var texts []string
	for n, begin := range begins {
		end := len(text)
		if n+1 < len(begins) {
			end = begins[n+1]
		}
		texts = append(texts, strings.TrimSpace(text[begin:end]))
	}
	return texts
}

// failedArm reads the error of one arm.
func (d *Document) failedArm(text string) failedArm {
	f := failedArm{said: "The server"}
	f.why, f.words = lastLines(text)
	f.why, f.hint, _ = strings.Cut(f.why, "\n")
	f.hint = clean(f.hint)
	why, more, _ := strings.Cut(f.why, "; ")
	if m := whatToPut.FindStringSubmatch(more); m != nil {
		more, f.put = strings.Replace(more, m[0], "", 1), m[1]
	}
	if more != "" {
		f.more = indented(clean(more), "  ", textWidth)
	}
	f.why = dialled.ReplaceAllString(why, "$1")
	for _, a := range d.Arms {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(f.why, "arm "), a.Name+": "); ok {
			f.name, f.said, f.why = a.Name, a.Name, rest
		}
	}
	m := failedServer.FindStringSubmatch(f.why)
	f.name, f.died, f.why = cmp.Or(f.name, m[2]), m[1] != "", strings.TrimPrefix(f.why, m[0])
	f.find = toFind(f.why)
	f.why = missingProgram.ReplaceAllString(f.why, "there is no program $1$2")
	if to := unreached.FindStringSubmatch(f.why); to != nil {
		f.at, f.why = to[1], to[2]
	}
	return f
}

// distinctFailures says which failed, and why: once where it is the same of all.
func distinctFailures(list []failedArm) (names, why string) {
	var all, whys []string
	same := true
	for _, f := range list {
		name := cmp.Or(f.at, f.said)
		if slices.Contains(all, name) {
			continue
		}
		all, whys = append(all, name), append(whys, name+": "+f.why)
		same = same && f.why == list[0].why
	}
	if same {
		return enumerated(all), list[0].why
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

// lastLines takes what a server left behind off an error.
func lastLines(text string) (why string, shown []string) {
	at := lastWords.FindStringSubmatchIndex(text)
	if at == nil {
		return text, nil
	}
	lines := strings.Split(strings.Trim(text[at[1]:], "\n"), "\n")
	shown = append(shown, fmt.Sprintf("  the last that it wrote to %s:", text[at[2]:at[3]]))
	if rest := len(lines) - mostLastWords; rest > 0 {
		lines = slices.Replace(lines, firstLastWords, firstLastWords+rest+1, "…")
	}
	for _, line := range lines {
		shown = append(shown, lastWord+clean(strings.TrimPrefix(line, "\t")))
	}
	return text[:at[0]], shown
}
