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

// failedServer begins what an error says of a server, also in the words of older documents.
var failedServer = regexp.MustCompile(`^(its process died: )?(?:(?:subject|server) ([^:]+): )?`)

// dialled says the address again, in the words of the system call, before the reason that it
// cannot be reached.
var dialled = regexp.MustCompile(`((?:cannot reach|connect to) \S+: )(?:[a-z]+: )?(?:dial: )?dial (?:tcp|udp|unix)[46]?(?: \S+)?: (?:connect: )?`)

// unreached is an address at which nothing answers, and why.
var unreached = regexp.MustCompile(`^cannot reach (\S+): (?:[a-z]+: )?(.*)$`)

// failedScreen says what could not be measured, and why.
func (d *Document) failedScreen() *screen {
	text := d.failure()
	s := &screen{trust: "FAILED: there is no verdict, and figures until then say nothing", mood: bad, most: mostInProcess, care: new(findings),
		next: "mend that, then the same command again"}
	why, lines := lastLines(text)
	s.body = lines
	why, hint, _ := strings.Cut(why, "\n")
	if hint != "" {
		s.next = clean(hint)
	}
	why, more, _ := strings.Cut(why, "; ")
	if more != "" {
		s.body = append(indented(clean(more), "  "), s.body...)
	}
	why = dialled.ReplaceAllString(why, "$1")
	name, said := "", "The server"
	for _, a := range d.Arms {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(why, "arm "), a.Name+": "); ok {
			name, said, why = a.Name, a.Name, rest
		}
	}
	m := failedServer.FindStringSubmatch(why)
	name, why = cmp.Or(name, m[2]), strings.TrimPrefix(why, m[0])
	if to := unreached.FindStringSubmatch(why); to != nil {
		s.trust = "FAILED: there is no figure to believe"
		s.first = fmt.Sprintf("Nothing can be measured at %s: %s", to[1], to[2])
		if hint == "" {
			s.next = "start the server that is to listen there, or correct the URL, then the same command again"
		}
		return s
	}
	switch {
	case name == "":
		s.trust = "FAILED: there is no figure to believe"
		s.first = "It could not be measured: " + why
		return s
	case m[1] != "":
		s.first = said + " died while it was measured: " + why
	default:
		s.first = said + " could not be measured: " + why
	}
	if strings.HasPrefix(why, "another program listens at ") {
		s.next = "end that program, or let the command listen at {{addr}}"
		return s
	}
	for _, a := range d.Arms {
		if a.Name == name && !strings.Contains(a.Does, "://") {
			s.body = append([]string{standsFor(a.Name, a.Does)}, s.body...)
			alone := strings.NewReplacer("{{addr}}", "127.0.0.1:8080", "{{port}}", "8080").Replace(a.Does)
			s.next = "start it alone, and see why: " + alone
		}
	}
	return s
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
		shown = append(shown, "  │ "+clean(strings.TrimPrefix(line, "\t")))
	}
	return text[:at[0]], shown
}
