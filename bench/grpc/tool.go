package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"contend/bench/internal/paired"
)

const (
	method = "counter.incrementCounter/increment"
	data   = `{"value": 1}`
	// frame is the same message as gRPC sends it: not compressed, 2 bytes, field 1 = 1.
	frame = "\x00\x00\x00\x00\x02\x08\x01"
)

// A work is what the tools of one row do.
type work struct {
	connections, streams int  // streams per connection
	fresh                bool // a connection for each call

	dir, address string
	seconds      int
}

// tables returns the tables with the command lines of their tools, and writes the
// files that these need.
func tables(s paired.Setup, address string, seconds int) (map[string]paired.Table, error) {
	proto, err := filepath.Abs("systems/counter/counterpb/counter.proto")
	if err != nil {
		return nil, err
	}
	script := fmt.Sprintf(k6Script, filepath.Dir(proto), filepath.Base(proto), address, method)
	err = errors.Join(os.WriteFile(filepath.Join(s.Dir, bodyFile), []byte(frame), 0o600),
		os.WriteFile(filepath.Join(s.Dir, scriptFile), []byte(script), 0o600))
	x := work{dir: s.Dir, address: address, seconds: seconds}
	calls := paired.Table{Title: "connections kept"}
	for _, x.connections = range []int{50, 10, 1} {
		x.streams = 50 / x.connections
		calls.Rows = append(calls.Rows, x.row(s.Contend, x.h2load(), x.ghz()))
	}
	x.connections, x.streams, x.fresh = 100, 1, true
	connect := paired.Table{Title: "a connection for each call", Rows: []paired.Row{x.row(s.Contend, x.k6())}}
	return map[string]paired.Table{"calls": calls, "connect": connect}, err
}

func (x work) row(contend string, peers ...paired.Tool) paired.Row {
	connections := fmt.Sprintf("shared:%d", x.connections)
	if x.fresh {
		connections = "per-iteration"
	}
	ours := paired.Contend(contend, "-c", strconv.Itoa(x.connections*x.streams), "-d", fmt.Sprintf("%ds", x.seconds),
		"--connections", connections, "--data", data, "grpc://"+x.address+"/"+method)
	return paired.Row{Title: fmt.Sprintf("%d connections × %d streams", x.connections, x.streams), Connections: x.connections,
		Tools: append([]paired.Tool{ours}, peers...)}
}

// The files that peers read.
const (
	bodyFile   = "body.bin"
	scriptFile = "connect.js"
)

func (x work) h2load() paired.Tool {
	return paired.Tool{
		Name: "h2load", Bar: 1,
		Args: []string{
			"-c", strconv.Itoa(x.connections), "-m", strconv.Itoa(x.streams), "-D", strconv.Itoa(x.seconds), "-t", "1",
			"-d", filepath.Join(x.dir, bodyFile), "-H", "content-type: application/grpc", "-H", "te: trailers",
			"http://" + x.address + "/" + method,
		},
		Count: paired.CountText(`(\d+) succeeded`, `([1-9]\d*) (?:failed|errored)`),
	}
}

func (x work) ghz() paired.Tool {
	return paired.Tool{
		Name: "ghz",
		Args: []string{
			"--insecure", "--call", method, "-d", data, "-c", strconv.Itoa(x.connections * x.streams),
			"--connections", strconv.Itoa(x.connections), "-z", fmt.Sprintf("%ds", x.seconds), "--duration-stop", "wait", "-O", "json", x.address,
		},
		Count: countGHZ,
	}
}

func (x work) k6() paired.Tool {
	return paired.Tool{
		Name: "k6", Bar: 5,
		Args: []string{"run", "-q", "--no-usage-report", "-u", strconv.Itoa(x.connections), "-d", fmt.Sprintf("%ds", x.seconds),
			filepath.Join(x.dir, scriptFile)},
		Count: countK6,
	}
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

var countGHZ = paired.CountJSON(func(document struct {
	Count                  int64
	StatusCodeDistribution map[string]int64
}) (completed, wrong int64, err error) {
	completed = document.StatusCodeDistribution["OK"]
	return completed, document.Count - completed, nil
})

var countK6 = paired.CountJSON(func(document struct{ OK, Wrong int64 }) (completed, wrong int64, err error) {
	return document.OK, document.Wrong, nil
})
