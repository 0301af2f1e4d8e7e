package report_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// page is a golden page in docs/answers.md, after the command that prints it.
var page = regexp.MustCompile("(?s)<!-- (screen-[a-z-]+) -->\n```\n(\\$ contend ([a-z]+)[^\n]*\n)(.*?)```\n")

// docs/answers.md shows the golden pages as they are, and each keeps to what it says of all:
// the answer with a size first, and at the end what to do next.
func TestAnswersPage(t *testing.T) {
	const name = "../docs/answers.md"
	all := screens()
	for name, d := range labPages() {
		p := all[name]
		p.d = d
		all["lab-"+name] = p
	}
	text := testenv.Read(t, name)
	asked := 0
	current := page.ReplaceAllStringFunc(string(text), func(shown string) string {
		asked++
		m := page.FindStringSubmatch(shown)
		golden := screenOf(t, all[strings.TrimPrefix(m[1], "screen-")].d)
		lines := strings.Split(strings.TrimSpace(golden), "\n")
		if !strings.ContainsAny(lines[0], "0123456789") {
			t.Errorf("%s: the first line has no size: %s", m[1], lines[0])
		}
		if end := strings.Join(lines[max(0, len(lines)-5):], " "); !strings.Contains(end, "Next: ") {
			t.Errorf("%s: nothing follows: %s", m[1], end)
		}
		return "<!-- " + m[1] + " -->\n```\n" + m[2] + golden + "```\n"
	})
	if asked < 8 {
		t.Errorf("%s has the pages of %d commands, want 8 at least", name, asked)
	}
	if current == string(text) {
		return
	}
	if !*testenv.Update {
		t.Errorf("%s does not show the golden pages; go test ./report -run AnswersPage -update writes it", name)
	} else if err := os.WriteFile(name, []byte(current), 0o644); err != nil {
		t.Fatal(err)
	}
}
