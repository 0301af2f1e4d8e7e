package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"contend/internal/lazyregexp"
	"contend/internal/testenv"
)

// Every command in a fenced block of the pages is run, those from the section Install of the README on by
// TestReadmeInOrder: lines that begin with "$ contend " or "$ go run ./cmd/contend ", up to a pipe, a
// redirection or a comment, each once. They run in an empty folder, with these stand-ins:
//
//   - flags that make them short (shorter), in place of their own;
//   - localhost:8080 and localhost:50055 are a counter over HTTP and gRPC, any
//     other port of localhost is a server that answers everything with 200;
//   - ./server is examples/server; other programs that begin with ./ are that server, too;
//   - lab lists its experiments, unless it is given a .yaml file, which is then
//     a small experiment;
//   - compare does without --why and what that writes: it takes half a minute, and is run by the script why,
//     and over workers by TestServersOnAMachineOfTheirOwn;
//   - report and compare are given the document of a small run;
//   - commands that insist on one port of localhost are given a free one;
//   - flow.js is a script that asks for its URL, and testingscript.js is that of examples/scripts;
//   - subjects of workers (subject:NAME) are that server, too;
//   - workers of a fleet are started here, and contend worker, which waits for one,
//     only shows its help, as do bisect and history, which want a repository and a folder: see TestBisect and the script history;
//   - serve gets free ports and is ended by SIGTERM once it serves;
//   - the variable REDIS_PASSWORD holds a password.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	var found []documented
	for _, page := range pages(t) {
		text, _, _ := strings.Cut(string(testenv.Read(t, page)), install)
		found = append(found, documentedIn(strings.TrimPrefix(page, "../../"), text)...)
	}
	if !slices.ContainsFunc(found, func(d documented) bool { return strings.HasPrefix(d.place, "docs/start.md:") }) {
		t.Fatalf("%d commands are found, but none in docs/start.md", len(found))
	}
	s := startStandIns(t)
	run := map[string]bool{}
	for _, d := range found {
		command := untilOperator(d.line)
		if run[command] {
			continue
		}
		run[command] = true
		t.Run(d.place+": "+d.line, func(t *testing.T) {
			t.Parallel()
			s.run(t, d.line)
		})
	}
}

// pages are the README, docs/, bench/ and the READMEs of the reference systems.
func pages(t *testing.T) []string {
	found := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../bench/*.md", "../../systems/*/README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 2 {
			t.Fatal(pattern, files, err)
		}
		found = append(found, files...)
	}
	return found
}

const install = "\n## Install\n"

// The commands of the README, from its section Install on, run here in its order, in a folder that
// has only the sources: each command finds what those before it have made. Only flags that make the
// commands short replace theirs, and a free address replaces localhost:8080.
func TestReadmeInOrder(t *testing.T) {
	t.Parallel()
	text := testenv.Read(t, "../../README.md")
	folder, bin, address := t.TempDir(), t.TempDir(), testenv.HeldAddress(t)
	sources, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(sources)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if err := os.Symlink(filepath.Join(sources, one.Name()), filepath.Join(folder, one.Name())); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "server")); err != nil && !errors.Is(err, os.ErrNotExist) { // of whoever has typed it there
		t.Fatal(err)
	}
	typed := 0
	_, commands, _ := strings.Cut(string(text), install) // the section above shows what comes of this
	for line := range strings.Lines(commands) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok || strings.HasPrefix(command, "git clone ") { // its result exists
			continue
		}
		typed++
		words, err := shellWords(strings.ReplaceAll(untilOperator(strings.TrimSpace(command)), "localhost:8080", address))
		if err != nil {
			t.Fatal(err)
		}
		codes := []int{exitDone}
		if strings.HasPrefix(words[0], "./") { // in the background
			s := &server{Cmd: exec.Command(filepath.Join(folder, words[0]), append(words[1:], "-listen", address)...)}
			s.start(t)
			t.Cleanup(s.end)
			testenv.Eventually(t, "it listens", func() bool { conn, err := net.Dial("tcp", address); return err == nil && conn.Close() == nil })
			continue
		}
		if words[0] == "contend" {
			words, codes = shortened(words[1:])
			words = append([]string{filepath.Join(bin, "contend")}, words...)
		}
		run := exec.CommandContext(t.Context(), words[0], words[1:]...)
		run.Dir, run.Env = folder, append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-ldflags=-w "+os.Getenv("GOFLAGS"))
		if strings.HasPrefix(command, "go install ") { // it leaves nothing here, and Go has built the packages of this folder for the tests
			run.Dir = sources
		}
		if out, err := run.CombinedOutput(); !slices.Contains(codes, run.ProcessState.ExitCode()) && !starved(run.ProcessState.ExitCode(), string(out)) {
			t.Errorf("%s %v: %s", command, err, out)
		}
	}
	if typed < 5 {
		t.Errorf("%d commands are typed", typed)
	}
}

