package abtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"contend/history"
	"contend/internal/revision"
)

// keep adds the result to the history in a folder, unless that is "": what contend history import finds in the
// benchmark lines, with the verdicts.
func (r *Result) keep(ctx context.Context, folder string) error {
	if folder == "" {
		return nil
	}
	kept, err := r.kept()
	if err != nil {
		return fmt.Errorf("abtest: %w", err)
	}
	if repository, err := revision.Open(ctx, revision.Place{Folder: ".", Env: os.Environ()}); err == nil {
		if head, err := repository.Head(ctx); err == nil { // else there is no commit to name
			kept.Commit, kept.Changed = head.Commit, head.Changed
			kept.About(head.Committed, head.Subject)
		}
	}
	store, err := history.Open(folder)
	if err == nil {
		_, err = store.Add(kept)
	}
	if err != nil {
		return fmt.Errorf("abtest: history %s: %w", folder, err)
	}
	return nil
}

// kept has the medians of the benchmark lines, those of the baseline first. The candidate's have what they were
// compared with.
func (r *Result) kept() (history.Result, error) {
	var lines bytes.Buffer
	r.WriteBenchmarks(&lines) // a buffer takes all of them
	read, err := history.ReadBenchmarks(&lines, time.Now(), nil)
	if err != nil || len(read) != 1 {
		return history.Result{}, cmp.Or(err, errors.New("no function was measured"))
	}
	kept := read[0]
	kept.Key.Toolchain, kept.Key.Cores = runtime.Version(), runtime.NumCPU()
	baseline := kept.Values[0].Variant
	for i := range kept.Values {
		v := &kept.Values[i]
		if v.Variant == baseline {
			continue
		}
		for _, b := range kept.Values {
			if b.Variant == baseline && b.Metric == v.Metric {
				v.Baseline = b.Value
			}
		}
		switch {
		case v.Metric == history.CountedInstructions && r.Instructions != nil:
			r.Instructions.into(v, r.Replications, func(round Round) float64 { return round.InstructionsLogRatio })
		case v.Primary && r.Verdict != "":
			r.Comparison.into(v, r.Replications, func(round Round) float64 { return round.LogRatio })
		}
	}
	return kept, nil
}

// tested is the import path of the package under test; "" if its binary does not have it.
func tested() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	path, ok := strings.CutSuffix(info.Path, ".test")
	if !ok {
		return ""
	}
	return path
}

// into adds the comparison to a value.
func (c Comparison) into(v *history.Value, rounds []Round, of func(Round) float64) {
	v.Verdict, v.LogRatio = string(c.Verdict), math.Log(c.Ratio)
	if c.Bounded() {
		v.Low, v.High, v.Level = math.Log(c.Low), math.Log(c.High), c.Level
	}
	for _, round := range rounds {
		v.Rounds = append(v.Rounds, of(round))
	}
}
