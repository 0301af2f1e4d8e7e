package cli

import (
	"cmp"
	"errors"
	"fmt"

	"contend/finding"
	"contend/load"
	"contend/report"
	"contend/search"
	"contend/stat"
	"contend/trial"
)

// The exit codes.
const (
	exitDone        = 0   // also FASTER and EQUIVALENT
	exitFailed      = 1   // the run failed, nothing succeeded, or a server died
	exitUsage       = 2   // the command line or a file is wrong
	exitUnmet       = 3   // an expectation failed, or the candidate is SLOWER
	exitUndecided   = 4   // INVALID what was asked for, or INCONCLUSIVE a verdict
	exitInterrupted = 130 // the partial result, if there is one, has been written
)

// exitError is an error that knows its exit code. A nil Err means that all has
// been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(err error) error { return &exitError{exitUsage, err} }

func failed(err error) error { return &exitError{exitFailed, err} }

func interrupted() error {
	return &exitError{exitInterrupted, errors.New("interrupted; the result is partial")}
}

// tooEarly is interrupted before anything was measured.
func tooEarly() error {
	return &exitError{exitInterrupted, errors.New("interrupted; there is no result")}
}

// outcome is the exit code of a complete document, the same rule for every command that
// measures; the first that applies:
//
//	1 without any right answer in a result, or where one was given up, or where the rounds
//	  that were to say why did not come to their end, or too few of them were whole;
//	3 if an expectation failed;
//	4 if what was asked for is INVALID: a verdict, else an optimum or a rate, else a
//	  result (the lab names the parts), a verdict is INCONCLUSIVE,
//	  or the time was up before the end of a sweep or too short for a comparison;
//	3 if a candidate is SLOWER, or even the lowest rate misses.
//
// A bisection asks for a commit: 4 without one.
// The lab asks for no verdict except the expected ones: SLOWER is a finding there, as is
// INCONCLUSIVE.
func outcome(doc *report.Document) error {
	if err := succeeded(doc); err != nil {
		return failed(err)
	}
	if err := unmet(doc); err != nil {
		return err
	}
	refused := doc.Refused()
	if doc.Bisection != nil {
		return bisected(doc.Bisection)
	}
	if doc.Command == "lab" {
		return cmp.Or(refusedParts(refused), outOfTime(doc))
	}
	if err := outOfTime(doc); err != nil {
		return err
	}
	code := exitDone
	if len(refused) > 0 {
		code = exitUndecided
	}
	for _, c := range doc.Comparisons {
		if c.Primary {
			code = max(code, verdictCode(c.Verdict))
		}
	}
	for _, of := range doc.Counts {
		for _, c := range of.Comparisons {
			code = max(code, verdictCode(c.Verdict))
		}
		if len(of.Comparisons) == 0 {
			code = exitUndecided
		}
	}
	for _, c := range doc.Curves {
		if c.TimeUp != nil || c.Crowded != nil {
			code = exitUndecided
		}
	}
	for _, s := range doc.Searches {
		code = max(code, rateCode(s.Verdict))
	}
	if code == exitDone {
		return nil
	}
	return &exitError{code, nil}
}

// outOfTime names the comparisons for which responses took too long; nil: none.
func outOfTime(doc *report.Document) error {
	var errs []error
	for _, c := range doc.Comparisons {
		if up := c.Primary && c.Rounds == 0 && c.Reason.Is(finding.TooFewRounds); up && c.TimeNeeded > 0 {
			errs = append(errs, fmt.Errorf("%s compared with %s: %s", c.Candidate, c.Baseline, c.Reason.Text))
		}
	}
	return together(exitUndecided, errs)
}

// together are errors with one exit code; nil: there are none.
func together(code int, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return &exitError{code, errors.Join(errs...)}
}

