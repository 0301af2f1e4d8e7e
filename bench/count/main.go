// Count measures how often contend compare --count finds work that was planted in a function of a server, and what it
// says of equal servers, while other programs keep the machine busy. Work is planted in servers in Go (net/http, fasthttp
// and gRPC), C and Rust; a seed draws where, and how much. For nginx, Python and Node only equal servers are compared.
//
//	go run ./bench/count
//	go run ./bench/count -only go-0.2%,go-equal -runs 5 -results count.jsonl
//
// A run takes about 20 seconds, of Python and Node several minutes; with -results several sessions add up. It requires
// valgrind. Kinds whose compiler or interpreter is not installed are left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/count"
	"contend/experiment"
	"contend/protocol"
	"contend/report"
	"contend/stat"
)

func main() {
	paired.Spin()
	b := &bench{only: paired.Only()}
	flag.IntVar(&b.runs, "runs", 20, "comparisons of each, one of each in turn; 0: none, the table of -results alone")
	flag.IntVar(&b.busy, "busy", 2, "programs beside it that keep a CPU busy")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of what is planted where")
	flag.StringVar(&b.results, "results", "", "a file to which results are added, and whose earlier ones count; empty: none")
	paired.Main("count", b.run)
}

// A bench is what is asked for.
type bench struct {
	only       *string
	runs, busy int
	seed       uint64
	results    string
	dir        string
}

// A result is one comparison.
type result struct {
	Kind    string       `json:"kind"`
	Place   string       `json:"place,omitempty"` // the function that was planted in
	Planted float64      `json:"planted"`         // instructions of a request
	Verdict stat.Verdict `json:"verdict"`
	First   string       `json:"first,omitempty"` // the function of the first row
	Found   float64      `json:"found"`           // instructions of that row
	Seconds float64      `json:"seconds"`
	Error   string       `json:"error,omitempty"`
}

// exact is how near to the truth a count must be, as a share of it.
const exact = 0.01

// right reports whether the planted function was found first, with its count, or whether equal servers got no verdict of a
// difference.
func (r result) right() bool {
	if r.Planted == 0 {
		return r.Error == "" && r.Verdict != stat.More && r.Verdict != stat.Less
	}
	return r.Verdict == stat.More && r.First == r.Place && math.Abs(r.Found-r.Planted) <= exact*r.Planted
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	wanted, err := paired.Chosen(*b.only, kinds(), func(k kind) string { return k.name })
	if err != nil {
		return err
	}
	all, err := paired.Kept[result](b.results)
	if err != nil {
		return err
	}
	b.dir = s.Dir
	paired.PrintEnvironment(w)
	fmt.Fprintf(w, "seed %d, %d busy programs, %d earlier results\n", b.seed, b.busy, len(all))
	if b.runs > 0 {
		stop, err := paired.KeepBusy(b.busy)
		if err != nil {
			return err
		}
		defer stop()
		if all, err = b.measure(ctx, w, wanted, all); err != nil {
			return err
		}
	}
	for _, k := range wanted {
		show(w, k.name, all)
	}
	return nil
}

func (b *bench) measure(ctx context.Context, w io.Writer, wanted []kind, all []result) ([]result, error) {
	var chosen []kind
	for _, k := range wanted {
		if k.missing() {
			fmt.Fprintf(w, "%s is left out: %s is not installed\n", k.name, k.needs)
		} else {
			chosen = append(chosen, k)
		}
	}
	servers := map[string]server{}
	for n := range b.runs {
		for _, k := range chosen {
			of, made := servers[k.language.name]
			if !made {
				var err error
				if of, err = newServer(ctx, k.language, b.dir); err != nil {
					return all, fmt.Errorf("%s: no server: %w", k.name, err)
				}
				servers[k.language.name] = of
			}
			r := of.planted(ctx, k.name, k.planted, rand.New(rand.NewPCG(b.seed, uint64(len(all)))))
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			if err := paired.Keep(b.results, r); err != nil {
				return all, err
			}
			all = append(all, r)
			fmt.Fprintf(os.Stderr, "%s %s %d of %d: %s %s %+.1f, planted %s %+.1f; %.0f s %s\n", time.Now().Format(time.TimeOnly), k.name, n+1, b.runs,
				r.Verdict, r.First, r.Found, r.Place, r.Planted, r.Seconds, r.Error)
		}
	}
	return all, nil
}

