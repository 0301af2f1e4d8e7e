package cli

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"contend/docs"
	"contend/errkind"
	"contend/finding"
	"contend/internal/lazyregexp"
	"contend/internal/testenv"
	"contend/search"
	"contend/stat"
)

// Whatever a page prints, and every exit code, is explained in three lines; the last names
// the source. The advice of a code may take two.
func TestPagesAreExplained(t *testing.T) {
	index := docs.Read()
	for term, where := range printed(t) {
		found := index.Find(term)
		if len(found) == 0 {
			t.Errorf("%s: nothing explains %q", where, term)
		}
		for _, f := range found {
			if f.Kind != docs.Word {
				t.Errorf("%s: %q is explained by what another page says of it: %s", where, term, f.Source)
			}
		}
	}
}

func TestExplanationsHaveThreeLines(t *testing.T) {
	index := docs.Read()
	for _, named := range index.Terms {
		found := index.Find(named.Names[0])
		if len(found) != 1 {
			t.Errorf("%q has %d explanations, want one", named.Names[0], len(found))
			continue
		}
		term := found[0]
		lines, most := explanation(term), 3
		if term.Kind != docs.Word || finding.Advice(strings.ReplaceAll(term.Names[0], " ", "_")) != "" {
			most = 4
		}
		if len(lines) > most || !strings.Contains(lines[len(lines)-1], "docs/") {
			t.Errorf("%d lines, want at most %d and a page:\n%s", len(lines), most, strings.Join(lines, "\n"))
		}
		for _, line := range lines {
			if columns(line) > terminalWidth {
				t.Errorf("%d columns: %s", columns(line), line)
			}
		}
	}
}

// printed are the terms of the views and of the exit codes, with a page that has each: words in
// capitals, codes, and the cells of tables that are neither figures nor names.
func printed(t *testing.T) map[string]string {
	terms := map[string]string{}
	for _, code := range []int{exitDone, exitFailed, exitUsage, exitUnmet, exitUndecided, exitInterrupted} {
		terms[strconv.Itoa(code)], terms["exit code "+strconv.Itoa(code)] = "exit codes", "exit codes"
	}
	for _, v := range []stat.Verdict{stat.Faster, stat.Slower, stat.More, stat.Less, stat.Equivalent, stat.Inconclusive, stat.Invalid} {
		terms[string(v)] = "verdicts"
	}
	for _, v := range []search.Verdict{search.RateFound, search.RateAtLeast, search.RateMissed, search.RateInvalid, search.RateUnsettled} {
		terms[string(v)] = "verdicts"
	}
	for _, kind := range errkind.All() {
		terms[string(kind)] = "kinds of error"
	}
	files, err := filepath.Glob("../../report/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no views", err)
	}
	for _, file := range files {
		text := testenv.Read(t, file)
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			found := termsOf(line, filepath.Base(file) == "screen-lab.txt")
			if i+1 < len(lines) && strings.Contains(lines[i+1], "█") && !columnar().MatchString(strings.TrimSpace(line)) && !figure().MatchString(line) {
				found = append(found, strings.TrimSpace(strings.TrimSuffix(line, " (log scale)"))) // what bars are of
			}
			for _, term := range append(found, counted().FindStringSubmatch(line)...) {
				terms[term] = filepath.Base(file)
			}
		}
	}
	if len(terms) < 100 {
		t.Errorf("only found %d terms", len(terms))
	}
	return terms
}

var (
	capitals = lazyregexp.New(`\b[A-Z]{4,}(_[A-Z]+)?\b`)
	coded    = lazyregexp.New(`\b[a-z]+(_[a-z0-9]+)+\b`)
	cut      = lazyregexp.New(`\S*…`)
	counted  = lazyregexp.New(`^\d+ notes?`)
	columnar = lazyregexp.New(` {2,}`)
	// figure is a cell that is not a word: it has a digit or a bar, or is a URL or a command, or cut.
	figure = lazyregexp.New(`^([^A-Za-zα-ω±]*|.*[\d/:●│…{].*)$`)
	// inBlock begins a line of the answer of one of several experiments.
	inBlock = lazyregexp.New(`^  (published|here|so|FAIL) +`)
	// callers end a heading: add, 100 callers.
	callers = lazyregexp.New(`, \d+ callers?$`)
	// comparison heads the differences of two variants.
	comparison = lazyregexp.New(`^\w+ compared with \w+$`)
	// figured are words that look like one.
	figured = lazyregexp.New(`^p\d+(\.\d+)?$|^\d+% CI$|^\D*/op$`)
)

// termsOf are the terms of a line. The lab's blocks hold sentences.
func termsOf(line string, sentences bool) []string {
	terms := coded().FindAllString(cut().ReplaceAllString(line, ""), -1)
	for _, word := range capitals().FindAllString(line, -1) {
		if !slices.Contains(notTerms, word) {
			terms = append(terms, word)
		}
	}
	cells, isTable := strings.CutPrefix(line, "  ")
	if sentences || inBlock().MatchString(line) {
		isTable = false
	}
	if !isTable || !columnar().MatchString(cells) {
		return terms
	}
	for _, cell := range columnar().Split(strings.TrimSpace(cells), -1) {
		cell, _, _ = strings.Cut(callers().ReplaceAllString(strings.TrimPrefix(cell, "← "), ""), " (")
		cell = comparison().ReplaceAllString(cell, "compared with")
		if (!figure().MatchString(cell) || figured().MatchString(cell)) && !slices.Contains(namesOfFixtures, cell) {
			terms = append(terms, cell)
		}
	}
	return terms
}

// notTerms are capitals of the world outside, what is to be replaced, and words that are stressed.
var notTerms = []string{"GOMAXPROCS", "TCP_NODELAY", "HEAD", "POST", "FILE", "SUCCEEDED", "NOTHING"}

// namesOfFixtures are the names of variants in the views, and of designs.
var namesOfFixtures = []string{"mutex", "inputq", "striped", "atomic", "old", "new", "a", "b", "c", "peaked", "rising", "refused", "cheap", "B", "C",
	"cas", "rwmutex", "combining", "inputq-batch", "inputq-pooled", "chan", "runtime.gopark, runtime.schedule", "fsync", "of threads in fsync", "logged in", "browse", "buy", "basket", "checks", "main.spinWork", "orders.(*Service).add", "strings.EqualFold"}
