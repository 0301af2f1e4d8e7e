package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"contend/internal/perf"
	"contend/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"

	"contend/internal/placement"
	"contend/probe"
)

// The scripts call contend as a user does. In addition to the usual commands of testscript they
// have:
//
//	exits CODES program args…      run it, again where it was starved; the exit code is one of the
//	                               CODES (0,4)
//	background NAME program args…  start it and wait for its first line; $HTTP and
//	                               $GRPC are the addresses that the line names
//	terminate NAME CODE            end it by SIGTERM, with that exit code
//	crash NAME                     end it by SIGKILL
//	interrupt CODE FILE PATH program args…
//	                               run it, SIGINT when it has run for a while, longer and longer
//	                               until PATH of the document FILE is more than 0 (-: at once)
//	says PATTERN                   like stdout, but however the text is wrapped
//	json FILE PATH OP VALUE        compare a value of a document
//	document FILE                  every result has the promised keys and adds up
//
// $FIXED and $ALONE are ports that servers can insist on, on Linux: $FIXED on many addresses of
// the loopback at once, $ALONE on all of them.
func TestScripts(t *testing.T) {
	t.Parallel()
	fixed, alone := "", "" // on other systems binds are not moved
	if runtime.GOOS == "linux" {
		fixed, alone = testenv.HeldPort(t), testenv.HeldPort(t)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *testenv.Update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "background": background, "terminate": terminate, "crash": crash,
			"interrupt": interrupt, "says": says, "json": compareJSON, "document": document,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "duet":
				cpus, err := probe.CPUs()
				return len(cpus) >= 3, err
			case "refusals":
				return testenv.CanRefuse() == nil, nil
			case "samples":
				sampler, err := perf.Sample(func() ([]int, error) { return []int{os.Getpid()}, nil })
				if errors.As(err, new(*perf.UnavailableError)) {
					return false, nil
				} else if err != nil {
					return false, err
				}
				return true, sampler.Close()
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Values[processes{}] = map[string]*process{}
			e.Setenv("WINDOW", window.String())
			e.Setenv("ITEMS_WINDOW", itemsWindow().String())
			e.Setenv("FIXED", fixed)
			e.Setenv("ALONE", alone)
			e.Setenv("GORACE", goRace)
			for _, name := range homes {
				e.Setenv(name, filepath.Join(e.WorkDir, "home"))
			}
			if cpus, err := probe.CPUs(); err == nil {
				e.Setenv("CPUS", placement.Format(cpus))
				e.Setenv("CPU", strconv.Itoa(cpus[len(cpus)-1]))
			}
			return nil
		},
	})
}

// scripts are the files of testdata/script, first those that wait for longest.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	testenv.Must(t, err)
	longest := []string{"uplink", "compare_fails", "sweep", "why"}
	waits := func(file string) int { return slices.Index(longest, strings.TrimSuffix(filepath.Base(file), ".txtar")) }
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(waits(b), waits(a)) })
	return files
}

// window is long enough for an iteration to begin in it where other programs take
// most of the machine.
const window = 500 * time.Millisecond

// itemsWindow is as much for an iteration of 100,000 items; what got none in it is run again.
func itemsWindow() time.Duration {
	if testenv.Race {
		return window
	}
	return window / 4
}

// homes are the variables that say where a user's folders are, on all systems, except
// those that hide the others.
var homes = []string{"HOME", "LocalAppData"}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(testenv.Patience); ; {
		err := ts.Exec(args[1], args[2:]...)
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else {
			ts.Check(err)
		}
		if isOneOf(code, args[0]) || time.Now().After(end) || !starved(code, ts.ReadFile("stdout")+ts.ReadFile("stderr")) {
			checkCode(ts, code, args[0])
			return
		}
	}
}

// starved reports whether a command failed because the machine had no time for it: nothing began in
// time, or no answer arrived within one of several comparisons.
func starved(code int, output string) bool {
	output = strings.Join(strings.Fields(output), " ") // however it is wrapped
	return code == exitFailed && (strings.Contains(output, "no iteration started within") ||
		strings.Contains(output, "nothing_succeeded") && strings.Contains(output, "INCONCLUSIVE"))
}

func isOneOf(code int, codes string) bool {
	return slices.Contains(strings.Split(codes, ","), strconv.Itoa(code))
}