type documented struct{ place, line string }

var prompt = lazyregexp.New(`^\s*\$ (?:contend|go run \./cmd/contend)( .*|$)`)

// documentedIn finds the commands in the fenced blocks of Markdown.
func documentedIn(file, text string) []documented {
	var found []documented
	fenced := false
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), "```") {
			fenced = !fenced
			continue
		}
		m := prompt().FindStringSubmatch(lines[i])
		if !fenced || m == nil {
			continue
		}
		place, line := file+":"+strconv.Itoa(i+1), "contend"+m[1]
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
		}
		found = append(found, documented{place, strings.TrimSpace(line)})
	}
	return found
}

// figures are the exit codes of commands that print figures: on a busy machine they may
// be INVALID.
var figures = []int{exitDone, exitUndecided}

// shorter are the flags that a command gets in place of its own, and the exit
// codes that it may have.
var shorter = map[string]struct {
	flags string
	codes []int
}{
	"run":          {"-n 100 -d 1m --warmup 0s", figures},
	"run --expect": {"-n 100 -d 1m --warmup 0s", []int{exitDone, exitUnmet, exitUndecided}},
	"health":       {"--timeout 1m", []int{exitDone}},
	"ab":           {"-n 100", []int{exitDone}},
	"uplink":       {"-n 500", []int{exitDone}},
	"sweep":        {"-d 1m --block " + window.String() + " --warmup 0s --visits 1 --levels 1,2 --think 20ms", figures},
	// Any verdict: on a busy machine even the lowest rate may miss an objective.
	"sweep --rate":    {"-d 1m --block 100ms --warmup 0s --max-attempt 200ms --max-rate 1000", []int{exitDone, exitUnmet, exitUndecided}},
	"compare":         {"--block " + window.String() + " --warmup 0s --rounds 1 --pairs 1 --think 20ms", []int{exitUndecided}},
	"compare --count": {"-d 2s --rounds 3 --pairs 1 --block 100ms --warmup 0s", figures}, // no repetition ends in time on a slow machine
	"calibrate":       {"-c 2 -d 20ms --lengths 10ms --rounds 2 --experiments 1 --store calibration.json", figures},
	"guard":           {"--callers 1 --kind add", figures},
	"guard --inside":  {"-d " + window.String(), figures},
	"fleet":           {"--workers 1", figures}, // a busy machine is not fit
	"pipe":            {"-d " + itemsWindow().String() + " --procs 1 --workers 1:1 --buffer 10000 --batch 1024", figures},
}

type standIns struct{ http, grpc, other, document, server string }

