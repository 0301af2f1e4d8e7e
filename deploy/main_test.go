// Package deploy_test checks what is in this folder against the program that it
// deploys: each file is read by the code that its real reader uses, and each name,
// port, path and flag in it is tried on the program.
package deploy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take: CI is slow and busy.
const patience = 60 * time.Second

// root is the root of the repository, and the context of the image.
const root = ".."

// scratch is a folder that lives as long as the tests.
var scratch string

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "contend-deploy"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}()
	os.Exit(code)
}

// built is the program of the image, made once, by the Dockerfile's own command.
var built = sync.OnceValues(func() (string, error) {
	line, err := buildLine()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-ec", line)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH, "OUT="+scratch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", line, err, out)
	}
	return filepath.Abs(filepath.Join(scratch, "contend"))
})

// contend returns the path of the program as the image has it.
func contend(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the image is for Linux")
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serving is the line that the counter, or the router, logs when it takes requests.
var serving = regexp.MustCompile(`msg=(?:serving|"router is ready")(.*)`)

// field is an entry of a log line.
var field = regexp.MustCompile(`(\w+)=("[^"]*"|\S+)`)

// start runs a service until the test ends, and returns the fields of its line
// "serving": addresses by protocol, and whatever else it says.
func start(t *testing.T, cmd *exec.Cmd) map[string]string {
	t.Helper()
	output := launch(t, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("%v: %v\n%s", cmd.Args, err, output)
		}
	})
	fields := make(map[string]string)
	for _, m := range field.FindAllStringSubmatch(output.await(t, serving), -1) {
		fields[m[1]] = m[2]
	}
	return fields
}

// launch starts a command and returns what it prints.
func launch(t *testing.T, cmd *exec.Cmd) *lines {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	output := &lines{of: cmd.Args}
	go output.read(read)
	return output
}

// lines are what a process prints.
type lines struct {
	of   []string // its arguments
	mu   sync.Mutex
	text []byte
	done bool
}

func (l *lines) read(r io.ReadCloser) {
	defer r.Close()
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		l.mu.Lock()
		l.text = append(append(l.text, scanner.Bytes()...), '\n')
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
}

// find returns the first group of the first match, and whether no more will come.
func (l *lines) find(pattern *regexp.Regexp) (match string, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := pattern.FindSubmatch(l.text); m != nil {
		return string(m[1]), l.done
	}
	return "", l.done
}

// await returns the first group of the first match, as soon as there is one.
func (l *lines) await(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		match, done := l.find(pattern)
		if match != "" {
			return match
		}
		if done || time.Now().After(deadline) {
			t.Fatalf("%v does not say %v:\n%s", l.of, pattern, l)
		}
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
