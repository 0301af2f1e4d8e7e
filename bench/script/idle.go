package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

// The two numbers of virtual users whose difference is divided.
const fewIdle, manyIdle = 100, 1000

// maxIdle is the bar: what a virtual user may take, in bytes.
const maxIdle = 40_000

// idle prints the resident memory of both tools with few and with many virtual
// users that sleep, and what one more of them takes.
func (t tools) idle(ctx context.Context, w io.Writer, rounds int) error {
	all := []tool{t.ours, t.theirs}
	measured, err := paired.Alternate(len(all), rounds, func(which int) (memory, error) {
		few, err := all[which].resident(ctx, fewIdle)
		if err != nil {
			return memory{}, err
		}
		many, err := all[which].resident(ctx, manyIdle)
		return memory{few, many}, err
	})
	if err != nil {
		return err
	}
	for i, one := range all {
		var few, many, more []float64
		for _, m := range measured[i] {
			few, many, more = append(few, m.few/1e6), append(many, m.many/1e6), append(more, (m.many-m.few)/(manyIdle-fewIdle))
		}
		fmt.Fprintf(w, "  %s: %.0f MB with %d virtual users, %.0f MB with %d, %.1f kB for one more (medians of %d)", one.name,
			paired.Median(few), fewIdle, paired.Median(many), manyIdle, paired.Median(more)/1e3, rounds)
		if i == 0 {
			fmt.Fprintf(w, "; bar %d kB: %s", maxIdle/1000, paired.Outcome(paired.Median(more) <= maxIdle))
		}
		fmt.Fprintln(w)
	}
	return nil
}

// memory is what was resident, in bytes.
type memory struct{ few, many float64 }

// resident is the median resident memory of the last two seconds but a quarter in
// which so many virtual users sleep.
func (t tool) resident(ctx context.Context, vus int) (float64, error) {
	command := t.measured("idle.js", []string{fmt.Sprintf("VUS=%d", vus), "DURATION=" + asleep.String()})
	cmd := exec.CommandContext(ctx, command.Path, command.Args...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	var seen []float64
	for {
		select {
		case err := <-ended:
			exit, coded := errors.AsType[*exec.ExitError](err)
			if err != nil && !(coded && exit.ExitCode() > 0 && len(seen) > int(2*time.Second/every)) {
				return 0, fmt.Errorf("%s: %w", filepath.Base(t.path), err)
			}
			from, to := len(seen)-int(2*time.Second/every), len(seen)-int(250*time.Millisecond/every)
			if from < 0 {
				return 0, fmt.Errorf("%s: ended after %d samples of its memory: %w", filepath.Base(t.path), len(seen), err)
			}
			return paired.Median(seen[from:to]), nil
		case <-tick.C:
			if bytes, err := residentNow(cmd.Process.Pid); err == nil {
				seen = append(seen, bytes)
			}
		}
	}
}

// residentNow reads a process's resident memory in bytes.
func residentNow(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of %d has %d fields", pid, len(fields))
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err
}
