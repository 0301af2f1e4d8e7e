package count

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"contend/failure"
)

// A Tool is the simulator.
type Tool struct {
	Path    string
	Version string // as in valgrind-3.19.0
}

// Path returns where valgrind is installed.
func Path() (string, error) {
	path, err := exec.LookPath("valgrind")
	if err != nil {
		missing := errors.New("counting instructions requires valgrind, which is not installed")
		return "", failure.With(missing, failure.Failure{Kind: failure.Other, Cause: missing.Error(), Program: "valgrind",
			Advice: "install the package valgrind, as with apt-get install valgrind"})
	}
	return path, nil
}

// Find returns the valgrind that is installed.
func Find(ctx context.Context) (Tool, error) {
	path, err := Path()
	if err != nil {
		return Tool{}, err
	}
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return Tool{}, fmt.Errorf("%s --version: %w", path, err)
	}
	return Tool{path, strings.TrimSpace(string(version))}, nil
}

// counts and logs begin the names of the files that are written.
const (
	counts = "counts."
	logs   = "words."
)

// under is the command that runs another one, and all that this one starts. For each process it writes a file of counts into
// a folder, and one of its own words, which would else be among those of the server.
func (t Tool) under(folder string) []string {
	folder = strings.ReplaceAll(folder, "%", "%%")
	return []string{t.Path, "-q", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes", "--vgdb=no",
		"--log-file=" + filepath.Join(folder, logs+"%p"), "--cachegrind-out-file=" + filepath.Join(folder, counts+"%p")}
}

// words are those of the simulator, about all processes.
func words(folder string) (all string) {
	files, _ := filepath.Glob(filepath.Join(folder, logs+"*"))
	for _, file := range files {
		text, _ := os.ReadFile(file) // what cannot be read says nothing
		all += string(text)
	}
	return all
}

// collect adds up what all processes have written into the folder.
func collect(folder string) (sum profile, processes int, err error) {
	files, err := filepath.Glob(filepath.Join(folder, counts+"*"))
	if err != nil {
		return sum, 0, err
	}
	sum = newProfile()
	for _, file := range files {
		one, err := readFile(file)
		if err != nil {
			return sum, 0, fmt.Errorf("the counts of process %s: %w", strings.TrimPrefix(filepath.Base(file), counts), err)
		}
		sum.add(one)
	}
	return sum, len(files), nil
}

func readFile(name string) (profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return profile{}, err
	}
	defer f.Close()
	return read(f)
}
