package report_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/report"
)

// rendered is what a view writes.
func rendered(t testing.TB, view func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := view(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// screenOf has the look of a terminal of any width, where no other is asked for.
func screenOf(t testing.TB, d *report.Document, look ...report.Look) string {
	return rendered(t, func(w io.Writer) error { return d.Screen(w, append(look, report.Look{})[0]) })
}

func briefOf(t testing.TB, d *report.Document) string {
	return rendered(t, func(w io.Writer) error { return d.Brief(w, report.Look{}) })
}

// gathered are pages by their kind, that is by the command that prints them, and by their name: those of a kind
// have a golden file together.
type gathered map[string]map[string]string

func (g gathered) add(d *report.Document, name, page string) {
	kind := strings.ReplaceAll(d.Command, " ", "-")
	if d.Failed() && kind != "lab" {
		kind = "failed"
	}
	if g[kind] == nil {
		g[kind] = map[string]string{}
	}
	g[kind][name] = page
}

func (g gathered) golden(t *testing.T, which string) {
	t.Helper()
	for kind, pages := range g {
		var b bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			fmt.Fprintf(&b, "== %s ==\n\n%s\n", name, pages[name])
		}
		testenv.Golden(t, "testdata/"+which+"-"+kind+".txt", b.String())
	}
}

// The pages have golden files of their own (TestScreens). Markdown has the elements of the text: three documents
// have every kind of them.
func TestGolden(t *testing.T) {
	texts := gathered{}
	for name, d := range allDocuments() {
		markdown := rendered(t, d.Markdown)
		if texts.add(d, name, report.Below(d)); name == "closed" || name == "comparison" || name == "lab" {
			testenv.Golden(t, "testdata/"+name+".md", markdown)
		}
	}
	texts.golden(t, "full")
}

// What is written is read without a difference, and shown the same.
func TestRoundTrip(t *testing.T) {
	documents := allDocuments
	if testenv.Race {
		documents = smallDocuments // fewer histograms of 34 000 buckets each; the package starts no goroutine
	}
	for name, d := range documents() {
		stored, text := written(t, d)
		again, err := report.Read(bytes.NewReader(stored))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if storedAgain, textAgain := written(t, again); !bytes.Equal(stored, storedAgain) || !bytes.Equal(text, textAgain) {
			t.Errorf("%s: reading and writing changed it:\n%s", name, textAgain)
		}
	}
}

func written(t *testing.T, d *report.Document) (stored, text []byte) {
	t.Helper()
	var a, b bytes.Buffer
	if err := d.Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := d.Text(&b); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}
