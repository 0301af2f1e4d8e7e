package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
)

// What a file says if it is a script of a load test, if it has a function that any load can call, and if it asks for an address.
var (
	ofK6       = regexp.MustCompile(`(?:from|import|require\()\s*['"]k6(?:/[\w/]+)?['"]`)
	withLoad   = regexp.MustCompile(`export\s+default|exports\.default|\bas\s+default\b`)
	ownLoad    = regexp.MustCompile(`\bscenarios\b`)
	anyAddress = regexp.MustCompile(`__ENV\.(\w*URL\w*)`)
	// An address that is written down, but for those that something is imported from.
	written = regexp.MustCompile(`(?m)(from\s*|import\s*|require\()?(["'\x60])(http|ws)s?://[\w.-]+(:\d+)?`)
)

// strangers reads the scripts of a folder and of those below it, as others wrote them. Their default function runs
// twice; those without one run with the load that they have.
func strangers(dir string) (all []script, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || !isSource(path, entry) {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && ofK6.Match(text) && (withLoad.Match(text) || ownLoad.Match(text)) {
			all = append(all, newStranger(dir, path, string(text)))
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s has no script that imports k6 and exports a default function or scenarios", dir)
	}
	return all, err
}

// isSource reports whether a file has code of scripts.
func isSource(path string, entry fs.DirEntry) bool {
	kind := filepath.Ext(path)
	return entry.Type().IsRegular() && (kind == ".js" || kind == ".ts")
}

// newStranger is a script whose addresses are the server's.
func newStranger(dir, path, text string) script {
	s := script{Path: path, About: "a stranger's", Stranger: dir, Addresses: []string{"BASE_URL"}}
	for _, m := range anyAddress.FindAllStringSubmatch(text, -1) {
		s.Addresses = append(s.Addresses, m[1])
	}
	if withLoad.MatchString(text) {
		s.Flags = []string{"--vus", "1", "--iterations", "2"}
	}
	return s
}

// drawn has Math.random draw the same numbers in both tools (Lehmer's generator with the multiplier of Park and Miller, CACM 31, 1988).
const drawn = "Math.random = (() => { let x = 1; return () => (x = x * 16807 % 2147483647) / 2147483647; })(); "

// movedTo returns the script in a copy of its folder in which the addresses are the server's, and Math.random is drawn. Nothing
// else is changed.
func (s script) movedTo(address string) (script, error) {
	dir, err := os.MkdirTemp("", "contend-strangers")
	if err != nil {
		return s, err
	}
	name, err := filepath.Rel(s.Stranger, s.Path)
	err = errors.Join(err, os.CopyFS(dir, os.DirFS(s.Stranger)), filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !isSource(path, entry) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = written.ReplaceAllFunc(text, func(found []byte) []byte {
			parts := written.FindSubmatch(found)
			if len(parts[1]) > 0 {
				return found
			}
			return fmt.Appendf(nil, "%s%s://%s", parts[2], parts[3], address)
		})
		if path == filepath.Join(dir, name) {
			text = append([]byte(drawn), text...)
		}
		return os.WriteFile(path, text, 0o600)
	}))
	if err != nil {
		return s, errors.Join(err, os.RemoveAll(dir))
	}
	s.Stranger, s.Path = dir, filepath.Join(dir, name)
	return s, nil
}

// sameStrangers runs each script with k6, where there is one, and with contend, and prints in what they differ.
func sameStrangers(ctx context.Context, out io.Writer, t tools, dir string) error {
	all, err := strangers(dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "script\trequests\titerations\tchecks\tthresholds\texit\tsame\tdiffers in")
	answers := map[string]int{}
	for _, one := range all {
		row, answer, in, err := t.stranger(ctx, one)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			answer, in = failed, err.Error()
		}
		answers[answer]++
		name, _ := filepath.Rel(dir, one.Path)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, cells(row), answer, in)
		_ = w.Flush() // the next one may take long
	}
	fmt.Fprintf(w, "\n%d of %d the same, %d refused, %d refused without a line, %d differ, %d not compared\n",
		answers[yes], len(all), answers[notTaken], answers[noLine], answers[no], answers[failed]+answers[alone])
	return w.Flush()
}

// What is said of a script that one of the tools did not end, and of one that only contend ran.
const (
	failed = "failed"
	alone  = "alone"
)

// stranger runs one script, and returns what k6 did, or contend where there is no k6.
func (t tools) stranger(ctx context.Context, one script) (row outcome, answer, in string, err error) {
	if t.theirs.command == nil {
		row, err := t.ours.run(ctx, one)
		if reason, not := errors.AsType[refused](err); not {
			return row, notTaken, reason.text, nil
		}
		return row, alone, "", err
	}
	want, err := t.theirs.run(ctx, one)
	if _, not := errors.AsType[refused](err); err != nil && !not {
		return want, "", "", fmt.Errorf("k6: %w", err)
	}
	answer, in, err = verdict(ctx, t.ours, one, want)
	return want, answer, in, err
}

// anything is a server that answers whatever it is asked: a page with a form and a link to those that want one, an echo
// to WebSockets, and JSON to all others. As a proxy it answers for any host, but not over TLS.
func anything() http.Handler {
	echoes := http.NewServeMux()
	sockets(echoes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			w.WriteHeader(http.StatusBadGateway)
		case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
			r.URL.Path = "/ws"
			echoes.ServeHTTP(w, r)
		case strings.Contains(r.Header.Get("Accept"), "text/html"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>A page</title><form action="/form" method="post"><input name="csrf_token" value="t"><input name="user"></form><a href="/next">next</a>`)
		default:
			answer(w, http.StatusOK, map[string]any{"id": 1, "token": "token", "status": "ok", "data": []any{map[string]any{"id": 1}}})
		}
	})
}
