// Package docs embeds the pages of the documentation and finds the explanation
// of a term in them. Each fact has one source: terminology.md has the words,
// packages finding and metric have the tables of warnings and metrics, which the
// pages repeat, and code does not repeat anything else on the pages.
package docs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed statistics.md measuring.md codes.md metrics.md terminology.md report-schema.md
//go:embed ci-gate.md connections.md go-functions.md quiet-machine.md exit-codes.md exports.md
//go:embed choosing.md counter.md counting.md data-and-checks.md experiment-file.md fleet.md history.md scripts.md uplink.md why.md
var pages embed.FS

// The pages with rules of their own: the words that are printed, and the
// document's keys, whose headings name no terms.
const (
	terminology = "terminology.md"
	schema      = "report-schema.md"
)

// An Index finds explanations. It is made by Read and never changes.
type Index struct {
	// Terms are the most telling first: the words of terminology.md and of the
	// program's tables, and then what the other pages say of theirs.
	Terms []Term
}

// A Term is a word, and what explains it in three lines: what it is, how to read
// it or what to do about it, and where it comes from.
type Term struct {
	// Names are what it is called: the first by most, the others by columns, keys
	// and sentences.
	Names []string
	// Elsewhere are the names that other tools have for it, and Not those that only
	// code uses and that are not printed.
	Elsewhere, Not []string
	// Read is empty where What says all.
	What, Read string
	// Source ends in the page and the section that say more.
	Source        string
	Page, Section string
	// Topic is under which it is listed; First says that one meets it first.
	Topic string
	First bool
	Kind  TermKind

	own, others []string // Names, and Elsewhere with Not, in their normal form
}

// A TermKind says what a term is made of.
type TermKind int

// The kinds of term, the most telling first.
const (
	Word    TermKind = iota + 1 // of terminology.md or a table of the program
	Row                         // of another table
	Section                     // its first sentence
	Mention                     // a paragraph that has the term in bold
)

// Read reads the pages.
func Read() Index {
	terms := slices.Concat(words(), exitCodes(), programmed())
	for _, page := range []string{"statistics.md", "measuring.md", "codes.md", "metrics.md", "ci-gate.md", "connections.md", "go-functions.md", "quiet-machine.md", schema} {
		for _, s := range sections(page) {
			terms = append(terms, s.terms(page)...)
		}
	}
	slices.SortStableFunc(terms, func(a, b Term) int { return int(a.Kind) - int(b.Kind) })
	for i := range terms {
		t := &terms[i]
		t.own, t.others = normals(t.Names), normals(slices.Concat(t.Elsewhere, t.Not))
	}
	return Index{Terms: terms}
}

// sections reads a page.
func sections(page string) []section {
	text, err := pages.ReadFile(page)
	if err != nil {
		panic(err) // it is embedded
	}
	return parse(string(text))
}

// Find returns what explains the term: one Term, or several if it has several
// parts or is only a part of a name. Case does not matter, nor whether words are
// joined by spaces, hyphens or underscores, nor a number before a unit or noun.
func (x Index) Find(term string) []Term {
	asked := normal(term)
	for _, find := range []func(string) []Term{x.named, x.composed} {
		for _, form := range []string{asked, bare(asked)} { // 1 note is a note, and no exit code
			if found := find(form); len(found) > 0 {
				return found
			}
		}
	}
	return x.mentioning(asked)
}

// named returns the one term of that name. A name of its own counts more than that of
// another tool; rows of several tables are joined.
func (x Index) named(asked string) []Term {
	if asked == "" {
		return nil
	}
	for _, names := range []func(Term) []string{
		func(t Term) []string { return t.own },
		func(t Term) []string { return t.others },
	} {
		var found []Term
		for _, t := range x.Terms {
			if slices.Contains(names(t), asked) && (found == nil || t.Kind == found[0].Kind) {
				found = append(found, t)
			}
		}
		if len(found) > 0 {
			return []Term{joined(found)}
		}
	}
	return nil
}

// composed splits a term where both parts have a name.
func (x Index) composed(asked string) []Term {
	words := strings.Fields(asked)
	for n := len(words) - 1; n > 0; n-- {
		first, second := x.named(strings.Join(words[:n], " ")), x.named(strings.Join(words[n:], " "))
		if len(first) > 0 && len(second) > 0 {
			return append(first, second...)
		}
	}
	return nil
}

// mentioning returns the terms of the most telling kind that have all words in a
// name.
func (x Index) mentioning(asked string) []Term {
	var found []Term
	for _, t := range x.Terms {
		in := slices.ContainsFunc(slices.Concat(t.Names, t.Elsewhere, t.Not), func(name string) bool { return mentions(name, asked) })
		if in && len(found) < mostFound && (found == nil || t.Kind == found[0].Kind) {
			found = append(found, t)
		}
	}
	return found
}

// mostFound is how many terms are found by a part of their names, at most.
const mostFound = 3

// Text returns the section of a page; nil if it does not exist.
func Text(page, heading string) []Block {
	if page == "" {
		return nil
	}
	for _, s := range sections(page) {
		if s.heading == heading {
			return s.blocks
		}
	}
	return nil
}
