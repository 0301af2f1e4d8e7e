// Why measures how often contend compare --why names the cause of a difference: in servers
// in Go and C with one planted cause each, and in equal servers of five kinds, for which it
// must name nothing.
//
//	go run ./bench/why
//	go run ./bench/why -only hashing,c-lock,none -runs 5 -results why.jsonl
//	go run ./bench/why -cases cases.json -answers answers.json -results why.jsonl
//
// Each run takes about 35 seconds, 20 of each about four hours; with -results several
// sessions add up.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"contend/bench/internal/paired"
	"contend/experiment"
	"contend/protocol"
	"contend/report"
	"contend/trial"
	"contend/why"
)

// serveCommand makes this program a planted server; the name of its cause and an
// address follow.
const serveCommand = "serve-planted"

// none is the cause of servers that do nothing more.
const none = "none"

func main() {
	if len(os.Args) == 4 && os.Args[1] == serveCommand {
		fmt.Fprintln(os.Stderr, servePlanted(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	b := &bench{only: paired.Only()}
	flag.IntVar(&b.runs, "runs", 20, "comparisons of each, one of each in turn; 0: none, the table of -results alone")
	flag.IntVar(&b.callers, "callers", 8, "callers at once")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of all random choices")
	flag.StringVar(&b.results, "results", "", "a file to which results are added, and whose earlier ones count; empty: none")
	flag.StringVar(&b.cflags, "cflags", "-O2 -g -fno-omit-frame-pointer", "how the servers in C are compiled")
	flag.StringVar(&b.cases, "cases", "", "a file of pairs of servers, which are compared instead, once each; empty: none")
	flag.StringVar(&b.answers, "answers", "", "the file with the functions in which they differ; empty: what is named is not judged")
	paired.Main("why", b.run)
}

// A bench is what is asked for.
type bench struct {
	only            *string
	runs, callers   int
	seed            uint64
	results, cflags string
	cases, answers  string
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	if b.cases != "" {
		return b.blind(ctx, w)
	}
	wanted, err := paired.Chosen(*b.only, pairs(), func(p pair) string { return p.name })
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all, err := paired.Kept[result](b.results)
	if err != nil {
		return err
	}
	paired.PrintEnvironment(w)
	fmt.Fprintf(w, "seed %d, %d callers, %d rounds each; C with %s; %d earlier results\n", b.seed, b.callers, why.LeastRounds, b.cflags, len(all))
	build := builder{s.Dir, self, s.Contend, b.cflags}
	for n := range b.runs {
		for _, p := range wanted {
			r, err := b.compare(ctx, build, p, b.seed+uint64(len(all)))
			if err != nil {
				return err
			}
			if err := paired.Keep(b.results, r); err != nil {
				return err
			}
			all = append(all, r)
			fmt.Fprintf(os.Stderr, "%s %s %d of %d: %q %s%s\n", time.Now().Format(time.TimeOnly), p.name, n+1, b.runs, r.Named, r.Detail, r.Error)
		}
	}
	for _, p := range wanted {
		p.write(w, all)
	}
	return nil
}

// compare has the servers of a pair compared and diagnosed. Failures are in the result; the error is
// that the servers could not be built, or that ctx is done.
func (b *bench) compare(ctx context.Context, build builder, p pair, seed uint64) (result, error) {
	baseline, candidate, err := p.commands(ctx, build)
	if err != nil {
		return result{}, err
	}
	diagnosis, err := diagnose(ctx, protocol.At("http://{{addr}}"+p.path), baseline, candidate, b.callers, seed)
	var r result
	if err == nil {
		r, err = resultOf(diagnosis)
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if r.Pair = p.name; err != nil {
		r.Error = err.Error()
	}
	return r, nil
}

func diagnose(ctx context.Context, target protocol.Target, baseline, candidate string, callers int, seed uint64) (*trial.Diagnosis, error) {
	e := experiment.OfSubjects(target, map[string]experiment.Subject{"A": {Command: baseline}, "B": {Command: candidate}})
	p := &e.Parts[0]
	p.Baseline, p.Plan.Timeout, p.Design.Levels, p.Design.Rounds = "A", 5*time.Second, []int{callers}, 1
	p.Design.Seed = seed
	doc := new(report.Document)
	if err := e.Run(ctx, experiment.Options{Seed: seed, Why: true}, doc); err != nil {
		return nil, err
	}
	return doc.Trials[0].Why, nil
}
