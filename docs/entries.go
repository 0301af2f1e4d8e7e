package docs

import (
	"regexp"
	"slices"
	"strings"
)

// entries are the section as a whole, the rows of its tables, and its paragraphs
// with terms in bold.
func (s section) entries(page string) []Entry {
	var list []Entry
	if page != schema && s.level == 2 {
		list = append(list, Entry{Page: page, Section: s.heading, Title: s.heading, Terms: ofHeading(s.heading), Blocks: s.blocks, Kind: Section})
	}
	for _, b := range s.blocks {
		switch b.Kind {
		case Table:
			list = append(list, ofTable(page, s.heading, b)...)
		case Paragraph, Item:
			if terms := ofBold(b.marked); len(terms) > 0 {
				list = append(list, Entry{Page: page, Section: s.heading, Title: terms[0], Terms: terms, Blocks: []Block{b}, Kind: Mention})
			}
		}
	}
	return list
}

// ofHeading returns a heading as a whole and, where it is a list of words, each
// of them.
func ofHeading(heading string) []string {
	words := strings.Split(heading, ", ")
	if len(words) == 1 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, " ") }) {
		return []string{heading}
	}
	return words
}

var bold = regexp.MustCompile(`\*\*(.+?)\*\*`)

func ofBold(marked string) []string {
	var terms []string
	for _, found := range bold.FindAllStringSubmatch(marked, -1) {
		terms = append(terms, strings.TrimSuffix(plain(found[1]), "."))
	}
	return terms
}

// ofTable returns the rows of a table whose first column names terms.
func ofTable(page, heading string, b Block) []Entry {
	var list []Entry
	header := b.marks[0]
	for i, row := range b.marks[1:] {
		terms := named(header[0], row[0])
		if len(terms) == 0 {
			continue
		}
		e := Entry{Page: page, Section: heading, Title: plain(row[0]), Terms: terms, Kind: Row}
		for col, cell := range b.Rows[i+1][1:] {
			switch what := plain(header[col+1]); {
			case cell == "" || what == "" && page == schema: // its marks ○ and ƒ
			case strings.EqualFold(what, whatToDo):
				e.Advice = cell
			case strings.EqualFold(what, elsewhere):
				e.Blocks = append(e.Blocks, Block{Kind: Paragraph, Text: what + ": " + cell})
				synonyms := strings.Split(strings.ReplaceAll(cell, `"`, ""), ", ")
				list = append(list, Entry{Page: page, Section: heading, Title: e.Title, Terms: synonyms, Blocks: e.Blocks, Kind: Elsewhere})
			case slices.Contains(selfEvident, strings.ToLower(what)):
				e.Blocks = append(e.Blocks, Block{Kind: Paragraph, Text: cell})
			default:
				e.Blocks = append(e.Blocks, Block{Kind: Paragraph, Text: what + ": " + cell})
			}
		}
		list = append(list, e)
	}
	return list
}

// The headings of columns.
const (
	whatToDo  = "what to do"
	elsewhere = "elsewhere called"
)

// selfEvident headings of columns are not repeated beside what they head, and
// glossary ones head terms that are not code.
var (
	selfEvident = []string{"", "means", "meaning", "meaning here", "says", "when"}
	glossary    = []string{"term", "figure", "metric", "metric of times", "of times", "looks for"}
)

var code = regexp.MustCompile("`([^`]+)`")

// named returns the terms that the first cell of a row names: what is code in
// it and, in a glossary, all that it lists.
func named(header, cell string) []string {
	var terms []string
	listed := slices.Contains(glossary, strings.ToLower(plain(header)))
	if !listed {
		for _, found := range code.FindAllStringSubmatch(cell, -1) {
			terms = append(terms, expand(found[1])...)
		}
		return terms
	}
	for part := range strings.SplitSeq(cell, ", ") {
		terms = append(terms, expand(plain(strings.TrimSpace(part)))...)
	}
	return terms
}

var braces = regexp.MustCompile(`^(.*?)\{([^{}]*,[^{}]*)\}(.*)$`)

// expand turns response_{p50,p99}_ns into response_p50_ns and response_p99_ns.
func expand(term string) []string {
	m := braces.FindStringSubmatch(term)
	if m == nil {
		return []string{term}
	}
	var list []string
	for alternative := range strings.SplitSeq(m[2], ",") {
		list = append(list, expand(m[1]+alternative+m[3])...)
	}
	return list
}
