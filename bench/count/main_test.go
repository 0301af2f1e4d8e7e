package main

import (
	"strings"
	"testing"

	"contend/stat"
)

// Planted work must be found as what it is, and nothing where nothing was planted.
func TestRight(t *testing.T) {
	found := result{Place: "main.place1", Planted: 100, Verdict: stat.More, First: "main.place1", Found: 100.9}
	elsewhere, inexact, undecided := found, found, found
	elsewhere.First, inexact.Found, undecided.Verdict = "main.place2", 101.1, stat.Inconclusive
	for name, tt := range map[string]struct {
		r    result
		want bool
	}{"found": {found, true}, "another function": {elsewhere, false}, "another count": {inexact, false}, "not decided": {undecided, false},
		"equal": {result{Verdict: stat.Equivalent}, true}, "equal, not decided": {result{Verdict: stat.Inconclusive}, true},
		"a false alarm": {result{Verdict: stat.Less}, false}, "failed": {result{Error: "no"}, false}} {
		if got := tt.r.right(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Results are kept by these names.
func TestKinds(t *testing.T) {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	want := "go-0.2% go-1% go-equal fasthttp-0.2% fasthttp-1% fasthttp-equal grpc-0.2% grpc-1% grpc-equal c-0.2% c-1% c-equal rust-0.2% rust-1% rust-equal nginx-equal python-equal node-equal"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
