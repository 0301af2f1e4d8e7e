package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"contend/bench/internal/paired"
)

// testdata is the folder of the scripts, from the project's root.
const testdata = "bench/script/testdata"

// same runs each script once with k6 and once with contend, and prints what k6 did
// and in what contend differs.
func same(ctx context.Context, out io.Writer, t tools, names []string) error {
	all, err := scripts(testdata, names)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d scripts, k6 %s, ", len(all), t.version)
	paired.PrintEnvironment(out)
	if !t.ours.takesScripts(ctx) {
		fmt.Fprintf(out, "this %s takes no scripts: what k6 does is shown alone\n", t.ours.name)
		t.ours.command = nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nscript\trequests\titerations\tchecks\tthresholds\texit\tsame\tdiffers in")
	answers := map[string]int{}
	for _, one := range all {
		want, err := t.theirs.run(ctx, one)
		if _, not := errors.AsType[refused](err); err != nil && !not {
			return fmt.Errorf("%s: k6: %w", filepath.Base(one.Path), err)
		}
		answer, in, err := verdict(ctx, t.ours, one, want)
		if err != nil {
			return fmt.Errorf("%s: contend: %w", filepath.Base(one.Path), err)
		}
		answers[answer]++
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", filepath.Base(one.Path), cells(want), answer, in)
	}
	if t.ours.command != nil {
		fmt.Fprintf(w, "\n%d of %d the same, %d refused, %d refused without a line, %d differ\n",
			answers[yes], len(all), answers[notTaken], answers[noLine], answers[no])
	}
	return w.Flush()
}

// The results of a script. One that contend does not accept must be refused before
// anything runs, with its line.
const (
	yes      = "yes"
	no       = "no"
	notTaken = "refused"
	noLine   = "refused, no line"
)

// verdict lets contend run a script and reports whether it did what was wanted; if
// not, in what it differed, or with which words it refused.
func verdict(ctx context.Context, ours tool, one script, want outcome) (answer, in string, err error) {
	if ours.command == nil {
		return "–", "", nil
	}
	got, err := ours.run(ctx, one)
	reason, not := errors.AsType[refused](err)
	switch {
	case err != nil && !not:
		return "", "", err
	case not && want.Exit == scriptErr && want.count() == 0:
		return yes, "", nil // neither takes it
	case not && atLine.MatchString(reason.text):
		return notTaken, reason.text, nil
	case not:
		return noLine, reason.text, nil
	}
	if differ := differences(want, got, one.Spread); len(differ) > 0 {
		return no, strings.Join(differ, "; "), nil
	}
	return yes, "", nil
}

// takesScripts reports whether the tool runs the smallest of the scripts.
func (t tool) takesScripts(ctx context.Context) bool {
	smallest, err := scripts(testdata, []string{"no_options"})
	if err != nil {
		return false
	}
	_, err = t.run(ctx, smallest[0])
	return err == nil
}

// atLine finds a place in a script.
var atLine = regexp.MustCompile(`\.[jt]s:\d+`)

// cells are the columns of a table about an outcome.
func cells(o outcome) string {
	checks, missed := o.tallies()
	text := []string{fmt.Sprint(o.count()), fmt.Sprint(o.Iterations), "–", "–", fmt.Sprintf("%s (%d)", o.Exit, o.Code)}
	if len(o.Checks) > 0 {
		text[2] = fmt.Sprintf("%d held, %d not", checks.Passes, checks.Fails)
	}
	if n := len(o.Thresholds); n > 0 {
		text[3] = fmt.Sprintf("%d held, %d not", n-missed, missed)
	}
	return strings.Join(text, "\t")
}
