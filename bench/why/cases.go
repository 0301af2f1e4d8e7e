package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/protocol"
	"contend/why"
)

// A blindCase is a pair of servers that differ in one function, which the file does not say. Each listens at the
// address in ADDR; in URL that is 127.0.0.1:PORT. Proto describes the method of a server without reflection.
type blindCase struct {
	Set, Case, Server, A, B, URL string
	GRPC                         struct{ Method, Proto string }
}

// A blindAnswer says in which functions: any of Acceptable is right.
type blindAnswer struct {
	Set, Case  string
	Acceptable []string
	Share      float64 // of the server's CPU time
}

// A blindResult is what was named, the root of the greatest difference first.
type blindResult struct {
	Set, Case, Server string
	Roots             []string
	Own               []string // the functions that differ
	CPU, Error        string
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// blind compares each pair of a file once and writes what is named and, with answers, how often that is right.
func (b *bench) blind(ctx context.Context, w io.Writer) error {
	var cases []blindCase
	if err := readJSON(b.cases, &cases); err != nil {
		return err
	}
	all, err := paired.Kept[blindResult](b.results)
	if err != nil {
		return err
	}
	for _, c := range cases {
		if wanted := strings.Split(*b.only, ","); *b.only != "" && !slices.Contains(wanted, c.Set) && !slices.Contains(wanted, c.Set+c.Case) {
			continue
		}
		if slices.ContainsFunc(all, func(r blindResult) bool { return r.Set == c.Set && r.Case == c.Case }) {
			continue
		}
		r := b.compareBlind(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := paired.Keep(b.results, r); err != nil {
			return err
		}
		all = append(all, r)
		fmt.Fprintf(os.Stderr, "%s %s %s %s: %q %s %s\n", time.Now().Format(time.TimeOnly), r.Set, r.Case, r.Server, r.Roots, r.CPU, r.Error)
	}
	if b.answers == "" {
		return nil
	}
	var answers []blindAnswer
	if err := readJSON(b.answers, &answers); err != nil {
		return err
	}
	scoreBlind(w, all, answers)
	return nil
}

func (b *bench) compareBlind(ctx context.Context, c blindCase) blindResult {
	r := blindResult{Set: c.Set, Case: c.Case, Server: c.Server}
	target := protocol.At(strings.Replace(c.URL, "127.0.0.1:PORT", "{{addr}}", 1))
	if c.GRPC.Method != "" {
		target = protocol.At("grpc://{{addr}}/" + strings.TrimPrefix(c.GRPC.Method, "/"))
	}
	if c.GRPC.Proto != "" {
		target = target.With("proto", c.GRPC.Proto)
	}
	command := func(of string) string { return "env ADDR={{addr}} PORT={{port}} " + of }
	diagnosis, err := diagnose(ctx, target, command(c.A), command(c.B), b.callers, b.seed)
	switch {
	case err != nil:
		r.Error = err.Error()
		return r
	case len(diagnosis.Explanations) == 0:
		r.Error = "no explanation: " + strings.Join(append(diagnosis.Missing, diagnosis.Failed), " ")
		return r
	}
	e := diagnosis.Explanations[0]
	r.CPU = fmt.Sprintf("%+.0f ns [%.0f, %.0f] of %.0f", e.CPU.Value, e.CPU.Low, e.CPU.High, e.CPU.BaselineValue)
	for _, root := range e.Roots {
		r.Roots = append(r.Roots, root.Name)
	}
	if len(e.Roots) == 0 {
		r.Error = diagnosis.Uncounted
	}
	for _, row := range e.Own {
		r.Own = append(r.Own, fmt.Sprintf("%s %+.0f [%.0f, %.0f]", row.Name, row.Value, row.Low, row.High))
	}
	return r
}

// isAnswer reports whether a name is one of the answers, or of a function within it; those of scripts have their file in brackets.
func isAnswer(name string, acceptable []string) bool {
	bare, _, _ := strings.Cut(name, " (")
	return slices.ContainsFunc(acceptable, func(a string) bool {
		return name == a || bare == a || why.ShortName(name) == why.ShortName(a) ||
			strings.HasPrefix(why.ShortName(name), why.ShortName(a)+".func") || strings.HasPrefix(bare, a+".<locals>.")
	})
}

// scoreBlind writes how often the first name is right, for edits of at least 1% of the CPU time and for smaller ones.
func scoreBlind(w io.Writer, all []blindResult, answers []blindAnswer) {
	var first, wrong, cases [2]int
	for _, a := range answers {
		i := slices.IndexFunc(all, func(r blindResult) bool { return r.Set == a.Set && r.Case == a.Case })
		if i < 0 {
			continue
		}
		small, r := 0, all[i]
		if a.Share < 0.01 {
			small = 1
		}
		cases[small]++
		switch {
		case len(r.Roots) == 0:
			fmt.Fprintf(w, "%s %s %s, %.2f%%: nothing named, want %v; %s %s\n", r.Set, r.Case, r.Server, 100*a.Share, a.Acceptable, r.CPU, r.Error)
		case isAnswer(r.Roots[0], a.Acceptable):
			first[small]++
		default:
			wrong[small]++
			fmt.Fprintf(w, "%s %s %s, %.2f%%: named %q, want %v; %q\n", r.Set, r.Case, r.Server, 100*a.Share, r.Roots, a.Acceptable, r.Own)
		}
	}
	for small, words := range []string{"at least 1%", "less"} {
		fmt.Fprintf(w, "edits of %s of the CPU time: the edited function first in %d of %d, another first in %d\n", words, first[small], cases[small], wrong[small])
	}
}
