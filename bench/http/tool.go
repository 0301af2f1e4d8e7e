package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"contend/bench/internal/paired"
)

// A bench is the options with the address that they lead to.
type bench struct {
	options
	url string
}

const contend = "contend"

// tool returns the command line of the tool of that name.
func (b bench) tool(name string) (paired.Tool, bool) {
	c := strconv.Itoa(b.connections)
	seconds := strconv.Itoa(int(b.block / time.Second))
	fresh := b.work == "connect"
	t := paired.Tool{Name: name, Version: name}
	switch name {
	case contend:
		t.Args = []string{"run", "-c", c, "-d", seconds + "s", "--json", b.url}
		if fresh {
			t.Args = append([]string{"run", "--no-keepalive"}, t.Args[1:]...)
		}
		t.Count = paired.CountContend
	case "fortio":
		t.Args = []string{"load", "-quiet", "-qps", "0", "-c", c, "-t", seconds + "s", "-json", "-", b.url}
		if fresh {
			t.Args = append([]string{"load", "-keepalive=false"}, t.Args[1:]...)
		}
		t.Count = countFortio
	case "wrk":
		t.Args = []string{"-t1", "-c" + c, "-d" + seconds + "s", b.url}
		if fresh {
			t.Args = append(t.Args, "-H", "Connection: close")
		}
		t.Count = countText(`(\d+) requests in`, `Non-2xx or 3xx responses: (\d+)|Socket errors: connect (\d+)`)
	case "ab":
		t.Args = []string{"-q", "-c", c, "-t", seconds, "-n", "100000000", b.url}
		if !fresh {
			t.Args = append([]string{"-k"}, t.Args...)
		}
		t.Count = countText(`Complete requests: +(\d+)`, `(?:Failed requests|Non-2xx responses): +([1-9]\d*)`)
	case "h2load":
		t.Args = []string{"--h1", "-c", c, "-D", seconds, "-t", "1", b.url}
		t.Count = countText(`(\d+) succeeded`, `([1-9]\d*) failed`)
	default:
		return t, false
	}
	return t, true
}

// find looks for a peer and asks for its version.
func (b bench) find(name string) (paired.Tool, error) {
	t, ok := b.tool(name)
	if !ok || name == contend {
		return t, fmt.Errorf("-peers: %q is none of fortio, wrk, ab, h2load", name)
	}
	if name == "h2load" && b.work == "connect" {
		return t, errors.New("-peers: h2load does not connect anew when the server closes")
	}
	var err error
	if t.Path, err = paired.Find(name); err != nil {
		return t, err
	}
	t.Version = name + " " + version(t.Path, versionFlag[name])
	return t, nil
}

// versionFlag is the argument that makes a peer print its version.
var versionFlag = map[string]string{"fortio": "version", "wrk": "-v", "ab": "-V", "h2load": "--version"}

// version returns the first number that a program prints when asked for its
// version. Some exit with an error after that.
func version(path, flag string) string {
	out, _ := exec.Command(path, flag).CombinedOutput()
	return string(regexp.MustCompile(`\d+(\.\d+)+\S*`).Find(out))
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
