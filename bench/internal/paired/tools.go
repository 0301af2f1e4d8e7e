package paired

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Tool is a generator of load with the command line of a block.
type Tool struct {
	Name string
	Path string // empty: Name is looked for
	Args []string
	// Count reads from a block's standard output how many iterations completed
	// and how many had a wrong answer or none.
	Count func(report []byte) (completed, wrong int64, err error)
	// Bar is what the ratio of contend to this peer shall reach; 0: it is
	// measured only.
	Bar float64
	// VersionFlag asks for its version; empty means --version.
	VersionFlag string
	// Doubts are the exit codes with which it doubts figures that count nevertheless.
	Doubts []int
}

// A Block is what a tool did in one block.
type Block struct {
	Completed int64
	CPU       time.Duration // of the tool's process, its start included
}

// Run runs one block. Wrong or missing answers make it worthless: an error.
func (t Tool) Run(ctx context.Context) (Block, error) {
	cmd := exec.CommandContext(ctx, t.Path, t.Args...)
	report, err := Output(cmd, t.Doubts...)
	if err != nil {
		return Block{}, err
	}
	completed, wrong, err := t.Count(report)
	if err != nil {
		return Block{}, fmt.Errorf("%s: %w\n%.2000s", t.Name, err, report)
	}
	if wrong > 0 || completed == 0 {
		return Block{}, fmt.Errorf("%s: %d right and %d wrong or missing answers", t.Name, completed, wrong)
	}
	return Block{completed, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

// Doubted is the exit code of contend where its figures are INVALID, as those of a
// generator at its limit: that is what benchmarks of generators drive it to.
const Doubted = 4

// Output is that of cmd, whose exit code is 0 or one of the others; the error has what it
// wrote to standard error.
func Output(cmd *exec.Cmd, others ...int) ([]byte, error) {
	report, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed && slices.Contains(others, exit.ExitCode()):
		return report, nil
	case failed:
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
	}
	return report, err
}

// Version returns the module version that a Go program was built from, or the
// first number that a program prints when asked. Some exit with an error after
// that.
func (t Tool) Version() string {
	if info, err := buildinfo.ReadFile(t.Path); err == nil {
		return info.Main.Version
	}
	out, _ := exec.Command(t.Path, cmp.Or(t.VersionFlag, "--version")).CombinedOutput()
	return string(regexp.MustCompile(`\d+(\.\d+)+\S*`).Find(out))
}

// Contend is contend run with a JSON document, to be completed by its target.
func Contend(path string, args ...string) Tool {
	return Tool{Name: "contend", Path: path, Args: append([]string{"run", "--json"}, args...), Count: CountContend, Doubts: []int{Doubted}}
}

// CountContend reads the document of contend run --json.
var CountContend = CountJSON(func(document struct {
	Results []struct {
		Completed, Failed int64
		Errored           map[string]int64
	}
}) (completed, wrong int64, err error) {
	if len(document.Results) != 1 {
		return 0, 0, errors.New("want one result")
	}
	wrong = document.Results[0].Failed
	for _, n := range document.Results[0].Errored {
		wrong += n
	}
	return document.Results[0].Completed, wrong, nil
})

// CountJSON reads reports in JSON, whose form count knows.
func CountJSON[T any](count func(T) (completed, wrong int64, err error)) func([]byte) (int64, int64, error) {
	return func(report []byte) (int64, int64, error) {
		var document T
		if err := json.Unmarshal(report, &document); err != nil {
			return 0, 0, err
		}
		return count(document)
	}
}

// CountFortio reads the document of fortio load.
var CountFortio = CountJSON(func(document struct{ RetCodes map[string]int64 }) (completed, wrong int64, err error) {
	completed, wrong = split(document.RetCodes)
	return completed, wrong, nil
})

// CountOha reads the document of oha; it leaves out what oha itself cut off at its deadline.
var CountOha = CountJSON(func(document struct{ StatusCodeDistribution, ErrorDistribution map[string]int64 }) (completed, wrong int64, err error) {
	completed, wrong = split(document.StatusCodeDistribution)
	for text, n := range document.ErrorDistribution {
		if !strings.Contains(text, "deadline") {
			wrong += n
		}
	}
	return completed, wrong, nil
})

func split(byStatus map[string]int64) (completed, wrong int64) {
	for status, n := range byStatus {
		if status == "200" {
			completed = n
		} else {
			wrong += n
		}
	}
	return completed, wrong
}

// CountWrk reads the report of wrk.
var CountWrk = CountText(`(\d+) requests in`, `Non-2xx or 3xx responses: (\d+)|Socket errors: connect (\d+)`)

// CountText reads reports for people: completed has one group; wrong matches
// only where something was wrong.
func CountText(completed, wrong string) func([]byte) (int64, int64, error) {
	return func(report []byte) (int64, int64, error) {
		found := regexp.MustCompile(completed).FindSubmatch(report)
		if found == nil {
			return 0, 0, fmt.Errorf("report does not say %q", completed)
		}
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		return n, int64(len(regexp.MustCompile(wrong).FindAll(report, -1))), err
	}
}
