package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"contend/bench/internal/paired"
)

// A script is a file of testdata with what its first lines say.
type script struct {
	Path   string
	About  string
	Flags  []string // of the command line, as k6 calls them
	Spread int64    // 0: the clock decides nothing

	Stranger  string   // the folder of scripts that others wrote; else "". Its server answers anything, for all hosts, and its requests have no order
	Addresses []string // the variables that are the server's URL
}

// newScript reads the lines "// about:", "// flags:" and "// spread:".
func newScript(path, text string) (s script, err error) {
	s.Path = path
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimPrefix(line, "// "), ":")
		if !strings.HasPrefix(line, "// ") || !found {
			break
		}
		switch value = strings.TrimSpace(value); key {
		case "about":
			s.About = value
		case "flags":
			s.Flags = strings.Fields(value)
		case "spread":
			_, err = fmt.Sscan(value, &s.Spread)
		default:
			err = fmt.Errorf("%s: no such key as %q", path, key)
		}
		if err != nil {
			return s, err
		}
	}
	if s.About == "" {
		err = fmt.Errorf("%s does not begin with a line // about: …", path)
	}
	return s, err
}

// scripts reads the scripts of a folder, those of the names given or all.
func scripts(dir string, names []string) (all []script, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		kind := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), kind)
		if kind != ".js" && kind != ".ts" || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		path, err := filepath.Abs(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, err := newScript(path, string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) < len(names) {
		return nil, fmt.Errorf("of %s only %d are in %s", strings.Join(names, ", "), len(all), dir)
	}
	return all, nil
}

// A tool runs scripts.
type tool struct {
	name, path string
	// command is its arguments for a script, with which it writes a document.
	command func(s script, base, document string) []string
	// exit is the class of an exit code.
	exit func(code int) string
	read func(o *outcome, document []byte) error
	// loading are its arguments, without variables and the script, with which it
	// writes to standard output what count reads.
	loading  []string
	variable string // the flag of a variable of a script
	count    func(report []byte) (completed, wrong int64, err error)
}

// tools are the two that are compared.
type tools struct {
	ours, theirs tool
	version      string // of theirs
	contend      string // a binary of contend, whatever ours is
}

func k6(path string) tool {
	return tool{"k6", path, func(s script, base, document string) []string {
		return slices.Concat([]string{"run", "-q", "--no-color", "--no-usage-report", "--address", "", "--summary-export", document, "-e", "BASE=" + base},
			s.Flags, []string{s.Path})
	}, func(code int) string {
		switch code {
		case 0:
			return done
		case 99:
			return crossed
		}
		return scriptErr
	}, (*outcome).readK6, []string{"run", "-q", "--no-color", "--no-usage-report", "--address", ""}, "-e", countK6}
}

// called is what contend calls flags of k6.
var called = map[string]string{"--vus": "-c", "--iterations": "-n", "--duration": "-d"}

func contend(path string) tool {
	return tool{"contend", path, func(s script, base, document string) []string {
		args := []string{"run", "-o", document, "-e", "BASE=" + base}
		for _, flag := range s.Flags {
			args = append(args, cmp.Or(called[flag], flag))
		}
		return append(args, s.Path)
	}, func(code int) string {
		switch code {
		case 0, 4: // done, but the figures are doubted, as those of a run of a moment are
			return done
		case 3:
			return crossed
		}
		return scriptErr
	}, (*outcome).readContend, []string{"run", "--json", "--script-root", "."}, "-e", paired.CountContend}
}

// refused is the error of a tool that does not take a script.
type refused struct{ text string }

func (r refused) Error() string { return r.text }

// limit is how long a script may take.
const limit = 30 * time.Second

// run lets the tool run a script against a server of its own.
func (t tool) run(ctx context.Context, s script) (o outcome, err error) {
	dir, err := os.MkdirTemp("", "contend-script")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	document := filepath.Join(dir, "document.json")
	answering := service()
	if s.Stranger != "" {
		answering = anything()
	}
	address, recorded, stop, err := startServer(answering)
	if err != nil {
		return o, err
	}
	defer stop()
	if recorded.any = s.Stranger != ""; recorded.any {
		if s, err = s.movedTo(address); err != nil {
			return o, err
		}
		defer os.RemoveAll(s.Stranger)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, t.command(s, "http://"+address, document)...)
	// k6 must not look for extensions on the network.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "K6_AUTO_EXTENSION_RESOLUTION=false")
	if s.Stranger != "" {
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
			cmd.Env = append(cmd.Env, name+"=http://"+address)
		}
		for _, name := range s.Addresses {
			cmd.Env = append(cmd.Env, name+"=http://"+address)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || ctx.Err() != nil {
		return o, errors.Join(err, ctx.Err())
	}
	o.Code = cmd.ProcessState.ExitCode()
	o.Exit, o.Requests = t.exit(o.Code), recorded.byVU()
	written, err := os.ReadFile(document)
	switch {
	case errors.Is(err, os.ErrNotExist) && o.Exit == scriptErr:
		return o, refused{firstLine(stderr.String())}
	case err != nil:
		return o, fmt.Errorf("%s wrote no document: %.500s", filepath.Base(t.path), stderr.String())
	}
	o.Said, err = said(string(stdout), dir, document)
	return o, errors.Join(err, t.read(&o, written))
}

// said is what the summary of a script wrote: lines that begin with said:, and files.
func said(stdout, dir, document string) (string, error) {
	var text strings.Builder
	for line := range strings.Lines(stdout) {
		if strings.HasPrefix(line, "said: ") {
			text.WriteString(line)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if path == document {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s: %s", e.Name(), content)
	}
	return text.String(), nil
}

// message finds what a line of k6's log says.
var message = regexp.MustCompile(`level=error msg="((?:[^"\\]|\\.)*)"`)

// firstLine is the first error that a tool names.
func firstLine(stderr string) string {
	if found := message.FindStringSubmatch(stderr); found != nil {
		stderr, _, _ = strings.Cut(found[1], `\n`)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	return line
}
