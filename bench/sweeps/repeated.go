package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/report"
)

// What repeated sweeps must reach, as shares: of the recommendations that are right, in all and of each server; of
// the intervals that hold the truth; and at most, next to a busy process, of those without an answer.
const (
	rightInAll   = 110.0 / 120
	rightOfOne   = 16.0 / 20
	holding      = 108.0 / 120
	noAnswer     = 0.5
	longestSweep = 60 * time.Second
)

// The verdicts of an answer.
const (
	use     = "USE"
	unsure  = "INCONCLUSIVE"
	invalid = "INVALID"
)

// An answer is what one sweep said of a server.
type answer struct {
	Server  string        `json:"server"`
	Busy    bool          `json:"busy,omitempty"` // another process kept a processor busy
	Seed    uint64        `json:"seed"`
	N       float64       `json:"n"`     // the concurrency to use; 0: none
	Low     float64       `json:"n_low"` // its interval; 0: none
	High    float64       `json:"n_high"`
	Verdict string        `json:"verdict"`
	Why     string        `json:"why,omitempty"` // it is not USE
	Runs    int           `json:"runs"`          // at levels
	Took    time.Duration `json:"took_ns"`
	Load    string        `json:"load_average"`
}

// sweptAgain sweeps the servers with contend's defaults until each has so many answers, those of -results among them,
// and writes what these add up to.
func (b *bench) sweptAgain(ctx context.Context, w io.Writer) error {
	servers, err := b.chosen()
	if err != nil {
		return err
	}
	all, err := paired.Kept[answer](b.results)
	if err != nil {
		return err
	}
	truths, err := b.truths()
	if err != nil {
		return err
	}
	have := map[string]int{}
	for _, a := range all {
		if a.Busy == b.busy {
			have[a.Server]++
		}
	}
	for n := range b.repeated {
		for _, s := range servers {
			if have[s.name] > n {
				continue
			}
			a, err := b.answered(ctx, s, b.seed+uint64(n))
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if err := paired.Keep(b.results, a); err != nil {
				return err
			}
			all = append(all, a)
			fmt.Fprintf(w, "%s, %d of %d: %s %g (%g to %g) after %.0f s and %d runs, load average %s %s\n",
				s.name, n+1, b.repeated, a.Verdict, a.N, a.Low, a.High, a.Took.Seconds(), a.Runs, a.Load, a.Why)
		}
	}
	showAnswers(w, servers, all, truths, b.busy)
	return nil
}

// answered sweeps a server as contend does by default.
func (b *bench) answered(ctx context.Context, s known, seed uint64) (answer, error) {
	a := answer{Server: s.name, Busy: b.busy, Seed: seed, Load: paired.LoadAverage()}
	if b.busy {
		stop, err := paired.KeepBusy(1)
		if err != nil {
			return a, err
		}
		defer stop()
	}
	began := time.Now()
	doc, err := b.swept(ctx, s, "--seed", strconv.FormatUint(seed, 10))
	a.Took = time.Since(began)
	if err != nil {
		return a, err
	}
	a.read(doc)
	return a, nil
}

// swept is the document of a sweep.
func (b *bench) swept(ctx context.Context, s known, more ...string) (*report.Document, error) {
	command, err := s.command(ctx, b)
	if err != nil {
		return nil, err
	}
	words := append([]string{"sweep", "--json", "--command", command, "http://{{addr}}/"}, more...)
	text, err := paired.Output(exec.CommandContext(ctx, b.contend, words...), paired.Doubted)
	if err != nil {
		return nil, err
	}
	doc, err := report.Read(bytes.NewReader(text))
	if err == nil && len(doc.Curves) != 1 {
		err = errors.New("no curve in the document")
	}
	return doc, err
}

func (a *answer) read(doc *report.Document) {
	c := doc.Curves[0]
	a.Verdict, a.Runs = use, len(c.Explored)+len(c.Visits)
	knee := c.Recommended()
	if knee != nil {
		a.N = knee.N.Value
		if i := knee.N.Interval; i != nil {
			a.Low, a.High = i.Low, i.High
		}
	}
	refused := doc.Refused()
	switch {
	case len(refused) > 0:
		a.Verdict, a.Why = invalid, refused[0].Text
	case c.TimeUp != nil:
		a.Verdict, a.Why = unsure, c.TimeUp.Lacks
	case c.Crowded != nil:
		a.Verdict, a.Why = unsure, c.Crowded.Text
	case knee == nil:
		a.Verdict = invalid
	}
}

// A tally counts the answers on one server, or on all.
type tally struct {
	sweeps, right, none, held int // none: no answer
	longest                   time.Duration
	wrong                     []string
}

func (t *tally) add(a answer, truth float64) {
	t.sweeps++
	t.longest = max(t.longest, a.Took)
	switch {
	case a.Verdict != use:
		t.none++
	case closeTo(a.N, truth):
		t.right++
	default:
		t.wrong = append(t.wrong, fmt.Sprint(a.N))
	}
	if a.Low <= truth && truth <= a.High {
		t.held++
	}
}

// showAnswers writes how many are right, for each server and in all.
func showAnswers(w io.Writer, servers []known, all []answer, truths map[string]float64, busy bool) {
	var sum tally
	each := true
	for _, s := range servers {
		var t tally
		truth, ok := truths[s.name]
		if !ok {
			fmt.Fprintf(w, "%s: its knee is not known: -truth measures it\n", s.name)
			continue
		}
		for _, a := range all {
			if a.Server == s.name && a.Busy == busy {
				t.add(a, truth)
				sum.add(a, truth)
			}
		}
		each = each && float64(t.right) >= rightOfOne*float64(t.sweeps)
		fmt.Fprintf(w, "%s, knee %g: %d of %d right, %d intervals hold it, %d without an answer, at most %.0f s; wrong: %s\n",
			s.name, truth, t.right, t.sweeps, t.held, t.none, t.longest.Seconds(), cmp.Or(strings.Join(t.wrong, ", "), "none"))
	}
	n := float64(sum.sweeps)
	if busy {
		bar(w, n > 0 && len(sum.wrong) == 0, "next to a busy process, right or no answer: %s", paired.Counted(sum.right+sum.none, sum.sweeps))
		bar(w, float64(sum.none) <= noAnswer*n, "no answer, at most half: %s", paired.Counted(sum.none, sum.sweeps))
		return
	}
	bar(w, n > 0 && float64(sum.right) >= rightInAll*n, "within 1.5 times or ±1 of the knee, ≥ 110 of 120: %s", paired.Counted(sum.right, sum.sweeps))
	bar(w, n > 0 && each, "the same of each server, ≥ 16 of 20")
	bar(w, float64(sum.held) >= holding*n, "the interval holds the knee, ≥ 108 of 120: %s", paired.Counted(sum.held, sum.sweeps))
	bar(w, sum.longest <= longestSweep, "a sweep takes at most %v: %.0f s", longestSweep, sum.longest.Seconds())
}
