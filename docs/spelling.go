package docs

import (
	"cmp"
	"slices"
	"strings"

	"contend/internal/lazyregexp"
	"contend/setting"
)

// Near returns known terms that are spelled like this one, the nearest first.
func (x Index) Near(term string) []string {
	asked := normal(term)
	distance := map[string]int{}
	var near []string
	for _, t := range x.Terms {
		for _, known := range slices.Concat(t.Names, t.Elsewhere) {
			d := setting.EditDistance(asked, normal(known))
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

// mostNear bounds the terms that Near returns.
const mostNear = 5

// similar reports whether one of two terms is part of the other, and not by chance.
func similar(a, b string) bool {
	return min(len(a), len(b)) > 3 && (strings.Contains(a, b) || strings.Contains(b, a))
}

// normal makes different spellings of a term equal, and all percentages: 95% is 90%. A sign
// stays as it is.
func normal(term string) string {
	term = strings.ToLower(term)
	if strings.Contains(term, "%") {
		term = percentage().ReplaceAllString(term, "n%")
	}
	return cmp.Or(strings.Join(strings.Fields(spelled.Replace(term)), " "), strings.TrimSpace(term))
}

func normals(terms []string) []string {
	forms := make([]string, len(terms))
	for i, term := range terms {
		forms[i] = normal(term)
	}
	return forms
}

var percentage = lazyregexp.New(`\d+(\.\d+)? ?%`)

// Replacers build a tree at their first use, which takes longer than using it.
var (
	spelled  = strings.NewReplacer("_", " ", ",", "", "/", " per ", "-", " ", "–", " ", "’", "'", "`", "")
	unmarked = strings.NewReplacer("'s", "", ",", "", ":", "", "(", "", ")", "")
)

// mentions reports whether all words of the term, which is normal, are words of
// the name, in the plural or not.
func mentions(name, term string) bool {
	words := singular(unmarked.Replace(normal(name)))
	asked := singular(strings.ReplaceAll(term, "'s", ""))
	for _, word := range asked {
		if !slices.Contains(words, word) {
			return false
		}
	}
	return len(asked) > 0
}

// singular splits a text into words without the s at their ends.
func singular(text string) []string {
	words := strings.Fields(text)
	for i, word := range words {
		words[i] = strings.TrimSuffix(word, "s")
	}
	return words
}

// small words and numbers before a term do not belong to it: at p99, 7 rounds.
var small = []string{"a", "about", "an", "at", "in", "is", "of", "the", "to", "within"}

// bare is a normal term without small words and numbers before it.
func bare(term string) string {
	words := strings.Fields(term)
	for len(words) > 1 && (slices.Contains(small, words[0]) || strings.Trim(words[0], "0123456789.,±+") == "") {
		words = words[1:]
	}
	return strings.Join(words, " ")
}