// refusedParts names the parts of experiments with something INVALID, and the first
// of each.
func refusedParts(refused []report.Refusal) error {
	of := map[report.Place]int{}
	for _, r := range refused {
		of[r.Place]++
	}
	var errs []error
	for _, r := range refused {
		where, rest := r.Experiment, ""
		if r.Part != "" {
			where += ", part " + r.Part
		}
		if n := of[r.Place]; n > 1 {
			rest = fmt.Sprintf("; and %d more", n-1)
		}
		if n := of[r.Place]; n > 0 {
			errs = append(errs, fmt.Errorf("%s: %s%s", where, r.Text, rest))
		}
		of[r.Place] = 0
	}
	return together(exitUndecided, errs)
}

func verdictCode(v stat.Verdict) int {
	switch {
	case v.Worse():
		return exitUnmet
	case v == stat.Inconclusive || v == stat.Invalid:
		return exitUndecided
	}
	return exitDone
}

func rateCode(v search.Verdict) int {
	switch v {
	case search.RateMissed:
		return exitUnmet
	case search.RateInvalid, search.RateUnsettled:
		return exitUndecided
	}
	return exitDone
}

// succeeded returns an error when there is an arm without any right answer, or one that
// was given up, or a diagnosis that failed.
func succeeded(doc *report.Document) error {
	var errs []error
	for _, r := range doc.Results {
		right := r.Completed
		if r.OnlyCounted() {
			right = r.Counted.Completed
		}
		if doc.Command == "run" && ranThrough(r.Result) {
			continue // its figures are INVALID, which is another exit code
		}
		if right == 0 && r.Stopped != load.Interrupted || r.Stopped == load.StoppedByOutage {
			errs = append(errs, nothing(r.Cell))
		}
	}
	for _, s := range doc.Searches {
		if s.Alone != nil && s.Alone.Completed == 0 && s.Alone.Stopped != load.Interrupted {
			errs = append(errs, nothing(*s.Alone))
		}
	}
	for _, t := range doc.Trials {
		if t.Undiagnosed() {
			errs = append(errs, errors.New("the verdict stands, but the --why rounds were incomplete"))
		}
	}
	return errors.Join(errs...)
}

// ranThrough reports whether a script ran to its end, though no iteration was right, or none was over: what it asks
// of answers is its own, and its thresholds decide. Without any answer it did not.
func ranThrough(r *load.Result) bool {
	answered := r.ErroredTotal() == 0
	for _, q := range r.Requests {
		answered = answered || q.Completed+q.Failed > 0
	}
	return r.Script != nil && r.Completed == 0 && r.Planned > 0 && answered && r.Stopped != load.StoppedByOutage
}

func nothing(r trial.Cell) error {
	at := cmp.Or(r.Arm, r.Target)
	if r.Stopped == load.StoppedByOutage {
		return fmt.Errorf("%s was given up: %s", at, r.Silence())
	}
	if r.OnlyCounted() {
		return fmt.Errorf("nothing succeeded at %s at concurrency %d while events were counted: %d of %d failed or errored",
			at, r.Concurrency, r.Counted.Wrong, r.Counted.Planned)
	}
	if r.Planned == 0 {
		return fmt.Errorf("no iteration started within the %v measured at %s; measure longer, after a warm-up", r.Duration, at)
	}
	return fmt.Errorf("nothing succeeded at %s at concurrency %d: %d failed, %d errored, %d dropped, %d unfinished",
		at, r.Concurrency, r.Failed, r.ErroredTotal(), r.Dropped, r.Unfinished)
}

// unmet returns an error when an expectation failed.
func unmet(doc *report.Document) error {
	var errs []error
	for _, x := range doc.Expectations {
		if !x.Held && x.Excuse == nil {
			errs = append(errs, fmt.Errorf("expectation %q failed: %s", x.Text, x.Detail))
		}
	}
	for _, e := range doc.Experiments {
		for _, x := range e.Expectations {
			if !x.Held {
				errs = append(errs, fmt.Errorf("%s: expectation %q failed: %s", e.ID, x.Text, x.Detail))
			}
		}
	}
	return together(exitUnmet, errs)
}
