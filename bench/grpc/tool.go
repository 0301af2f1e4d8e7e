package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"contend/bench/internal/paired"
)

const (
	method = "counter.incrementCounter/increment"
	data   = `{"value": 1}`
	// frame is the same message as gRPC sends it: not compressed, 2 bytes, field 1 = 1.
	frame = "\x00\x00\x00\x00\x02\x08\x01"
)

// A work is what the tools of one row do. A bar is what the ratio to a peer
// shall reach; a peer without one is measured only.
type work struct {
	connections, streams int  // streams per connection
	fresh                bool // a connection for each call
	bars                 map[string]float64
	peers                []string

	dir, address string
	seconds      int
}

var tables = map[string][]work{
	"calls": {
		{connections: 50, streams: 1, peers: []string{"h2load", "ghz"}, bars: map[string]float64{"h2load": 1}},
		{connections: 10, streams: 5, peers: []string{"h2load", "ghz"}, bars: map[string]float64{"h2load": 1}},
		{connections: 1, streams: 50, peers: []string{"h2load", "ghz"}, bars: map[string]float64{"h2load": 1}},
	},
	"connect": {
		{connections: 100, streams: 1, fresh: true, peers: []string{"k6"}, bars: map[string]float64{"k6": 5}},
	},
}

func (x work) String() string {
	if x.fresh {
		return fmt.Sprintf("connect: %d VUs, a connection for each call", x.connections)
	}
	return fmt.Sprintf("calls: %d connections × %d streams", x.connections, x.streams)
}

func (x work) contend() paired.Tool {
	connections := fmt.Sprintf("shared:%d", x.connections)
	if x.fresh {
		connections = "per-iteration"
	}
	return paired.Tool{
		Name: "contend",
		Args: []string{
			"run", "-c", strconv.Itoa(x.connections * x.streams), "-d", fmt.Sprintf("%ds", x.seconds),
			"--connections", connections, "--data", data, "--json", "grpc://" + x.address + "/" + method,
		},
		Count: paired.CountContend,
	}
}

// peerTools make the command lines of the peers.
var peerTools = map[string]func(work) (paired.Tool, error){
	"h2load": func(x work) (paired.Tool, error) {
		body := filepath.Join(x.dir, "body.bin")
		return paired.Tool{
			Args: []string{
				"-c", strconv.Itoa(x.connections), "-m", strconv.Itoa(x.streams), "-D", strconv.Itoa(x.seconds), "-t", "1", "-d", body,
				"-H", "content-type: application/grpc", "-H", "te: trailers", "http://" + x.address + "/" + method,
			},
			Count: countH2load,
		}, os.WriteFile(body, []byte(frame), 0o600)
	},
	"ghz": func(x work) (paired.Tool, error) {
		return paired.Tool{
			Args: []string{
				"--insecure", "--call", method, "-d", data, "-c", strconv.Itoa(x.connections * x.streams),
				"--connections", strconv.Itoa(x.connections), "-z", fmt.Sprintf("%ds", x.seconds), "--duration-stop", "wait", "-O", "json", x.address,
			},
			Count: countGHZ,
		}, nil
	},
	"k6": func(x work) (paired.Tool, error) {
		proto, err := filepath.Abs("internal/service/counter/counterpb/counter.proto")
		if err != nil {
			return paired.Tool{}, err
		}
		script := filepath.Join(x.dir, "connect.js")
		text := fmt.Sprintf(k6Script, filepath.Dir(proto), filepath.Base(proto), x.address, method)
		return paired.Tool{
			Args:  []string{"run", "-q", "--no-usage-report", "-u", strconv.Itoa(x.connections), "-d", fmt.Sprintf("%ds", x.seconds), script},
			Count: countK6,
		}, os.WriteFile(script, []byte(text), 0o600)
	},
}

// k6Script is to be filled with the folder and name of the .proto file, the
// address and the method.
const k6Script = `import grpc from 'k6/net/grpc';
import { check } from 'k6';
const client = new grpc.Client();
client.load([%q], %q);
export default function () {
	client.connect(%q, { plaintext: true });
	const answer = client.invoke(%q, { value: 1 });
	check(answer, { ok: (a) => a && a.status === grpc.StatusOK });
	client.close();
}
export function handleSummary(data) {
	return { stdout: JSON.stringify({ ok: data.metrics.checks.values.passes, wrong: data.metrics.checks.values.fails }) };
}
`

// version returns the module version that a program was built from, or the
// first number that it prints when asked.
func version(path string) string {
	out, _ := exec.Command("go", "version", "-m", path).Output()
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "mod" {
			return fields[2]
		}
	}
	out, _ = exec.Command(path, "--version").CombinedOutput()
	return string(regexp.MustCompile(`\d+(\.\d+)+\S*`).Find(out))
}

var h2loadDone = regexp.MustCompile(`(\d+) succeeded, (\d+) failed, (\d+) errored`)

func countH2load(report []byte) (completed, wrong int64, err error) {
	found := h2loadDone.FindSubmatch(report)
	if found == nil {
		return 0, 0, fmt.Errorf("report does not say %q", h2loadDone)
	}
	completed, err = strconv.ParseInt(string(found[1]), 10, 64)
	for _, n := range found[2:] {
		if string(n) != "0" {
			wrong++
		}
	}
	return completed, wrong, err
}

func countGHZ(report []byte) (completed, wrong int64, err error) {
	var document struct {
		Count                  int64
		StatusCodeDistribution map[string]int64
	}
	if err := json.Unmarshal(report, &document); err != nil {
		return 0, 0, err
	}
	completed = document.StatusCodeDistribution["OK"]
	return completed, document.Count - completed, nil
}

func countK6(report []byte) (completed, wrong int64, err error) {
	var document struct{ OK, Wrong int64 }
	if err := json.Unmarshal(report, &document); err != nil {
		return 0, 0, err
	}
	return document.OK, document.Wrong, nil
}
