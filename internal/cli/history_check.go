package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"contend/experiment"
	"contend/history"
	"contend/history/change"
	"contend/internal/unit"
	"contend/metric"
	"contend/report"
)

// check looks at what verdicts were asked for, and repeats the newest step of each such line that was neither confirmed nor
// repeated often enough. What is confirmed is said once: the repetition is kept with the results.
func (h *historyFlags) check(ctx context.Context, store *history.Store, lines []history.Line) error {
	looked, confirmed := false, false
	for _, l := range lines {
		if !l.Primary && h.Metric == "" || l.Last() == nil {
			continue
		}
		looked = true
		c, step, before, after, err := h.repeat(ctx, store, &l)
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(h.Out, "%s: no new step among %d results\n", metric.Name(l.Metric).Words(), len(l.Series()))
			continue
		}
		h.tell(l, *c, step, before, after)
		confirmed = confirmed || c.Confirmed
	}
	if !looked {
		fmt.Fprintln(h.Out, "Nothing to check: no result has a ratio to an anchor")
	}
	if confirmed {
		return &exitError{exitUnmet, nil}
	}
	return nil
}

// repeat compares the revisions before and after the newest step that is to be repeated; the confirmation is nil without one.
func (h *historyFlags) repeat(ctx context.Context, store *history.Store, l *history.Line) (c *change.Confirmation, step change.Step, before, after history.Point, err error) {
	series := l.Series()
	step, from, to, ok := change.Next(l.Steps(), l.Known(), len(series))
	if !ok {
		return nil, step, before, after, nil
	}
	before, after = series[from], series[to]
	command := h.repeats(l.Asked, before, after)
	fmt.Fprintf(h.Err, "history: %s may have changed at %.7s: comparing %.7s with %.7s\n", metric.Name(l.Metric).Words(), series[step.At].Commit, after.Commit, before.Commit)
	doc, err := h.compared(ctx, command)
	if err != nil {
		return nil, step, before, after, fmt.Errorf("%w; the command was: %s", err, h.typed(command))
	}
	for _, r := range doc.ForHistory("", false) {
		r.Key.Asked = l.Asked
		r.Repeats = &history.Repeats{From: series[step.From].Commit, To: series[step.To].Commit, Up: step.Size > 0, Points: len(series), Build: step.Build}
		at := slices.IndexFunc(r.Values, func(v history.Value) bool { return v.Of == l.Of })
		if at < 0 || !r.Values[at].Compared() {
			continue
		}
		repository, _ := h.checkout(ctx)
		if _, err := h.addTo(ctx, store, repository, []history.Result{r}); err != nil {
			return nil, step, before, after, failed(err)
		}
		confirmed := l.Confirm(step, history.Point{Stored: history.Stored{Result: r}, Value: r.Values[at]})
		after.Value.Functions = r.Values[at].Functions
		return &confirmed, step, before, after, nil
	}
	return nil, step, before, after, &exitError{exitUndecided, fmt.Errorf("the repetition has no valid result: %s", h.typed(command))}
}

// repeats are the words of the command that compares the revisions before and after a step.
func (h *historyFlags) repeats(asked string, before, after history.Point) []string {
	words, err := experiment.SplitWords(asked)
	if err != nil || len(words) < 2 {
		return nil
	}
	return slices.Concat(words[1:2], []string{"--revisions", fmt.Sprintf("%.12s,%.12s", before.Commit, after.Commit)}, words[2:])
}

// compared runs a comparison in a process of its own and returns its document.
func (h *historyFlags) compared(ctx context.Context, words []string) (*report.Document, error) {
	if len(words) == 0 || words[0] != "compare" || !slices.Contains(words, "--build") {
		return nil, failed(errors.New("only results of compare --build can be confirmed"))
	}
	folder, err := os.MkdirTemp("", "contend-history-*")
	if err != nil {
		return nil, failed(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "result.json")
	me, err := self()
	if err != nil {
		return nil, failed(err)
	}
	cmd := exec.CommandContext(ctx, me[0], slices.Insert(slices.Clone(words), 1, "-o", file)...)
	cmd.Stdout, cmd.Stderr = h.Err, h.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run() // an exit code of its own says which verdict it is
	f, missing := openDocument(file)
	if missing != nil {
		return nil, failed(fmt.Errorf("the comparison failed: %w", cmp.Or(err, missing)))
	}
	defer f.Close()
	doc, err := report.Read(f)
	if doc == nil {
		return nil, failed(err)
	}
	return doc, nil
}

// tell says what a repetition showed.
func (h *historyFlags) tell(l history.Line, c change.Confirmation, s change.Step, before, after history.Point) {
	series := l.Series()
	word := map[bool]string{true: "CONFIRMED", false: "not confirmed"}[c.Confirmed]
	where := fmt.Sprintf("%.7s", series[s.At].Commit)
	if s.From < s.To {
		where += fmt.Sprintf(" (or one from %.7s to %.7s)", series[s.From].Commit, series[s.To].Commit)
	}
	if subject := series[s.At].Subject; subject != "" {
		where += fmt.Sprintf(", %q", subject)
	}
	ratio := func(log float64) string { return unit.Change(math.Exp(log)) }
	fmt.Fprintf(h.Out, "%s: %s %s (95%% CI %s to %s) since %s\n", word, metric.Name(l.Metric).Words(), ratio(c.Size), ratio(c.Low), ratio(c.High), where)
	for _, f := range after.Value.Functions[:min(len(after.Value.Functions), 3)] {
		fmt.Fprintf(h.Out, "  %s: %s → %s instructions per op\n", f.Name, unit.Digits(f.Baseline), unit.Digits(f.Value))
	}
	fmt.Fprintf(h.Out, "Next: repeat it\n  %s\n", h.typed(h.repeats(l.Asked, before, after)))
}
