package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// How a run of a script ended, whichever codes the tool has for it.
const (
	done      = "done"
	crossed   = "thresholds"
	scriptErr = "error"
)

// A tally is how often a check held and did not.
type tally struct{ Passes, Fails int64 }

// An outcome is what a tool did with a script, as far as the script determines it.
type outcome struct {
	Exit       string // done, crossed or scriptErr
	Code       int
	Iterations int64
	Requests   map[string][]request // by virtual user
	Checks     map[string]tally     // by name; nil: not known
	Thresholds map[string]bool      // by metric and expression, whether it held; nil: not known
	Said       string               // what its summary wrote: lines with said: on standard output, and files
}

// count is the number of requests.
func (o outcome) count() (n int) {
	for _, requests := range o.Requests {
		n += len(requests)
	}
	return n
}

// tallies adds the checks up, and the thresholds that did not hold.
func (o outcome) tallies() (checks tally, missed int) {
	for _, t := range o.Checks {
		checks.Passes += t.Passes
		checks.Fails += t.Fails
	}
	for _, held := range o.Thresholds {
		if !held {
			missed++
		}
	}
	return checks, missed
}

// differences says in what two outcomes differ. Where the clock decides how many
// iterations there are, spread is how far their numbers may be apart; then only
// which requests and checks there were counts, and not how often.
func differences(a, b outcome, spread int64) (in []string) {
	if a.Exit != b.Exit {
		in = append(in, fmt.Sprintf("exit: %s and %s", a.Exit, b.Exit))
	}
	if max(a.Iterations-b.Iterations, b.Iterations-a.Iterations) > spread {
		in = append(in, fmt.Sprintf("iterations: %d and %d", a.Iterations, b.Iterations))
	}
	if text := differentRequests(a, b, spread > 0); text != "" {
		in = append(in, "requests: "+text)
	}
	if a.Checks != nil && b.Checks != nil {
		loose := func(t tally) tally {
			if spread > 0 {
				return tally{min(t.Passes, 1), min(t.Fails, 1)}
			}
			return t
		}
		in = append(in, unequal("check", a.Checks, b.Checks, loose)...)
	}
	if a.Thresholds != nil && b.Thresholds != nil {
		in = append(in, unequal("threshold", a.Thresholds, b.Thresholds, func(held bool) bool { return held })...)
	}
	if a.Said != b.Said {
		in = append(in, fmt.Sprintf("summary: %q and %q", a.Said, b.Said))
	}
	return in
}

// unequal names the keys whose values differ as seen through by, or that only one has.
func unequal[V comparable](what string, a, b map[string]V, by func(V) V) (in []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		va, inA := a[key]
		vb, inB := b[key]
		switch {
		case !inA || !inB:
			in = append(in, fmt.Sprintf("%s %q: only in one", what, key))
		case by(va) != by(vb):
			in = append(in, fmt.Sprintf("%s %q: %v and %v", what, key, va, vb))
		}
	}
	return in
}

// differentRequests tells of the first difference. Sets are compared if asked for,
// else the requests of each virtual user in their order.
func differentRequests(a, b outcome, sets bool) string {
	if sets {
		left, right := distinct(a.Requests), distinct(b.Requests)
		return firstDifference("any", left, right)
	}
	users := maps.Clone(a.Requests)
	maps.Copy(users, b.Requests)
	for _, vu := range slices.Sorted(maps.Keys(users)) {
		if text := firstDifference(vu, lines(a.Requests[vu]), lines(b.Requests[vu])); text != "" {
			return text
		}
	}
	return ""
}

func firstDifference(vu string, a, b []string) string {
	for i := range max(len(a), len(b)) {
		left, right := "none", "none"
		if i < len(a) {
			left = a[i]
		}
		if i < len(b) {
			right = b[i]
		}
		if left != right {
			return fmt.Sprintf("VU %q, number %d: %s and %s", vu, i+1, left, right)
		}
	}
	return ""
}

func lines(requests []request) (all []string) {
	for _, r := range requests {
		all = append(all, r.String())
	}
	return all
}

func distinct(users map[string][]request) []string {
	set := map[string]bool{}
	for _, requests := range users {
		for _, line := range lines(requests) {
			set[line] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// readK6 adds what k6's summary export says.
func (o *outcome) readK6(export []byte) error {
	var document struct {
		Root    k6Group `json:"root_group"`
		Metrics map[string]struct {
			Count float64
			// Thresholds has true for those that were crossed.
			Thresholds map[string]bool
		}
	}
	if err := json.Unmarshal(export, &document); err != nil {
		return err
	}
	o.Iterations = int64(document.Metrics["iterations"].Count)
	o.Checks, o.Thresholds = map[string]tally{}, map[string]bool{}
	document.Root.addTo(o.Checks)
	for name, metric := range document.Metrics {
		for expression, crossed := range metric.Thresholds {
			o.Thresholds[name+" "+expression] = !crossed
		}
	}
	return nil
}

type k6Group struct {
	Groups map[string]k6Group
	Checks map[string]struct {
		Path string
		tally
	}
}

func (g k6Group) addTo(checks map[string]tally) {
	for _, c := range g.Checks {
		checks[strings.TrimPrefix(c.Path, "::")] = c.tally
	}
	for _, sub := range g.Groups {
		sub.addTo(checks)
	}
}

// readContend adds what contend's document says.
func (o *outcome) readContend(document []byte) error {
	var d struct {
		Results []struct {
			Completed, Failed int64
			Errored           map[string]int64
			Checks            []struct {
				Name           string
				Passed, Failed int64
			}
		}
		Expectations []struct {
			Text string
			Held bool
		}
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return err
	}
	o.Checks, o.Thresholds = map[string]tally{}, map[string]bool{}
	for _, r := range d.Results {
		o.Iterations += r.Completed + r.Failed
		for _, n := range r.Errored {
			o.Iterations += n
		}
		for _, c := range r.Checks {
			o.Checks[c.Name] = tally{c.Passed, c.Failed}
		}
	}
	for _, x := range d.Expectations {
		o.Thresholds[x.Text] = x.Held
	}
	return nil
}
