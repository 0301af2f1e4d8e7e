// Grpc compares contend with ghz: unary gRPC calls per second of the
// generator's CPU over shared connections, against contend's own counter.
//
//	go run ./bench/grpc
//	go run ./bench/grpc -connections 10 -pairs 20
//
// Both find the method by server reflection and send {"value": 1}. How it is
// measured is said in bench/internal/paired.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"contend/bench/internal/paired"
)

const (
	method = "counter.incrementCounter/increment"
	data   = `{"value": 1}`
)

// options are the flags.
type options struct {
	connections string
	vus         int
	block       time.Duration
	pairs       int
	contend     string
}

func main() {
	var o options
	flag.StringVar(&o.connections, "connections", "1,10", "numbers of shared connections")
	flag.IntVar(&o.vus, "c", 50, "concurrent callers")
	flag.DurationVar(&o.block, "block", 2*time.Second, "length of a block")
	flag.IntVar(&o.pairs, "pairs", 10, "pairs of blocks for each number of connections")
	flag.StringVar(&o.contend, "contend", "", "a binary of contend; empty builds ./cmd/contend")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench/grpc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, o options) error {
	ghz, err := paired.Find("ghz")
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("ghz not found on PATH or in ~/go/bin: go install github.com/bojand/ghz/cmd/ghz@latest")
	} else if err != nil {
		return err
	}
	if o.contend == "" {
		dir, err := os.MkdirTemp("", "contend-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.contend = filepath.Join(dir, "contend")
		if err := paired.BuildContend(ctx, o.contend); err != nil {
			return err
		}
	}
	address, stop, err := serve(ctx, o.contend)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "unary calls of %s, %d callers, blocks of %v, %d pairs\n", method, o.vus, o.block, o.pairs)
	paired.PrintEnvironment(w)
	for connections := range strings.SplitSeq(o.connections, ",") {
		fmt.Fprintf(w, "shared connections: %s\n", connections)
		comparison, err := paired.Compare(ctx, o.ourTool(address, connections), o.ghzTool(ghz, address, connections), o.pairs)
		if err != nil {
			return err
		}
		comparison.Print(w)
	}
	fmt.Fprintf(w, "load average now %s\n", paired.LoadAverage())
	return nil
}

// serve starts the counter and returns once it accepts connections.
func serve(ctx context.Context, contend string) (address string, stop func(), err error) {
	if address, err = paired.FreeAddress(); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, contend, "serve", "counter", "--grpc", address, "--guard", "mutex")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	for range 100 {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return address, stop, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("contend serve counter does not listen on %s", address)
}

func (o options) ourTool(address, connections string) paired.Tool {
	return paired.Tool{
		Name: "contend",
		Path: o.contend,
		Args: []string{
			"run", "-c", strconv.Itoa(o.vus), "-d", o.block.String(), "--connections", "shared:" + connections,
			"--data", data, "--json", "grpc://" + address + "/" + method,
		},
		Count: paired.CountContend,
	}
}

func (o options) ghzTool(path, address, connections string) paired.Tool {
	return paired.Tool{
		Name:    "ghz",
		Version: "ghz " + moduleVersion(path),
		Path:    path,
		Args: []string{
			"--insecure", "--call", method, "-d", data, "-c", strconv.Itoa(o.vus), "--connections", connections,
			"-z", o.block.String(), "--duration-stop", "wait", "-O", "json", address,
		},
		Count: countGHZ,
	}
}

// moduleVersion reads the version that the binary was built from: ghz itself
// prints "dev".
func moduleVersion(path string) string {
	out, _ := exec.Command("go", "version", "-m", path).Output()
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "mod" {
			return fields[2]
		}
	}
	return "of unknown version"
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