func startStandIns(t *testing.T) standIns {
	counter := startServer(t, "contend", "serve", "counter", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--guard", "mutex")
	other := startServer(t, "subject", "-listen", "127.0.0.1:0")
	dir := t.TempDir()
	s := standIns{http: counter["http"], grpc: counter["grpc"], other: other["http"],
		document: filepath.Join(dir, "run.json"), server: filepath.Join(dir, "server")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", s.server, "../../examples/server").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := exec.CommandContext(t.Context(), "contend", "run", "-n", "9", "-o", s.document, "guard:mutex")
	if out, err := run.CombinedOutput(); !slices.Contains(figures, run.ProcessState.ExitCode()) {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// startServer starts a server and returns its addresses by protocol.
func startServer(t *testing.T, args ...string) map[string]string {
	s := &server{Cmd: exec.Command(args[0], args[1:]...)}
	s.start(t)
	t.Cleanup(func() { s.end() })
	return s.addresses(t)
}

// A server is a process that says where it serves.
type server struct {
	*exec.Cmd
	log   string        // file of its output
	ended chan struct{} // closed when it has
}

func (s *server) start(t *testing.T) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s.Stdout, s.Stderr, s.log, s.ended = out, out, out.Name(), make(chan struct{})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = s.Wait()
	}()
}

func (s *server) output() string {
	text, _ := os.ReadFile(s.log)
	return string(text)
}

var served = lazyregexp.New(`(?m)\bhttp(?:=|://)(\S+)(?: grpc=(\S+))?.*\n`)

// addresses waits until the server serves, or has ended.
func (s *server) addresses(t *testing.T) map[string]string {
	t.Helper()
	var m []string
	testenv.Eventually(t, "it serves", func() bool {
		m = served().FindStringSubmatch(s.output())
		select {
		case <-s.ended:
			return true
		default:
			return m != nil
		}
	})
	if m == nil {
		t.Fatalf("%q: %v, without having served:\n%s", s.Args, s.ProcessState, s.output())
	}
	return map[string]string{"http": m[1], "grpc": m[2]}
}

func (s *server) end() {
	_ = s.Process.Signal(syscall.SIGTERM)
	<-s.ended
}

func (s standIns) run(t *testing.T, line string) {
	if err := parses(untilOperator(line)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args, codes := s.prepare(t, dir, untilOperator(line))
	if slices.Contains(args, "managed") {
		testenv.Program(t, "redis-server")
	}
	if slices.Contains(args, "--count") {
		testenv.Program(t, "valgrind")
	}
	s.scripts(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 2*testenv.Patience)
	defer cancel()
	p := &server{Cmd: exec.CommandContext(ctx, "contend", args...)}
	p.Dir, p.Env = dir, append(os.Environ(), "REDIS_PASSWORD=of a stand-in", "XDG_CACHE_HOME="+dir, "HOME="+dir, "LocalAppData="+dir)
	p.start(t)
	if len(args) > 0 && args[0] == "serve" && !slices.Contains(args, "--help") {
		p.addresses(t)
		p.end()
	}
	<-p.ended
	out, code := p.output(), p.ProcessState.ExitCode()
	if !slices.Contains(codes, code) && !starved(code, out) {
		t.Errorf("%q: %v, want exit code %d:\n%s", p.Args, p.ProcessState, codes, out)
	}
}

// scripts writes those that commands name.
func (s standIns) scripts(t *testing.T, dir string) {
	all := map[string]string{"flow.js": smallScript}
	for _, name := range []string{"testingscript.js", "counter.proto"} {
		text := testenv.Read(t, filepath.Join("../../examples/scripts", name))
		all[name] = localhost().ReplaceAllStringFunc(string(text), s.address)
	}
	for name, text := range all {
		testenv.Write(t, filepath.Join(dir, name), text)
	}
}

// untilOperator cuts a line at what only a shell understands.
func untilOperator(line string) string {
	for _, operator := range []string{" | ", " > ", " 2> ", " && ", " ; ", " # "} {
		line, _, _ = strings.Cut(line, operator)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), " &")
}

var (
	localhost = lazyregexp.New(`\b(?:localhost|127\.0\.0\.1|10\.0\.0\.9):(\d+)`)
	aServer   = lazyregexp.New(`^\./\S+`)
	ofWorkers = lazyregexp.New(`^subject:\S+$`)
	port      = lazyregexp.New(`^:\d+$`)
)

// prepare puts the stand-ins into a command and its folder.
func (s standIns) prepare(t *testing.T, dir, line string) (args []string, codes []int) {
	words, err := shellWords(line)
	if err != nil {
		t.Fatal(err)
	}
	args = without(words[1:], []string{"--fleet", "--flame", "--profiles"})
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--why" })
	if len(args) > 0 && args[0] == "serve" {
		s = standIns{http: "127.0.0.1:0", grpc: "127.0.0.1:0", other: "127.0.0.1:0"} // of its own
	}
	if i := slices.Index(args, "--"); i > 0 && args[0] == "compare" && !strings.Contains(args[i-1], "{{addr}}") {
		s.other = testenv.HeldAddress(t) // on which the commands insist
	}
	program := "subject"
	if slices.Contains(args, "--count") {
		program = s.server // a simulator takes seconds to start this test
	}
	for i, arg := range args {
		arg = strings.ReplaceAll(localhost().ReplaceAllStringFunc(arg, s.address), "./server ", s.server+" ")
		arg = ofWorkers().ReplaceAllString(arg, "subject -listen {{addr}}")
		args[i] = port().ReplaceAllString(aServer().ReplaceAllString(arg, program), "127.0.0.1:0")
	}
	codes = []int{exitDone}
	if len(args) > 0 && slices.Contains([]string{"worker", "bisect", "history"}, args[0]) {
		args = slices.Insert(args, 1, "--help")
	}
	if len(args) == 0 || slices.Contains(args, "--help") {
		return args, codes
	}
	if args[0] == "compare" && strings.HasSuffix(args[len(args)-1], ".json") {
		s.files(t, dir, args)
		return args, []int{exitUndecided} // single runs are too few rounds
	}
	switch args[0] {
	case "lab":
		if codes = figures; !s.files(t, dir, args) {
			args, codes = append(args, "--list"), []int{exitDone}
		}
	case "report":
		if len(args) == 1 {
			args = append(args, "kept.json")
		}
		s.files(t, dir, args)
	default:
		args, codes = shortened(args)
	}
	return args, codes
}

// shortened gives a command the flags that make it short, and says which exit codes it may have.
func shortened(args []string) (all []string, codes []int) {
	short, ok := shorter[args[0]]
	for _, flag := range []string{"--rate", "--inside", "--expect", "--count"} {
		if one, other := shorter[args[0]+" "+flag]; other && slices.Contains(args, flag) {
			short = one
		}
	}
	if !ok {
		return args, []int{exitDone}
	}
	own, rest := args[1:], []string(nil) // arguments may follow a --
	if i := slices.Index(own, "--"); i >= 0 {
		own, rest = own[:i], own[i:]
	}
	flags := strings.Fields(short.flags)
	return slices.Concat(args[:1], without(own, flags), flags, rest), short.codes
}

// without drops the flags that come again, and their values: a list would be
// added to.
func without(args, flags []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch name, _, attached := strings.Cut(args[i], "="); {
		case !strings.HasPrefix(name, "-") || !slices.Contains(flags, name):
			kept = append(kept, args[i])
		case !attached:
			i++
		}
	}
	return kept
}

func (s standIns) address(documented string) string {
	switch documented[strings.LastIndexByte(documented, ':'):] {
	case ":8080":
		return s.http
	case ":50055":
		return s.grpc
	}
	return s.other
}

const smallScript = `
import http from 'k6/http';
export default function () { http.get(__ENV.BASE_URL + '/status') }
`

const smallExperiment = `
id: small
title: a stand-in
subjects:
  a: {command: "subject -listen {{addr}}"}
  b: {command: "subject -listen {{addr}}"}
target: {url: "http://{{addr}}/"}
load: {vus: 1, duration: 500ms, warmup: 0s, think: 20ms}
compare: {baseline: a, rounds: 1, pairs: 1}
`

// files writes the files that a command reads and reports whether there are any.
func (s standIns) files(t *testing.T, dir string, args []string) (any bool) {
	for _, arg := range args {
		content := []byte(smallExperiment)
		if strings.HasSuffix(arg, ".json") {
			var err error
			if content, err = os.ReadFile(s.document); err != nil {
				t.Fatal(err)
			}
		} else if !strings.HasSuffix(arg, ".yaml") {
			continue
		}
		any = true
		path := filepath.Join(dir, arg)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		testenv.Write(t, path, content)
	}
	return any
}

// A reader of the README has not decided yet to read.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text := testenv.Read(t, "../../README.md")
	if n := strings.Count(string(text), "\n"); n > 90 {
		t.Errorf("README.md has %d lines, want at most 90", n)
	}
}

