package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// A bench is the options with the address that they lead to.
type bench struct {
	options
	url string
}

// A tool is one generator with its command line, and knows how to read its
// report.
type tool struct {
	name    string
	path    string
	args    []string
	version string // the argument that prints it
	count   func(report []byte) (completed, wrong int64, err error)
}

// A measurement is one block.
type measurement struct {
	completed int64
	cpu       time.Duration
}

func (m measurement) perCPUSecond() float64 { return float64(m.completed) / m.cpu.Seconds() }

const contend = "contend"

// tool returns the command line of the tool of that name.
func (b bench) tool(name string) (tool, bool) {
	c := strconv.Itoa(b.connections)
	seconds := strconv.Itoa(int(b.block / time.Second))
	fresh := b.work == "connect"
	t := tool{name: name, version: "--version"}
	switch name {
	case contend:
		t.args = []string{"run", "-c", c, "-d", seconds + "s", "--json", b.url}
		if fresh {
			t.args = append([]string{"run", "--no-keepalive"}, t.args[1:]...)
		}
		t.count = countContend
	case "fortio":
		t.args = []string{"load", "-quiet", "-qps", "0", "-c", c, "-t", seconds + "s", "-json", "-", b.url}
		if fresh {
			t.args = append([]string{"load", "-keepalive=false"}, t.args[1:]...)
		}
		t.version = "version"
		t.count = countFortio
	case "wrk":
		t.version = "-v"
		t.args = []string{"-t1", "-c" + c, "-d" + seconds + "s", b.url}
		if fresh {
			t.args = append(t.args, "-H", "Connection: close")
		}
		t.count = countText(`(\d+) requests in`, `Non-2xx or 3xx responses: (\d+)|Socket errors: connect (\d+)`)
	case "ab":
		t.version = "-V"
		t.args = []string{"-q", "-c", c, "-t", seconds, "-n", "100000000", b.url}
		if !fresh {
			t.args = append([]string{"-k"}, t.args...)
		}
		t.count = countText(`Complete requests: +(\d+)`, `(?:Failed requests|Non-2xx responses): +([1-9]\d*)`)
	case "h2load":
		t.args = []string{"--h1", "-c", c, "-D", seconds, "-t", "1", b.url}
		t.count = countText(`(\d+) succeeded`, `([1-9]\d*) failed`)
	default:
		return tool{}, false
	}
	return t, true
}

// find looks for a peer on PATH and in ~/go/bin.
func (b bench) find(name string) (tool, error) {
	t, ok := b.tool(name)
	if !ok || name == contend {
		return t, fmt.Errorf("-peers: %q is none of fortio, wrk, ab, h2load", name)
	}
	if name == "h2load" && b.work == "connect" {
		return t, errors.New("-peers: h2load does not connect anew when the server closes")
	}
	path, err := exec.LookPath(name)
	if err == nil {
		t.path = path
		return t, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return t, err
	}
	t.path, err = exec.LookPath(filepath.Join(home, "go", "bin", name))
	if err != nil {
		return t, exec.ErrNotFound
	}
	return t, nil
}

// describe returns the tool's name with the first number that it prints when
// asked for its version. Some exit with an error after that.
func (t tool) describe() string {
	out, _ := exec.Command(t.path, t.version).CombinedOutput()
	return t.name + " " + string(regexp.MustCompile(`\d+(\.\d+)+\S*`).Find(out))
}

// measure runs one block. Wrong or missing answers make it worthless, and so
// does a tool that does not end.
func (t tool) measure(ctx context.Context, block time.Duration) (measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, block+20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.path, t.args...)
	report, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return measurement{}, fmt.Errorf("%s: %w", t.name, err)
	}
	completed, wrong, err := t.count(report)
	if err != nil {
		return measurement{}, fmt.Errorf("%s: %w\n%.2000s", t.name, err, report)
	}
	if wrong > 0 || completed == 0 {
		return measurement{}, fmt.Errorf("%s: %d right and %d wrong or missing answers", t.name, completed, wrong)
	}
	state := cmd.ProcessState
	return measurement{completed, state.UserTime() + state.SystemTime()}, nil
}

func countContend(report []byte) (completed, wrong int64, err error) {
	var document struct {
		Results []struct {
			Completed, Failed int64
			Errored           map[string]int64
			GeneratorCPU      float64 `json:"generator_cpu_s"`
		}
	}
	if err := json.Unmarshal(report, &document); err != nil {
		return 0, 0, err
	}
	if len(document.Results) != 1 || document.Results[0].GeneratorCPU <= 0 {
		return 0, 0, errors.New("want one result with its generator_cpu_s")
	}
	result := document.Results[0]
	wrong = result.Failed
	for _, n := range result.Errored {
		wrong += n
	}
	return result.Completed, wrong, nil
}

func countFortio(report []byte) (completed, wrong int64, err error) {
	var document struct{ RetCodes map[string]int64 }
	if err := json.Unmarshal(report, &document); err != nil {
		return 0, 0, err
	}
	for status, n := range document.RetCodes {
		if status == "200" {
			completed = n
		} else {
			wrong += n
		}
	}
	return completed, wrong, nil
}

// countText reads reports for people: completed has one group; wrong matches
// only where something was wrong.
func countText(completed, wrong string) func([]byte) (int64, int64, error) {
	return func(report []byte) (int64, int64, error) {
		found := regexp.MustCompile(completed).FindSubmatch(report)
		if found == nil {
			return 0, 0, fmt.Errorf("report does not say %q", completed)
		}
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		return n, int64(len(regexp.MustCompile(wrong).FindAll(report, -1))), err
	}
}
