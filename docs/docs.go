// Package docs holds the pages that explain what a report prints, and finds
// the explanation of a term in them. Each fact has one source: the tables of
// warnings are package finding's, which the pages repeat, and whatever else the
// pages say is not repeated in code.
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

// An Index finds explanations. It is made by Read and never changes.
type Index struct {
	// Entries are in the order of the pages, and within a page as they stand there.
	Entries []Entry
}

// An Entry explains one or several terms.
type Entry struct {
	// Page and Section are where it stands: a file of this folder, a heading.
	Page, Section string
	// Title is how the page names what is explained, and Terms are all names.
	Title  string
	Terms  []string
	Blocks []Block
	// Advice is what to do about it, for a warning or a refusal.
	Advice string
	// Kind says how much of a page it is.
	Kind EntryKind
}

// An EntryKind says how an entry explains its terms.
type EntryKind int

// The kinds of entry, the most telling first.
const (
	Section   EntryKind = iota + 1 // with formulas and sources
	Row                            // of a table
	Mention                        // a paragraph that has the term in bold
	Elsewhere                      // the term is what others call it
)

// Read reads the pages.
func Read() Index {
	var x Index
	for _, page := range []string{"statistics.md", "measuring.md", "terminology.md", schema} {
		text, err := pages.ReadFile(page)
		if err != nil {
			panic(err) // it is embedded
		}
		for _, s := range parse(string(text)) {
			x.Entries = append(x.Entries, s.entries(page)...)
		}
	}
	return x
}

// Find returns the entries that explain the term, the most telling first. Case,
// and whether words are joined by spaces, hyphens or underscores, do not matter.
// A term of two known parts (response p99) is explained by these, and one that
// is nowhere a name by what has all its words in a name.
func (x Index) Find(term string) []Entry {
	asked := normal(term)
	if found := x.named(asked); len(found) > 0 {
		return found
	}
	if found := x.composed(asked); len(found) > 0 {
		return found
	}
	return x.matching(func(name string) bool { return mentions(name, asked) })
}

func (x Index) named(asked string) []Entry {
	return x.matching(func(name string) bool { return normal(name) == asked })
}

// composed splits a term where both parts have a name; a unit at its end, as in
// response_p99_ns, is none.
func (x Index) composed(asked string) []Entry {
	words := strings.Fields(strings.TrimSuffix(asked, " ns"))
	for n := len(words) - 1; n > 0; n-- {
		first, second := x.named(strings.Join(words[:n], " ")), x.named(strings.Join(words[n:], " "))
		if len(first) > 0 && len(second) > 0 {
			return append(slices.Clone(first), second...)
		}
	}
	return nil
}

// matching returns the entries with such a name, without what adds nothing:
// mentions beside a section or row, and rows of a section that is given whole.
func (x Index) matching(is func(name string) bool) []Entry {
	var found []Entry
	for _, e := range x.Entries {
		if slices.ContainsFunc(e.Terms, is) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b Entry) int { return int(a.Kind) - int(b.Kind) })
	var kept []Entry
	for _, e := range found {
		best := found[0]
		within := len(kept) > 0 && best.Kind == Section && e.Page == best.Page && e.Section == best.Section
		if !within && (e.Kind < Mention || best.Kind >= Mention) {
			kept = append(kept, e)
		}
	}
	return kept
}

// SeeAlso returns the headings of sections that are about the term, beyond those
// that Find returns or takes rows from.
func (x Index) SeeAlso(term string) []string {
	found := x.Find(term)
	var headings []string
	for _, e := range x.Entries {
		given := slices.ContainsFunc(found, func(f Entry) bool { return f.Page == e.Page && f.Section == e.Section })
		if e.Kind == Section && !given && mentions(e.Title, normal(term)) {
			headings = append(headings, e.Title)
		}
	}
	return headings
}
