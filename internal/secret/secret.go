// Package secret decides what is a secret and hides it: passwords, tokens, cookies and keys, by
// the name before a value and by the form of the value. A Book remembers the secrets of its inputs
// and hides them in any text.
package secret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Mask replaces a secret. It is the same for all, because a digest would help to guess a short one.
const Mask = "***"

// A Book has the secrets that are known. It is safe for concurrent use. A nil Book hides what names
// and forms give away.
type Book struct {
	mu        sync.RWMutex
	shown     bool
	names     map[string]string   // of the variables, by value
	values    map[string]string   // by the names of variables
	beginning map[string][]string // values by how they begin, the longest first
	learned   map[string]bool     // these values
}

// Values shorter than shortest are hidden only after their names, because "1" is in most texts, and
// those shorter than certain only as separate words. A book remembers at most this many values.
const (
	shortest = 6
	certain  = 12
	most     = 10_000
	head     = 4 // bytes by which values are looked up
)

// Show makes the book hide nothing.
func (b *Book) Show() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown = true
}

// Learn remembers the secrets in inputs: words of a command line, settings, files. An input of
// the form "name: value" is a header field, whatever its name.
func (b *Book) Learn(inputs ...string) {
	if b == nil {
		return
	}
	for _, text := range inputs {
		for _, s := range find(text, true) {
			b.Add(s.name, text[s.from:s.to])
		}
	}
}

// LearnPair remembers the secret in NAME=VALUE of an environment. The value may have any bytes. A
// path is not a secret.
func (b *Book) LearnPair(pair string) {
	name, value, _ := strings.Cut(pair, "=")
	if asFlag(name) && !strings.HasPrefix(value, "/") {
		b.Add(name, value)
	}
	b.Learn(value)
}

// Field remembers the value of a header field, if it is a secret. It is quick for others, and for
// known ones.
func (b *Book) Field(name, value string) {
	if b == nil || !promising(name) || !Named(name) {
		return
	}
	b.mu.RLock()
	known := b.learned[value] || len(b.learned) >= most
	b.mu.RUnlock()
	if !known {
		b.Add(name, value)
	}
}

// Add remembers a secret by its name, in the forms in which it may come back.
func (b *Book) Add(name, value string) {
	if b == nil || reference(value) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.learned[value] {
		return
	}
	for _, form := range formsOf(name, value) {
		b.add(name, form)
	}
}

func (b *Book) add(name, value string) {
	if b.learned == nil {
		b.beginning, b.learned = map[string][]string{}, map[string]bool{}
	}
	if len(value) < shortest || b.learned[value] || len(b.learned) >= most || common[strings.ToLower(value)] {
		return
	}
	b.learned[value] = true
	b.variable(name, value)
	list := b.beginning[value[:head]]
	i, _ := slices.BinarySearchFunc(list, len(value), func(known string, n int) int { return n - len(known) })
	b.beginning[value[:head]] = slices.Insert(list, i, value)
}

// variable returns the name of the shell variable for a value, one for each value.
func (b *Book) variable(name, value string) string {
	if known := b.names[value]; known != "" {
		return known
	}
	if b.names == nil {
		b.names, b.values = map[string]string{}, map[string]string{}
	}
	name = variable(name)
	numbered := name
	for i := 2; b.values[numbered] != "" && b.values[numbered] != value; i++ {
		numbered = fmt.Sprintf("%s_%d", name, i)
	}
	b.names[value], b.values[numbered] = numbered, value
	return numbered
}

// Hide returns a text without secrets.
func (b *Book) Hide(text string) string {
	spans := b.spans(text, false)
	if len(spans) == 0 {
		return text
	}
	var hidden strings.Builder
	at := 0
	for _, s := range spans {
		hidden.WriteString(text[at:s.from] + Mask)
		at = s.to
	}
	return hidden.String() + text[at:]
}

// Variables replaces the masks in a text by shell variables, named after the secrets.
func Variables(hidden string) string {
	var typed strings.Builder
	for {
		before, after, found := strings.Cut(hidden, Mask)
		typed.WriteString(before)
		if !found {
			return typed.String()
		}
		name := ""
		if n := len(before); n > 0 && strings.IndexByte("=: ", before[n-1]) >= 0 {
			name, _ = nameBefore(before, n-1)
		}
		typed.WriteString("$" + variable(name))
		hidden = after
	}
}

// A Part of a word is text or, where Variable is not "", a secret.
type Part struct{ Text, Variable string }

// Split cuts a word of a command line into texts and secrets.
func (b *Book) Split(word string) []Part {
	if b == nil {
		b = new(Book)
	}
	spans := b.spans(word, true)
	if len(spans) == 0 {
		return []Part{{Text: word}}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var parts []Part
	at := 0
	for _, s := range spans {
		if s.from > at {
			parts = append(parts, Part{Text: word[at:s.from]})
		}
		value := word[s.from:s.to]
		parts = append(parts, Part{value, b.variable(s.name, value)})
		at = s.to
	}
	if at < len(word) {
		parts = append(parts, Part{Text: word[at:]})
	}
	return parts
}

// spans returns where the secrets of a text are, in order and without overlap.
func (b *Book) spans(text string, input bool) []span {
	all := find(text, input)
	if b != nil {
		b.mu.RLock()
		defer b.mu.RUnlock()
		if b.shown {
			return nil
		}
		all = append(all, b.known(text)...)
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var apart []span
	for _, s := range all {
		if n := len(apart); n > 0 && s.from < apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// known finds the values of the book in a text.
func (b *Book) known(text string) []span {
	if len(b.beginning) == 0 {
		return nil
	}
	var all []span
	for i := 0; i+head <= len(text); i++ {
		for _, value := range b.beginning[text[i:i+head]] {
			end := i + len(value)
			if cut := strings.TrimSuffix(text[i:], "…"); len(cut) < min(len(value), len(text)-i) && strings.HasPrefix(value, cut) {
				end = i + len(cut) // its beginning, at the end of a text that was cut off
			} else if !strings.HasPrefix(text[i:], value) || len(value) < certain && !alone(text, i, end) {
				continue
			}
			all = append(all, span{i, end, b.names[value]})
			i = end - 1
			break
		}
	}
	return all
}

// alone reports whether a part of a text is a separate word.
func alone(text string, from, to int) bool {
	return (from == 0 || !letterOrDigit(text[from-1])) && (to == len(text) || !letterOrDigit(text[to]))
}

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
