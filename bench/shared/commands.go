package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/trial"
)

// counterKey and counterField are where the servers keep their counter.
const (
	counterKey   = "{contend:counter}"
	counterField = "counter"
)

// commands is the row of what Redis does for an increment.
func (b *bench) commands(ctx context.Context) error {
	fmt.Fprintf(b.out, "\ncommands: what Redis' INFO commandstats counts for an increment, %d connections over HTTP\n", connections)
	each := map[string]float64{}
	for _, design := range []string{naive, script, combining} {
		before, err := b.asked()
		if err != nil {
			return err
		}
		if _, err := trial.Measure(ctx, b.arm(design), b.plan(connections)); err != nil {
			return err
		}
		after, err := b.asked()
		if err != nil {
			return err
		}
		increments := float64(after.counter - before.counter)
		if increments <= 0 {
			return fmt.Errorf("%s: the counter went from %d to %d", design, before.counter, after.counter)
		}
		fmt.Fprintf(b.out, "  %s:", design)
		for _, name := range slices.Sorted(maps.Keys(after.calls)) {
			if n := after.calls[name] - before.calls[name]; n > 0 && counts(name) {
				each[design] += float64(n) / increments
				fmt.Fprintf(b.out, " %s %.4f,", name, float64(n)/increments)
			}
		}
		fmt.Fprintf(b.out, " together %.4f, those in scripts included\n", each[design])
	}
	reached := map[bool]string{true: "reached", false: "MISSED"}[each[combining] <= 0.1*each[script]]
	fmt.Fprintf(b.out, "  %s ÷ %s: %.4f, bar ≤ 0.1: %s\n", combining, script, each[combining]/each[script], reached)
	return nil
}

// counts says whether a command is part of an increment without an idempotency
// key, and not of making a connection or of looking whether it still stands.
func counts(name string) bool {
	name, _, _ = strings.Cut(name, "|")
	return !slices.Contains([]string{"ping", "hello", "client", "info", "auth", "select", "quit", "script", "command", "cluster", "exists"}, name)
}

// An asked is what Redis was asked for so far, and how far the counter is.
type asked struct {
	calls   map[string]int64 // by command
	counter int64
}

func (b *bench) asked() (asked, error) {
	path, ok := strings.CutPrefix(b.redis.URL(), "unix://")
	if !ok {
		return asked{}, fmt.Errorf("%s is no Unix socket", b.redis.Place())
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return asked{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return asked{}, err
	}
	if _, err := fmt.Fprintf(conn, "INFO commandstats\r\nHGET %s %s\r\n", counterKey, counterField); err != nil {
		return asked{}, err
	}
	replies := bufio.NewReader(conn)
	stats, err := readBulk(replies)
	if err != nil {
		return asked{}, err
	}
	value, err := readBulk(replies)
	if err != nil {
		return asked{}, err
	}
	a := asked{calls: map[string]int64{}}
	if value != "" {
		if a.counter, err = strconv.ParseInt(value, 10, 64); err != nil {
			return asked{}, err
		}
	}
	for line := range strings.Lines(stats) {
		if err := a.add(strings.TrimSpace(line)); err != nil {
			return asked{}, err
		}
	}
	return a, nil
}

// add takes a line such as cmdstat_hget:calls=21,usec=42,…; others are no
// figures of a command.
func (a asked) add(line string) error {
	rest, ok := strings.CutPrefix(line, "cmdstat_")
	name, figures, found := strings.Cut(rest, ":calls=")
	if !ok || !found {
		return nil
	}
	calls, _, _ := strings.Cut(figures, ",")
	n, err := strconv.ParseInt(calls, 10, 64)
	if err != nil {
		return fmt.Errorf("INFO commandstats: %q", line)
	}
	a.calls[name] = n
	return nil
}

// readBulk reads a string of Redis' protocol, "" for none.
func readBulk(r *bufio.Reader) (string, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	size, ok := strings.CutPrefix(strings.TrimSpace(head), "$")
	n, err := strconv.Atoi(size)
	switch {
	case !ok || err != nil || n > 1<<20:
		return "", fmt.Errorf("redis answers %.100q", head)
	case n < 0:
		return "", nil
	}
	text := make([]byte, n+len("\r\n"))
	if _, err := io.ReadFull(r, text); err != nil {
		return "", errors.Join(errors.New("redis ends in the middle of an answer"), err)
	}
	return string(text[:n]), nil
}
