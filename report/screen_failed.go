package report

import (
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

// failedArm is the arm that an error is about, also in the words of older documents.
var failedArm = regexp.MustCompile(`^(?:arm )?([^:]+): (its process died: )?(?:(?:subject|server) [^:]+: )?`)

// failedScreen says what could not be measured, and why.
func (d *Document) failedScreen() *screen {
	text := d.failure()
	s := &screen{trust: "FAILED: there is no verdict, and figures until then say nothing", mood: bad, most: mostInProcess, care: new(findings),
		next: "mend that, then the same command again"}
	why := text
	if at := lastWords.FindStringSubmatchIndex(text); at != nil {
		why = text[:at[0]]
		lines := strings.Split(strings.Trim(text[at[1]:], "\n"), "\n")
		s.body = append(s.body, fmt.Sprintf("  the last that it wrote to %s:", text[at[2]:at[3]]))
		if rest := len(lines) - mostLastWords; rest > 0 {
			lines = slices.Replace(lines, firstLastWords, firstLastWords+rest+1, "…")
		}
		for _, line := range lines {
			s.body = append(s.body, "  │ "+clean(strings.TrimPrefix(line, "\t")))
		}
	}
	why, more, _ := strings.Cut(why, "; ")
	if more != "" {
		s.body = append(indented(clean(more), "  "), s.body...)
	}
	m := failedArm.FindStringSubmatch(why)
	if m == nil || !slices.ContainsFunc(d.Arms, func(a Arm) bool { return a.Name == m[1] }) {
		s.first = "It could not be measured: " + why
		return s
	}
	s.first = m[1] + " could not be measured: " + strings.TrimPrefix(why, m[0])
	if m[2] != "" {
		s.first = m[1] + " died while it was measured: " + strings.TrimPrefix(why, m[0])
	}
	for _, a := range d.Arms {
		if a.Name == m[1] && !strings.Contains(a.Does, "://") {
			s.body = append([]string{standsFor(a.Name, a.Does)}, s.body...)
			alone := strings.NewReplacer("{{addr}}", "127.0.0.1:8080", "{{port}}", "8080").Replace(a.Does)
			s.next = "start it alone, and see why: " + alone
		}
	}
	return s
}
