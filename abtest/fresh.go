package abtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// freshWord marks a process that was started for one round. It is followed by
// the name of the test, the number of the round and the file for its outcome.
const freshWord = "contend-abtest-round"

// runFresh drives each round in a process of its own; in such a process it
// drives that round and ends the test.
func runFresh(t *testing.T, c Config, a, b Func) (*Result, error) {
	c, err := c.withDefaults(a, b)
	if err != nil {
		return nil, err
	}
	if args := os.Args; len(args) >= 4 && args[len(args)-4] == freshWord {
		err := oneRound(t, c, a, b, args[len(args)-3:])
		if err == nil {
			t.SkipNow()
		}
		return nil, err
	}
	rounds, err := c.replicate(func(n int) (Round, error) { return startRound(t, n) })
	if err != nil {
		return nil, err
	}
	r := newResult(benchmarkName(t.Name()), c, [2]string{a.Name, b.Name}, rounds)
	r.funcs = [2]Func{a, b}
	return r, nil
}

// oneRound writes the outcome of a round to a file; other tests than the one
// asked for have nothing to do.
func oneRound(t *testing.T, c Config, a, b Func, args []string) error {
	test, round, file := args[0], args[1], args[2]
	if test != t.Name() {
		return nil
	}
	n, err := strconv.Atoi(round)
	if err != nil {
		return fmt.Errorf("abtest: %w", err)
	}
	p, err := prepare(c, a, b)
	if err != nil {
		return err
	}
	r, err := p.round(t.Context(), n)
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	return errors.Join(err, os.WriteFile(file, data, 0o600))
}

// startRound starts the test binary for one round of this test.
func startRound(t *testing.T, n int) (Round, error) {
	self, err := os.Executable()
	if err != nil {
		return Round{}, fmt.Errorf("abtest: %w", err)
	}
	file := filepath.Join(t.TempDir(), "round.json")
	cmd := exec.CommandContext(t.Context(), self, "-test.run="+pattern(t.Name()), "-test.count=1", "-test.v",
		freshWord, t.Name(), strconv.Itoa(n), file)
	out, err := cmd.CombinedOutput()
	if t.Context().Err() != nil {
		return Round{}, fmt.Errorf("abtest: %w", t.Context().Err())
	}
	var r Round
	data, readErr := os.ReadFile(file)
	if readErr == nil {
		err = errors.Join(err, json.Unmarshal(data, &r))
	} else {
		err = errors.Join(err, readErr)
	}
	if err != nil {
		return Round{}, fmt.Errorf("abtest: round %d in a fresh process: %w\n%s", n+1, err, out)
	}
	return r, nil
}

// pattern is the -test.run that selects one test or subtest.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
