// Package faults_test drives three replicas of the shared counter, which are real
// processes on a real redis-server, while connections, replicas and the Redis fail,
// and judges every answer: no value twice, none lost, none out of real-time order.
// A test run has each scenario once, short; a million increments take ten minutes:
//
//	go test -timeout 20m ./systems/counter/faults -args -increments 1000000
package faults_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var increments = flag.Int("increments", 500, "increments of each large scenario")

// patience is how long anything may take that should happen soon: the machine
// may be slow and busy.
const patience = 60 * time.Second

// program builds the command once, where it is needed, and returns its path. Go keeps what "go run" has linked for
// the next time; "go build" links anew. It is without the race detector, whatever this test is built with, and with no flag that
// compiles packages: "go test" has compiled them already, in .ci/run with the flags of its environment.
var program = sync.OnceValue(func() string {
	var err error
	if folder, err = os.MkdirTemp("", "faults"); err != nil {
		panic(err)
	}
	path := filepath.Join(folder, "contend")
	build := exec.Command("go", "run", "-exec=cp", "-ldflags=-s -w", "contend/cmd/contend", path)
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	return path
})

// folder is where it is.
var folder string

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // scenarios wait more than they work
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	defer func() { _ = os.RemoveAll(folder) }()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		panic(err)
	}
	return code
}

// size is how many increments a large scenario has, or the share-th part of it.
func size(share int) int { return *increments / share }

// pollEvery is how often a test looks at what it waits for.
const pollEvery = 5 * time.Millisecond
