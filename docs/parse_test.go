package docs

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const page = `# Page

Intro with **bold**, *emphasis*, ` + "`code * and |`" + ` and a [link](x.md#y).

## ratio, p

- first item
  goes on
- second

    a = b

` + "```" + `
fenced
` + "```" + `

| code | means | what to do |
| --- | --- | --- |
| ` + "`a_b`, `c_{d,e}`" + ` | this \| that | run it |
| plain | words | short |
`

func TestParse(t *testing.T) {
	sections := parse(page)
	if len(sections) != 2 || sections[0].level != 1 || sections[1].heading != "ratio, p" {
		t.Fatalf("sections %+v", sections)
	}
	if got, want := sections[0].blocks[0].Text, "Intro with bold, emphasis, code * and | and a link."; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	var kinds []Kind
	var texts []string
	for _, b := range sections[1].blocks {
		kinds, texts = append(kinds, b.Kind), append(texts, b.Text)
	}
	if want := []Kind{Item, Item, Code, Code, Table}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
	if want := []string{"first item goes on", "second", "a = b", "fenced", ""}; !reflect.DeepEqual(texts, want) {
		t.Errorf("texts %q, want %q", texts, want)
	}
	list := sections[1].terms("x.md")
	if len(list) != 2 {
		t.Fatalf("%d terms, want the section and one row: %+v", len(list), list)
	}
	if got := list[0].Names; !reflect.DeepEqual(got, []string{"ratio, p", "ratio", "p"}) || list[0].What != "first item goes on" {
		t.Errorf("the section explains %q: %s", got, list[0].What)
	}
	row := list[1]
	if got := row.Names; !reflect.DeepEqual(got, []string{"a_b", "c_d", "c_e"}) {
		t.Errorf("the row explains %q", got)
	}
	if row.What != "this | that. what to do: run it" || row.Source != "docs/x.md, ratio, p" {
		t.Errorf("the row says %+v", row)
	}
}

// Whatever a page holds is read to its end, and each line once.
func TestParseReadsEverything(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "word", "# h", "## **b**", "- item", "  more", "    code", "```", "| a | `b` |", "| --- |", "|", "1. x", "*", "`"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n")
		for _, s := range parse(text) {
			s.terms("x.md")
		}
	})
}
