package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"contend/docs"
	"contend/internal/lazyregexp"
	"contend/internal/testenv"
)

// No page, mistake or help has a word that terminology.md says not to say.
func TestWordsNotSaid(t *testing.T) {
	not := notToSay()
	texts, err := filepath.Glob("../../report/testdata/*.txt")
	if err != nil || len(texts) < 12 {
		t.Fatal(len(texts), err)
	}
	for _, name := range append(texts, mistakes) {
		text := testenv.Read(t, name)
		for line := range strings.Lines(string(text)) {
			if found := saidIn(line, not); len(found) > 0 {
				t.Errorf("%s: %q in %s", filepath.Base(name), found, line)
			}
		}
	}
	all(t, func(t *testing.T, cmd *cobra.Command) {
		var help bytes.Buffer
		Main(t.Context(), append(strings.Fields(cmd.CommandPath())[1:], "--help"), Streams{&help, io.Discard})
		for line := range strings.Lines(help.String()) {
			if found := saidIn(line, not); len(found) > 0 {
				t.Errorf("%q in %s", found, line)
			}
		}
	})
}

// Nor have the pages of the documentation, outside of code.
func TestWordsNotSaidInDocs(t *testing.T) {
	not := notToSay()
	for _, page := range append(pages(t), "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		text := testenv.Read(t, page)
		number := 0
		for line := range strings.Lines(inCode().ReplaceAllStringFunc(string(text), blanked)) {
			if number++; filepath.Base(page) == "terminology.md" && strings.HasPrefix(line, "|") {
				cells := strings.Split(line, " | ") // elsewhere called, and do not say
				line = strings.Join(cells[1:min(3, len(cells))], " | ")
			}
			if found := saidIn(line, not); len(found) > 0 {
				t.Errorf("%s:%d: %q in %s", filepath.Base(page), number, found, line)
			}
		}
	}
}

// inCode matches what is not prose: fenced and indented blocks, code, where a link leads,
// and headings that are the name of a key.
var inCode = lazyregexp.New("(?m)^ *```(?s:.*?)^ *```$|^ {4,}\\S.*$|`[^`]+`|\\]\\([^)]*\\)|^#+ [a-z_]+$")

// blanked has only the line breaks of a text.
func blanked(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) + " " }

// A page is read outside of code only, and all of it.
func TestInCode(t *testing.T) {
	const page = "the arm\n```\nthe subject\n```\n    a visit\nof `arms`, [an arm](x.md#arms) and `a\ncell` or cells\n## arms\n### Two arms\n"
	found := saidIn(inCode().ReplaceAllStringFunc(page, blanked), notToSay())
	if want := []string{"arm", "arm", "cells", "arms"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if got := strings.Count(inCode().ReplaceAllStringFunc(page, blanked), "\n"); got != strings.Count(page, "\n") {
		t.Errorf("%d lines are left", got)
	}
}

// What keeps its name: keys, values of flags, URLs, and what somebody typed.
func TestWhatMayBeSaid(t *testing.T) {
	not := notToSay()
	for line, want := range map[string][]string{
		"best at 10 VUs, one visit for each arm":                       {"VUs", "visit", "arm"},
		"Virtual users, Subjects: cells that scatter":                  {"Virtual users", "Subjects", "cells", "scatter"},
		"3 visits of the rung chan":                                    {"visits", "rung"},
		"an army of subjective visitors":                               nil,
		`x is "arm"; given 'subject {{addr}}'`:                         nil,
		"$ contend run --vus 10 http://localhost/":                     nil,
		"contend: unknown flag --vus":                                  nil,
		"expected per-vu, per-iteration":                               nil,
		"arms.lock.subject, load.vus and pipe:arm stay":                nil,
		"x.yaml:1:2: subjects has 0; expected 2 (keys arms, subjects)": nil,
		"x.yaml:1:2: id has 0 arms":                                    {"arms"},
		"no such field; expected id, subjects, arms, load":             nil,
		"expected at least 2 arms":                                     {"arms"},
		"built in are vu, iteration, row":                              nil,
	} {
		if found := saidIn(line, not); !slices.Equal(found, want) {
			t.Errorf("%s: found %q, want %q", line, found, want)
		}
	}
}

// staying matches what stays as it is: a command line; what is quoted; what is joined to other words or a dash, as
// in load.vus, --vus, per-vu and pipe:chan; the key that a mistake in a file is about, keys that are called so,
// and lists of bare names after "expected" and "built in are".
var staying = lazyregexp.New("^\\$ .*|\"[^\"]*\"|'[^']*'|`[^`]*`|" +
	`[\w-]*[./_={}-]+[\w./_={}-]*|\w+:\w[\w:]*|:\d+:\d+: \w+|\bkeys? \w+(, \w+)*|(expected|built in are) \w+(, \w+)*(,| or) \w+`)

// notToSay matches the words that terminology.md says not to say.
func notToSay() *regexp.Regexp {
	var not []string
	for _, term := range docs.Read().Terms {
		for _, word := range term.Not {
			not = append(not, regexp.QuoteMeta(strings.TrimSuffix(word, "s")))
		}
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(not, "|") + `)s?\b`)
}

// saidIn are those in a line.
func saidIn(line string, not *regexp.Regexp) []string {
	return not.FindAllString(staying().ReplaceAllString(line, " "), -1)
}
