package docs

import (
	"slices"
	"strings"

	"contend/internal/lazyregexp"
)

// The columns of the tables in terminology.md.
const (
	columnTerm = iota
	columnWhat
	columnRead
	columnSource
	columnElsewhere
	columnNot
)

// words reads terminology.md.
func words() []Term {
	var list []Term
	for _, s := range sections(terminology) {
		from := Term{Topic: s.heading}
		for _, b := range s.blocks {
			if b.Kind == Paragraph {
				from.Source, from.Page, from.Section = source(strings.TrimSuffix(strings.TrimPrefix(b.marked, "From "), "."))
			}
			if b.Kind != Table {
				continue
			}
			for i, row := range b.marks[1:] {
				list = append(list, word(from, row, b.Rows[i+1]))
			}
		}
	}
	return list
}

// word is a row, with and without its markup, whose last columns may be missing; one without a
// source is from where its table is.
func word(t Term, marked, row []string) Term {
	missing := make([]string, max(0, columnNot+1-len(row)))
	marked, row = append(marked, missing...), append(row, missing...)
	t.What, t.Read, t.First, t.Kind = row[columnWhat], row[columnRead], strings.Contains(marked[columnTerm], "**"), Word
	t.Names, t.Elsewhere, t.Not = listed(row[columnTerm]), listed(row[columnElsewhere]), listed(row[columnNot])
	if marked[columnSource] != "" {
		t.Source, t.Page, t.Section = source(marked[columnSource])
	}
	return t
}

// exitCodes are the rows of the first table of exit-codes.md.
func exitCodes() []Term {
	const page, section = "exit-codes.md", "Exit codes"
	var list []Term
	blocks := Text(page, section)
	for _, row := range blocks[0].Rows[1:] {
		t := term(page, section)
		t.Names, t.What, t.Topic, t.First = []string{"exit code " + row[0], row[0]}, row[1], section, true
		list = append(list, t)
	}
	return list
}

// listed splits a list of names.
func listed(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Split(cell, ", ")
}

// source reads what ends in a link to a section.
func source(marked string) (text, page, section string) {
	m := link().FindStringSubmatch(marked)
	if m == nil {
		return plain(marked), "", ""
	}
	page, _, _ = strings.Cut(m[2], "#")
	return plain(strings.TrimSuffix(marked, m[0])) + saying(page, m[1]), page, m[1]
}

// saying names the section of a page.
func saying(page, section string) string { return "docs/" + page + ", " + section }

// joined are rows of several tables that have a name in common as one: each with
// its place, and what is the same in several once.
func joined(found []Term) Term {
	first := found[0]
	if first.Kind != Row {
		return first
	}
	meanings, in := []string{}, map[string][]string{}
	for _, t := range found {
		if in[t.What] == nil {
			meanings = append(meanings, t.What)
		}
		in[t.What] = append(in[t.What], strings.TrimPrefix(t.Section, "An entry of "))
	}
	if len(meanings) == 1 {
		return first
	}
	var said []string
	for _, meaning := range meanings {
		said = append(said, "in "+strings.Join(slices.Compact(in[meaning]), " and ")+": "+meaning)
	}
	first.What, first.Read = said[0], strings.Join(said[1:], "; ")
	first.Source = "docs/" + first.Page
	return first
}

// terms are what the section of a page says, as a whole, in the rows of its tables and
// in its paragraphs with terms in bold.
func (s section) terms(page string) []Term {
	of := Term{Source: saying(page, s.heading), Page: page, Section: s.heading, Topic: "docs/" + page}
	var list []Term
	text := slices.IndexFunc(s.blocks, func(b Block) bool { return b.Kind == Paragraph || b.Kind == Item })
	if page != schema && s.level == 2 && text >= 0 {
		t := of
		t.Names, t.What, t.Kind = ofHeading(s.heading), opening(s.blocks[text].Text), Section
		list = append(list, t)
	}
	for _, b := range s.blocks {
		switch b.Kind {
		case Table:
			list = append(list, ofTable(of, b)...)
		case Paragraph, Item:
			if names := ofBold(b.marked); len(names) > 0 {
				t := of
				t.Names, t.What, t.Kind = names, opening(b.Text), Mention
				list = append(list, t)
			}
		}
	}
	return list
}

var sentence = lazyregexp.New(`^.*?[.:?!](?: |$)`)

// opening is the first sentence of a text, with the next one where it is only a title.
func opening(text string) string {
	const title = 8 // words
	first := sentence().FindString(text)
	if len(strings.Fields(first)) <= title {
		first += sentence().FindString(text[len(first):])
	}
	if first = strings.TrimSpace(first); first != "" {
		return first
	}
	return text
}

// ofHeading returns a heading as a whole and, where it is a list of words, each
// of them.
func ofHeading(heading string) []string {
	words := strings.Split(heading, ", ")
	if len(words) == 1 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, " ") }) {
		return []string{heading}
	}
	return append([]string{heading}, words...)
}

var bold = lazyregexp.New(`\*\*(.+?)\*\*`)

func ofBold(marked string) []string {
	var names []string
	for _, found := range bold().FindAllStringSubmatch(marked, -1) {
		names = append(names, strings.TrimSuffix(plain(found[1]), "."))
	}
	return names
}

// ofTable returns the rows of a table whose first column names terms, unless the
// program holds them.
func ofTable(of Term, b Block) []Term {
	header := b.marks[0]
	if held(header) != nil {
		return nil
	}
	var list []Term
	for i, row := range b.marks[1:] {
		t := of
		t.Kind = Row
		if t.Names = named(header[0], row[0]); len(t.Names) == 0 {
			continue
		}
		var said []string
		for col, cell := range b.Rows[i+1][1:] {
			switch what := plain(header[col+1]); {
			case cell == "":
			case slices.Contains(selfEvident, strings.ToLower(what)):
				said = append(said, cell)
			default:
				said = append(said, what+": "+cell)
			}
		}
		if t.What = strings.Join(said, ". "); t.What == "" {
			continue
		}
		if of.Page == schema {
			t.Read = "A key of the document, which --json prints and -o stores"
		}
		list = append(list, t)
	}
	return list
}

// The headings of columns: the self-evident ones are not repeated next to their
// cells, and those of a glossary head terms that are not code.
var (
	selfEvident = []string{"means", "meaning", "meaning here", "says", "when"}
	glossary    = []string{"term", "figure", "looks for"}
)

var code = lazyregexp.New("`([^`]+)`")

// named returns the terms that the first cell of a row names: what is code in
// it and, in a glossary, all that it lists.
func named(header, cell string) []string {
	var terms []string
	if !slices.Contains(glossary, strings.ToLower(plain(header))) {
		for _, found := range code().FindAllStringSubmatch(cell, -1) {
			terms = append(terms, expand(found[1])...)
		}
		return terms
	}
	for part := range strings.SplitSeq(cell, ", ") {
		terms = append(terms, expand(plain(strings.TrimSpace(part)))...)
	}
	return terms
}

var braces = lazyregexp.New(`^(.*?)\{([^{}]*,[^{}]*)\}(.*)$`)

// expand turns response_{p50,p99}_ns into response_p50_ns and response_p99_ns.
func expand(term string) []string {
	m := braces().FindStringSubmatch(term)
	if m == nil {
		return []string{term}
	}
	var list []string
	for alternative := range strings.SplitSeq(m[2], ",") {
		list = append(list, expand(m[1]+alternative+m[3])...)
	}
	return list
}
