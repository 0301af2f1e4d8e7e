package experiment

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"contend/report"
	"contend/trial"
)

// killedAfter is how long a command may take to end once it was asked to.
const killedAfter = 15 * time.Second

// fromDocuments reports whether the part's arms measure by themselves.
func (p Part) fromDocuments() bool {
	for _, a := range p.Arms {
		if a.Document != "" {
			return true
		}
	}
	return false
}

// repeat runs the commands of a part's arms in rounds.
func (r *runner) repeat(ctx context.Context, p Part, observe func(trial.Progress)) (*trial.Trials, error) {
	var jobs []trial.Job
	for _, name := range r.names(p) {
		words, err := SplitWords(p.Arms[name].Document)
		if err != nil {
			return nil, err
		}
		if at := slices.Index(words, "--redis") + 1; at > 0 && at < len(words) && words[at] == "auto" && r.options.Redis != "" {
			words[at] = r.options.Redis
		}
		command := slices.Concat(r.options.Self, words, []string{"--json"})
		jobs = append(jobs, trial.Job{Name: name, Run: func(ctx context.Context) (trial.Cell, error) {
			cell, err := measuredBy(ctx, command)
			if err == nil {
				cell.Plan.MaxUnfinished = p.Plan.MaxUnfinished
				cell.Derive()
			}
			return cell, err
		}})
	}
	return trial.Repeat(ctx, jobs, p.design(r.options), observe)
}

// measuredBy runs a command and returns the result of the document that it writes. One
// that failed and wrote it nevertheless has measured something that it found wanting.
func measuredBy(ctx context.Context, command []string) (trial.Cell, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killedAfter
	var said bytes.Buffer
	cmd.Stderr = &said
	out, failure := cmd.Output()
	doc, err := report.Read(bytes.NewReader(out))
	switch {
	case failure != nil && (err != nil || ctx.Err() != nil):
		return trial.Cell{}, fmt.Errorf("%w: %s", failure, lastLine(said.Bytes()))
	case err != nil:
		return trial.Cell{}, err
	}
	if len(doc.Results) != 1 {
		return trial.Cell{}, fmt.Errorf("its document has %d results, want 1", len(doc.Results))
	}
	return doc.Results[0].Cell, nil
}