// show writes the row of a kind.
func show(w io.Writer, name string, all []result) {
	var seconds []float64
	right, undecided := 0, 0
	for _, r := range all {
		if r.Kind != name {
			continue
		}
		seconds = append(seconds, r.Seconds)
		if r.right() {
			right++
		}
		if r.Planted == 0 && r.right() && r.Verdict != stat.Equivalent {
			undecided++
		}
	}
	if len(seconds) == 0 {
		return
	}
	slices.Sort(seconds)
	text := "MORE, the function first, its count within 1%: " + paired.Counted(right, len(seconds))
	if strings.HasSuffix(name, "equal") {
		text = "neither MORE nor LESS: " + paired.Counted(right, len(seconds)) + fmt.Sprintf(", not EQUIVALENT %d", undecided)
	}
	fmt.Fprintf(w, "%-14s %s; %.0f s in the median, %.0f s at most\n", name, text, seconds[len(seconds)/2], seconds[len(seconds)-1])
}

// A server is one whose requests can cost more, and what it costs in instructions.
type server struct {
	language
	experiment.Subject
	turn    float64
	request float64
}

// manyTurns are planted to learn what one costs.
const manyTurns = 10_000

// newServer makes a server of a language and, if work is planted there, learns what a turn of its loops costs, a whole number
// of instructions, and a request.
func newServer(ctx context.Context, l language, dir string) (server, error) {
	s := server{language: l}
	var err error
	if s.Subject, err = l.subject(ctx, l, dir); err != nil || !strings.Contains(s.Command, "{{turns}}") {
		return s, err
	}
	c, err := s.compare(ctx, 0, manyTurns)
	if err != nil {
		return s, err
	}
	if len(c.Rows) == 0 || c.Rows[0].Name != s.prefix+"place0" {
		return s, fmt.Errorf("%s: %d turns were planted and not found: %s, %+v", l.name, manyTurns, c.Verdict, c.Rows)
	}
	s.turn, s.request = math.Round(c.Rows[0].Value/manyTurns), c.Total.Baseline
	return s, nil
}

// planted compares a server with one that does more by so much, or by up to half as much again, at one of its places.
func (s server) planted(ctx context.Context, kind string, share float64, random *rand.Rand) result {
	place, turns := random.IntN(4), 0
	r := result{Kind: kind}
	if share > 0 {
		turns = int(math.Ceil(share * (1 + random.Float64()/2) * s.request / s.turn))
		r.Place, r.Planted = fmt.Sprintf("%splace%d", s.prefix, place), float64(turns)*s.turn
	}
	began := time.Now()
	c, err := s.compare(ctx, place, turns)
	if r.Seconds = time.Since(began).Seconds(); err != nil {
		r.Error = err.Error()
		return r
	}
	if r.Verdict = c.Verdict; c.Reason != nil {
		r.Error = c.Reason.String()
	}
	if len(c.Rows) > 0 {
		r.First, r.Found = c.Rows[0].Name, c.Rows[0].Value
	}
	return r
}

func (s server) compare(ctx context.Context, place, turns int) (count.Comparison, error) {
	with := func(turns int) experiment.Subject {
		of := s.Subject
		of.Command = strings.NewReplacer("{{place}}", fmt.Sprint(place), "{{turns}}", fmt.Sprint(turns)).Replace(of.Command)
		return of
	}
	e := experiment.OfSubjects(protocol.At(s.url), map[string]experiment.Subject{"A": with(0), "B": with(turns)})
	p := &e.Parts[0]
	p.Baseline, p.Plan.Timeout, p.Count.Count = "A", 5*time.Second, true
	p.CallersOf(false)
	doc := new(report.Document)
	err := e.Run(ctx, experiment.Options{Seed: 1}, doc)
	if err == nil && (len(doc.Counts) == 0 || len(doc.Counts[0].Comparisons) == 0) {
		err = errors.New("no comparison came of it")
	}
	if err != nil {
		return count.Comparison{}, err
	}
	return doc.Counts[0].Comparisons[0], nil
}