func checkCode(ts *testscript.TestScript, code int, want string) {
	if !isOneOf(code, want) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// process is a program that runs next to the script.
type process struct {
	*exec.Cmd
	stdout, stderr strings.Builder
	spoke          chan struct{} // closed at its first complete line
	read           sync.WaitGroup
}

type processes struct{} // key of a script's processes by name

func start(ts *testscript.TestScript, args []string, watched func(line string) bool) *process {
	p := &process{Cmd: exec.Command(args[0], args[1:]...), spoke: make(chan struct{})}
	p.Dir = ts.MkAbs(".")
	for _, name := range append([]string{"PATH", "TMPDIR", "GORACE"}, homes...) {
		p.Env = append(p.Env, name+"="+ts.Getenv(name))
	}
	stdout, err := p.StdoutPipe()
	ts.Check(err)
	stderr, err := p.StderrPipe()
	ts.Check(err)
	ts.Check(p.Start())
	var once sync.Once
	collect := func(from io.Reader, into *strings.Builder) {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			into.WriteString(lines.Text() + "\n")
			if watched(lines.Text()) {
				once.Do(func() { close(p.spoke) })
			}
		}
	}
	p.read.Go(func() { collect(stdout, &p.stdout) })
	p.read.Go(func() { collect(stderr, &p.stderr) })
	return p
}

// end waits for the process and returns its exit code.
func (p *process) end(ts *testscript.TestScript) int {
	limit := time.AfterFunc(testenv.Patience, func() { p.Process.Kill() })
	defer limit.Stop()
	p.read.Wait()
	if err := p.Wait(); err != nil && p.ProcessState == nil {
		ts.Fatalf("%v", err)
	}
	fmt.Fprint(ts.Stdout(), p.stdout.String())
	fmt.Fprint(ts.Stderr(), p.stderr.String())
	return p.ProcessState.ExitCode()
}

func (p *process) awaitWord(ts *testscript.TestScript) {
	select {
	case <-p.spoke:
	case <-time.After(testenv.Patience):
		p.Process.Kill()
		ts.Fatalf("%v said nothing", p.Args)
	}
}

func background(ts *testscript.TestScript, _ bool, args []string) {
	address := regexp.MustCompile(`\b(http|grpc|redis)(?:=|://)(\S+)`)
	found := make(chan [][]string, 1)
	p := start(ts, args[1:], func(line string) bool {
		all := address.FindAllStringSubmatch(line, -1)
		if all != nil {
			select {
			case found <- all:
			default:
			}
		}
		return all != nil
	})
	ts.Defer(func() {
		p.Process.Kill()
		p.Wait()
	})
	p.awaitWord(ts)
	for _, m := range <-found {
		ts.Setenv(strings.ToUpper(m[1]), m[2])
	}
	ts.Value(processes{}).(map[string]*process)[args[0]] = p
}

func terminate(ts *testscript.TestScript, _ bool, args []string) {
	p := ts.Value(processes{}).(map[string]*process)[args[0]]
	ts.Check(p.Process.Signal(syscall.SIGTERM))
	checkCode(ts, p.end(ts), args[1])
}

func crash(ts *testscript.TestScript, _ bool, args []string) {
	p := ts.Value(processes{}).(map[string]*process)[args[0]]
	ts.Check(p.Process.Kill())
	p.end(ts)
}

func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	code, file, path, program := args[0], args[1], args[2], args[3:]
	for pause := window; ; pause *= 2 {
		p := start(ts, program, func(string) bool { return true })
		p.awaitWord(ts)
		time.Sleep(pause)
		ts.Check(p.Process.Signal(syscall.SIGINT))
		checkCode(ts, p.end(ts), code)
		if file == "-" || holds(valueOf(ts, file, path), ">", "0") {
			return
		}
		if pause > testenv.Patience {
			ts.Fatalf("nothing partial after %v", pause)
		}
	}
}

func says(ts *testscript.TestScript, not bool, args []string) {
	text := strings.Join(strings.Fields(ts.ReadFile("stdout")), " ")
	if regexp.MustCompile(args[0]).MatchString(text) == not {
		ts.Fatalf("%q is said: %v", args[0], not)
	}
}

// valueOf is the value at a path of a document, nil if the path does not exist.
func valueOf(ts *testscript.TestScript, file, path string) (value any) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &value))
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			ts.Check(err)
			if i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func compareJSON(ts *testscript.TestScript, _ bool, args []string) {
	value := valueOf(ts, args[0], args[1])
	if !holds(value, args[2], args[3]) {
		if list, ok := value.([]any); ok {
			value = fmt.Sprintf("a list of %d", len(list))
		}
		ts.Fatalf("%s is %v, want %s %s", args[1], value, args[2], args[3])
	}
}

