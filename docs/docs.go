// Package docs holds the pages that explain what a report prints, and finds
// the explanation of a term in them. The pages are the only source: nothing
// that they say is repeated in code.
package docs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed statistics.md measuring.md terminology.md report-schema.md
var pages embed.FS

// schema is the page of the document's keys; its headings name no terms.
const schema = "report-schema.md"

// Pages returns the pages in the order in which they are asked.
func Pages() []string { return []string{"statistics.md", "measuring.md", "terminology.md", schema} }

// An Entry explains one or several terms.
type Entry struct {
	// Page and Section are where it stands: a file of this folder, a heading.
	Page, Section string
	// Title and Terms name what is explained.
	Title  string
	Terms  []string
	Blocks []Block
	// Advice is what to do about it, for a warning or a refusal.
	Advice string
	kind   entryKind
}

// Whole says whether the entry is a section, with its formulas and sources, and
// not a row of a table or a paragraph.
func (e Entry) Whole() bool { return e.kind == ofSection }

type entryKind int

// The kinds of entry, the most telling first.
const (
	ofSection entryKind = iota + 1
	ofRow
	ofParagraph // that has the term in bold
	ofSynonym   // that the project does not use
)

// Find returns the entries that explain the term, the most telling first.
// Case, and whether words are joined by spaces, hyphens or underscores, do not
// matter.
func Find(term string) []Entry {
	all := entries()
	asked := normal(term)
	found := matching(all, func(name string) bool { return normal(name) == asked })
	if len(found) == 0 {
		found = matching(all, func(name string) bool { return mentions(name, asked) })
	}
	slices.SortStableFunc(found, func(a, b Entry) int { return int(a.kind) - int(b.kind) })
	return dropLesser(found)
}

func matching(all []Entry, is func(string) bool) []Entry {
	var found []Entry
	for _, e := range all {
		if slices.ContainsFunc(e.Terms, is) {
			found = append(found, e)
		}
	}
	return found
}

// dropLesser leaves out what adds nothing: paragraphs and synonyms beside a
// section or row, and rows of a section that is given whole.
func dropLesser(found []Entry) []Entry {
	if len(found) < 2 {
		return found
	}
	best := found[0]
	kept := []Entry{best}
	for _, e := range found[1:] {
		within := best.kind == ofSection && e.Page == best.Page && e.Section == best.Section
		if !within && (e.kind < ofParagraph || best.kind >= ofParagraph) {
			kept = append(kept, e)
		}
	}
	return kept
}

// SeeAlso returns the headings of further sections that are about the term.
func SeeAlso(term string) []string {
	found := Find(term)
	var headings []string
	for _, e := range entries() {
		given := slices.ContainsFunc(found, func(f Entry) bool { return f.Page == e.Page && f.Section == e.Section })
		if e.kind == ofSection && !given && mentions(e.Title, normal(term)) {
			headings = append(headings, e.Title)
		}
	}
	return headings
}

// Near returns known terms that are spelled like this one, the nearest first.
func Near(term string) []string {
	asked := normal(term)
	distance := map[string]int{}
	var near []string
	for _, page := range Pages() {
		for _, known := range Terms()[page] {
			d := edits([]rune(asked), []rune(normal(known)))
			if _, have := distance[known]; have || d > max(1, len(asked)/3) && !similar(asked, normal(known)) {
				continue
			}
			distance[known] = d
			near = append(near, known)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance[a] - distance[b] })
	return near[:min(len(near), mostNear)]
}

// mostNear is how many terms Near returns at the most.
const mostNear = 5

// similar says whether one of two terms is part of the other, and not by chance.
func similar(a, b string) bool {
	return min(len(a), len(b)) > 3 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// edits is the Levenshtein distance: the fewest letters to insert, delete or
// exchange (Levenshtein, "Binary codes capable of correcting deletions,
// insertions, and reversals", Soviet Physics Doklady 10, 1966).
func edits(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Advice returns what to do about a warning or a refusal, "" if nothing is
// said.
func Advice(code string) string {
	for _, e := range entries() {
		if e.Advice != "" && slices.Contains(e.Terms, code) {
			return e.Advice
		}
	}
	return ""
}

// Terms returns all terms by page, in the order in which they stand there.
func Terms() map[string][]string {
	terms := map[string][]string{}
	for _, e := range entries() {
		for _, term := range e.Terms {
			if e.kind != ofSynonym && !slices.Contains(terms[e.Page], term) {
				terms[e.Page] = append(terms[e.Page], term)
			}
		}
	}
	return terms
}

// normal makes different spellings of a term equal.
func normal(term string) string {
	term = strings.NewReplacer("_", " ", "-", " ", "–", " ", "’", "'", "`", "").Replace(strings.ToLower(term))
	return strings.Join(strings.Fields(term), " ")
}

// mentions says whether all words of the term, which is normal, are words of
// the name.
func mentions(name, term string) bool {
	words := strings.Fields(strings.NewReplacer("'s", "", ",", "", ":", "", "(", "", ")", "").Replace(normal(name)))
	for word := range strings.FieldsSeq(term) {
		if !slices.Contains(words, word) {
			return false
		}
	}
	return term != ""
}
