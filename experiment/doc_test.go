package experiment

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/setting"
)

var topLevel = regexp.MustCompile(`(?m)^[a-z]+:`)

// completed adds to a fragment the fields of a valid file that it lacks.
func completed(fragment string) string {
	has := map[string]bool{}
	for _, key := range topLevel.FindAllString(fragment, -1) {
		has[key] = true
	}
	starts := topLevel.FindAllStringIndex(orders, -1)
	for i, start := range starts {
		end := len(orders)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if !has[orders[start[0]:start[1]]] {
			fragment += orders[start[0]:end]
		}
	}
	return fragment
}

// yamlBlocks returns the YAML blocks of a text with the line each begins on.
func yamlBlocks(text string) map[int]string {
	blocks := map[int]string{}
	begin := 0
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "```yaml":
			begin = i + 2
		case strings.HasPrefix(line, "```"):
			begin = 0
		case begin > 0:
			blocks[begin] += line + "\n"
		}
	}
	return blocks
}

// Every block of the manual is valid, alone or with the rest of a file.
func TestManual(t *testing.T) {
	text := testenv.Read(t, "../docs/experiment-file.md")
	blocks := yamlBlocks(string(text))
	if len(blocks) < 15 {
		t.Errorf("found only %d blocks", len(blocks))
	}
	used := map[string]bool{}
	for line, block := range blocks {
		if _, err := Parse(fmt.Sprintf("block-at-%d", line), []byte(completed(block))); err != nil {
			t.Error(err)
		}
		noteFields(t, block, used)
	}
	for name := range newDecoder(newMistakes(""), reflect.TypeFor[File]()).homes {
		if !used[name] {
			t.Errorf("the field %q has no example", name)
		}
	}
}

// noteFields collects the names of the fields that a text uses.
func noteFields(t *testing.T, text string, used map[string]bool) {
	t.Helper()
	m := newMistakes("")
	root := m.document([]byte(text), "")
	if root == nil {
		t.Fatalf("%v in\n%s", m.err(), text)
	}
	newDecoder(m, reflect.TypeFor[File]()).decode(root, new(File))
	for path := range m.places {
		for _, name := range segments(path) {
			used[name] = true
		}
	}
}

// The first example of the page is complete by itself.
func TestThePageBeginsWithACompleteFile(t *testing.T) {
	text := testenv.Read(t, "../docs/experiment-file.md")
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ := strings.Cut(rest, "```")
	f, err := Parse("experiment-file.md", []byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Experiment("quick").Parts[0].Design.Levels, []int{10, 100}; !reflect.DeepEqual(got, want) {
		t.Errorf("levels are %v, want %v", got, want)
	}
}

// The tables of the sections of settings are derived from the settings;
// -update writes them.
func TestManualHasTheSettings(t *testing.T) {
	const manual = "../docs/experiment-file.md"
	text := testenv.Read(t, manual)
	got := string(text)
	for _, section := range []string{"load", "compare", "sweep"} {
		_, after, found := strings.Cut(got, "\n## "+section+"\n")
		at := strings.Index(after, "| field |")
		if !found || at < 0 {
			t.Fatalf("the section %s has no table", section)
		}
		table, _, _ := strings.Cut(after[at:], "\n\n")
		got = strings.Replace(got, table+"\n", setting.Table(section, settings()), 1)
	}
	if *testenv.Update {
		testenv.Write(t, manual, got)
	} else if got != string(text) {
		t.Errorf("%s has not the tables of the settings, which would be\n%s", manual, got)
	}
}