// holds compares a value of a document. One that is not there holds nothing.
func holds(value any, op, want string) bool {
	if list, ok := value.([]any); ok {
		value = float64(len(list)) // a list is as long as
	}
	order := cmp.Compare(fmt.Sprint(value), want)
	if n, ok := value.(float64); ok {
		w, err := strconv.ParseFloat(want, 64)
		if err != nil {
			return false
		}
		order = cmp.Compare(n, w)
	}
	switch there := value != nil; op {
	case "==":
		return there && order == 0
	case ">":
		return there && order > 0
	case "<":
		return there && order < 0
	case ">=":
		return there && order >= 0
	}
	panic("unknown operator " + op)
}

// document checks the keys that the document promises for every result, and that
// planned is the sum of what became of the iterations.
func document(ts *testscript.TestScript, _ bool, args []string) {
	var d struct {
		Schema  string                       `json:"schema"`
		Results []map[string]json.RawMessage `json:"results"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &d))
	if d.Schema == "" || len(d.Results) == 0 {
		ts.Fatalf("schema %q, %d results", d.Schema, len(d.Results))
	}
	for _, r := range d.Results {
		if err := checkResult(r); err != nil {
			ts.Fatalf("%v", err)
		}
	}
}

func checkResult(r map[string]json.RawMessage) error {
	for _, key := range []string{"target", "model", "concurrency", "duration_ns", "planned", "completed", "failed", "errored",
		"dropped", "unfinished", "throughput_per_s", "response_ns", "service_ns", "start_lag_ns", "bytes_in", "bytes_out",
		"generator_cpu_s", "warnings", "stopped"} {
		if len(r[key]) == 0 || string(r[key]) == "null" {
			return fmt.Errorf("result without %s: %q", key, r[key])
		}
	}
	for _, key := range []string{"response_ns", "service_ns", "start_lag_ns"} {
		var times map[string]json.RawMessage
		if err := json.Unmarshal(r[key], &times); err != nil {
			return err
		}
		if string(r["completed"]) == "0" {
			continue // no figure is better than a wrong one
		}
		for _, figure := range []string{"mean", "min", "p50", "p90", "p95", "p99", "p999", "max"} {
			if len(times[figure]) == 0 {
				return fmt.Errorf("%s without %s", key, figure)
			}
		}
	}
	var planned int64
	errored := map[string]int64{}
	if err := errors.Join(json.Unmarshal(r["planned"], &planned), json.Unmarshal(r["errored"], &errored)); err != nil {
		return err
	}
	var sum int64
	for _, n := range errored {
		sum += n
	}
	for _, key := range []string{"completed", "failed", "dropped", "unfinished"} {
		n, err := strconv.ParseInt(string(r[key]), 10, 64)
		if err != nil {
			return err
		}
		sum += n
	}
	if sum != planned {
		return fmt.Errorf("planned is %d, the sum %d", planned, sum)
	}
	return nil
}

// The comparators of the scripts can tell a difference.
func TestComparators(t *testing.T) {
	for _, tt := range []struct {
		value    any
		op, want string
		holds    bool
	}{
		{"A", "==", "A", true}, {"A", "==", "B", false},
		{10.0, ">", "9", true}, {10.0, ">", "10", false}, {10.0, ">=", "10", true},
		{9.0, "<", "10", true}, {10.0, "<", "10", false},
		{[]any{1.0, 2.0}, "==", "2", true}, {nil, "==", "1", false}, {nil, ">=", "1", false}, {nil, ">", "0", false}, {2.0, "==", "x", false},
	} {
		if got := holds(tt.value, tt.op, tt.want); got != tt.holds {
			t.Errorf("%v %s %s is %v", tt.value, tt.op, tt.want, got)
		}
	}
	const said = "FAILED: no iteration\n  started within the 500ms measured"
	if !starved(exitFailed, said) || starved(exitUndecided, said) || starved(exitFailed, "FAILED: not ready") {
		t.Error("a starved command is not told from others")
	}
	if checkResult(map[string]json.RawMessage{"target": []byte(`"x"`)}) == nil {
		t.Error("a result without its keys passes")
	}
	if _, err := os.Stat("testdata/script"); err != nil {
		t.Error(err)
	}
}
