package main

import (
	"context"
	"fmt"
)

// A pair is what is compared: two servers; the candidate does one thing more, or nothing
// more.
type pair struct {
	name string
	// kinds are the names of rows, kinds of work or functions, that say it; none: the
	// servers are equal.
	kinds []string
	path  string
	// commands returns those of baseline and candidate.
	commands func(context.Context, builder) (baseline, candidate string, err error)
}

func (p pair) equal() bool { return len(p.kinds) == 0 }

// pairs returns all that is compared: the causes in Go, those in C, and five kinds of equal
// servers.
func pairs() []pair {
	var all []pair
	for _, c := range causes {
		all = append(all, ofGo(c.name, c.kinds))
	}
	for _, c := range []struct {
		cause string
		kinds []string
	}{
		{"hashing", []string{"fingerprint"}},
		{"lock", []string{"futex (lock)", "locks", "system call futex"}},
		{"fsync", []string{"fsync", "system call fsync"}},
	} {
		all = append(all, ofC("c-"+c.cause, c.cause, c.kinds))
	}
	return append(all,
		ofGo(none, nil),
		ofC("c-none", none, nil),
		equals("fasthttp-none", "/status", func(b builder) (string, error) {
			return fmt.Sprintf("'%s' serve counter --http {{addr}}", b.contend), nil
		}),
		equals("python-none", "/", func(b builder) (string, error) { return b.script("python3", "equal.py") }),
		equals("node-none", "/", func(b builder) (string, error) { return b.script("node", "equal.js") }),
	)
}

func ofGo(cause string, kinds []string) pair {
	command := func(b builder, cause string) string {
		return fmt.Sprintf("'%s' %s %s {{addr}}", b.self, serveCommand, cause)
	}
	return pair{cause, kinds, "/", func(_ context.Context, b builder) (string, string, error) {
		return command(b, none), command(b, cause), nil
	}}
}

func ofC(name, cause string, kinds []string) pair {
	return pair{name, kinds, "/", func(ctx context.Context, b builder) (string, string, error) {
		baseline, err := b.c(ctx, none)
		if err != nil {
			return "", "", err
		}
		candidate, err := b.c(ctx, cause)
		return baseline, candidate, err
	}}
}

func equals(name, path string, command func(builder) (string, error)) pair {
	return pair{name, nil, path, func(_ context.Context, b builder) (string, string, error) {
		same, err := command(b)
		return same, same, err
	}}
}