// The test of commands finds what it must.
func TestDocumentedIn(t *testing.T) {
	const text = "$ contend not in a block\n" +
		"```console\n$ contend run -c 5 http://localhost:8080/status | head\n  output\n$ ls\n```\n" +
		"$ contend nor this\n" +
		"```\n$ go run ./cmd/contend compare \\\n    --url 'http://{{addr}}/x' -- './a -listen {{addr}}' \\\n  './b -listen {{addr}}'\n" +
		"$ contend lab orders.yaml   # ours\n$ contend\n$ contend report old/lab.json\n" +
		"$ contend serve counter --http :8080 --grpc :50055 --guard inputQ &\n" +
		"$ contend run -n 10 --data '{\"value\": 1}' grpc://localhost:50055/counter.incrementCounter/increment\n```\n"
	found := documentedIn("x.md", text)
	want := []documented{
		{"x.md:3", "contend run -c 5 http://localhost:8080/status | head"},
		{"x.md:9", "contend compare --url 'http://{{addr}}/x' -- './a -listen {{addr}}' './b -listen {{addr}}'"},
		{"x.md:12", "contend lab orders.yaml   # ours"},
		{"x.md:13", "contend"},
		{"x.md:14", "contend report old/lab.json"},
		{"x.md:15", "contend serve counter --http :8080 --grpc :50055 --guard inputQ &"},
		{"x.md:16", `contend run -n 10 --data '{"value": 1}' grpc://localhost:50055/counter.incrementCounter/increment`},
	}
	if !slices.Equal(found, want) {
		t.Fatalf("found\n%q, want\n%q", found, want)
	}
}
