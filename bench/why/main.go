// Why shows how often contend compare --why names the cause of a difference: servers of
// net/http that each do one thing more than their baseline, which was planted, and equal
// servers, of which nothing may be named.
//
//	go run ./bench/why
//	go run ./bench/why -only hashing,json,none -runs 5
//
// Each run takes some 25 seconds, all of them some two hours.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/protocol"
	"contend/report"
	"contend/why"
)

// serveCommand makes this program a planted server; the name of its cause and an
// address follow.
const serveCommand = "serve-planted"

// none is the name of what equal servers do more.
const none = "none"

func main() {
	if len(os.Args) == 4 && os.Args[1] == serveCommand {
		fmt.Fprintln(os.Stderr, servePlanted(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	only := paired.Only()
	runs := flag.Int("runs", 20, "comparisons for each cause")
	callers := flag.Int("callers", 8, "callers at once")
	seed := flag.Uint64("seed", 1, "seed of all random choices")
	paired.Main("why", func(ctx context.Context, w io.Writer, _ paired.Setup) error {
		names := []string{none}
		for _, c := range causes {
			names = append(names, c.name)
		}
		wanted, err := paired.Choose("only", *only, names)
		if err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		paired.PrintEnvironment(w)
		fmt.Fprintf(w, "seed %d, %d callers, %d rounds each\n", *seed, *callers, why.LeastRounds)
		for _, name := range wanted {
			t := tally{name: name}
			for n := range *runs {
				e, overhead, err := explain(ctx, self, name, *callers, *seed+uint64(n))
				if ctx.Err() != nil {
					return ctx.Err()
				}
				t.add(e, overhead, err)
				fmt.Fprintf(os.Stderr, "%s %d of %d: %s\n", name, n+1, *runs, inShort(e, err))
			}
			t.write(w)
		}
		return nil
	})
}

// explain compares a planted server with its baseline and says what differs.
func explain(ctx context.Context, self, cause string, callers int, seed uint64) (why.Explanation, float64, error) {
	command := func(cause string) experiment.Subject {
		return experiment.Subject{Command: fmt.Sprintf("'%s' %s %s {{addr}}", self, serveCommand, cause)}
	}
	e := experiment.OfSubjects(protocol.At("http://{{addr}}/"), map[string]experiment.Subject{"A": command(none), "B": command(cause)})
	p := &e.Parts[0]
	p.Baseline, p.Plan.Timeout, p.Design.Levels, p.Design.Rounds = "A", 5*time.Second, []int{callers}, 1
	p.Design.Seed = seed
	doc := new(report.Document)
	if err := e.Run(ctx, experiment.Options{Seed: seed, Why: true}, doc); err != nil {
		return why.Explanation{}, 0, err
	}
	diagnosis := doc.Trials[0].Why
	if len(diagnosis.Explanations) == 0 {
		return why.Explanation{}, 0, errors.New(strings.Join(diagnosis.Missing, "; "))
	}
	return diagnosis.Explanations[0], diagnosis.Overhead, nil
}

func inShort(e why.Explanation, err error) string {
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("CPU %+.0f ns [%.0f, %.0f], wait %+.0f ns [%.0f, %.0f]: %q", e.CPU.Value, e.CPU.Low, e.CPU.High,
		e.Wait.Value, e.Wait.Low, e.Wait.High, said(e))
	for _, r := range e.Rows[:min(len(e.Rows), 4)] {
		text += fmt.Sprintf("; %+.0f ns %s (%s)", r.Value, r.Name, strings.Join(r.Functions, ", "))
	}
	return text
}

// said are the causes that an explanation names first, of work and of waiting.
func said(e why.Explanation) []string {
	var first []string
	if e.Wait.Excludes0() {
		first = append(first, waiting)
		if len(e.Blocked) > 0 {
			first[0] = e.Blocked[0].Name
		}
	}
	if len(e.Rows) > 0 {
		first = append(first, e.Rows[0].Name)
	}
	return first
}

// A tally counts what runs with one cause named.
type tally struct {
	name                 string
	runs, first, failed  int
	anything, adding     int // explanations that named anything; whose rows add up within the interval
	overheads, increases []float64
}

func (t *tally) add(e why.Explanation, overhead float64, err error) {
	t.runs++
	if err != nil {
		t.failed++
		return
	}
	named := said(e)
	if len(named) > 0 {
		t.anything++
	}
	if i := indexOf(t.name); i >= 0 && slices.ContainsFunc(named, func(cause string) bool { return slices.Contains(causes[i].kinds, cause) }) {
		t.first++
	}
	if sum := e.CPU.Value - e.Unnamed(); sum >= e.CPU.Low && sum <= e.CPU.High {
		t.adding++
	}
	t.overheads = append(t.overheads, 100*overhead)
	t.increases = append(t.increases, 100*e.CPU.Value/e.CPU.BaselineValue)
}

func (t *tally) write(w io.Writer) {
	slices.Sort(t.overheads)
	slices.Sort(t.increases)
	what, hits, reached := "first", t.first, t.first*20 >= t.runs*18
	if t.name == none {
		what, hits, reached = "nothing named", t.runs-t.failed-t.anything, (t.runs-t.failed-t.anything)*20 >= t.runs*19
	}
	fmt.Fprintf(w, "%-10s  %s %s, %s; named rows add up within the interval in %d; CPU an operation %+.1f %%, sampling costs %.1f %% (medians); %d failed\n",
		t.name, what, paired.Counted(hits, t.runs), paired.Outcome(reached), t.adding, median(t.increases), median(t.overheads), t.failed)
}

func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}
