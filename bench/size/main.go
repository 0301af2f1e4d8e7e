// Size says what each module holds of the program: bytes of the stripped binary, and seconds of CPU that its packages
// take to compile in a first build. Both are of one build with an empty cache; the table is that of CONTRIBUTING.md.
//
//	go run ./bench/size
//
// Symbols say which machine code and data are a module's. Tables of functions and lines have no symbols for each
// function, and are shared out by machine code. Types, strings and other constants have none, and are a row.
package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	goItself  = "Go"
	linking   = "linking"
	constants = "types, strings, constants"
	small     = "others"

	leastMegabytes, leastSeconds = 0.25, 1.95 // either makes a row
)

func main() {
	if err := size(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func size(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, graph := filepath.Join(dir, "contend"), filepath.Join(dir, "graph.json")
	build := exec.CommandContext(ctx, "sh", "-ec", `flags=$(deploy/flags); go build $flags -ldflags=-w -debug-actiongraph="$1" -o "$2" ./cmd/contend`, "sh", graph, program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS=linux", "GOCACHE="+filepath.Join(dir, "cache"))
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program in the root of the repository: %w", err)
	}
	modules, err := modulesOf(program)
	if err != nil {
		return err
	}
	t := table{modules: modules, rows: make(map[string]row)}
	if err := t.addBytes(program); err != nil {
		return err
	}
	if err := t.addSeconds(graph); err != nil {
		return err
	}
	return t.write(w)
}

// modulesOf are the paths of the modules that a program is made of, longest first.
func modulesOf(program string) ([]string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	modules := []string{info.Main.Path}
	for _, d := range info.Deps {
		modules = append(modules, d.Path)
	}
	slices.SortFunc(modules, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return modules, nil
}

// row is what one module holds.
type row struct{ megabytes, seconds float64 }

type table struct {
	modules []string
	rows    map[string]row
}

func (t table) add(module string, more row) {
	r := t.rows[module]
	t.rows[module] = row{r.megabytes + more.megabytes, r.seconds + more.seconds}
}

// module is that of a package, or of a symbol that begins with one.
func (t table) module(name string) string {
	for _, m := range t.modules {
		if rest, ok := strings.CutPrefix(name, m); ok && (rest == "" || rest[0] == '/' || rest[0] == '.') {
			return m
		}
	}
	return goItself
}

// generated begins the names of symbols that the compiler made for a type.
var generated = regexp.MustCompile(`^(type:\.(eq|hash)\.|go:itab\.)?[*\[\]]*`)

func (t table) addBytes(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return err
	}
	var all, code, named float64
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			all += float64(s.Size) / 1e6
		}
	}
	codes := make(map[string]float64)
	for _, s := range symbols {
		if int(s.Section) >= len(file.Sections) || s.Size == 0 {
			continue
		}
		module, bytes := t.module(strings.ReplaceAll(generated.ReplaceAllString(s.Name, ""), "%2e", ".")), float64(s.Size)/1e6
		switch section := file.Sections[s.Section]; {
		case section.Flags&elf.SHF_EXECINSTR != 0:
			codes[module] += bytes
			code += bytes
		case section.Flags&elf.SHF_WRITE != 0 && section.Type != elf.SHT_NOBITS:
			t.add(module, row{megabytes: bytes})
			named += bytes
		}
	}
	text, lines := file.Section(".text"), file.Section(".gopclntab")
	functions := float64(text.Size+lines.Size) / 1e6
	for module, own := range codes {
		t.add(module, row{megabytes: functions * own / code})
	}
	t.add(constants, row{megabytes: all - functions - named})
	return nil
}

func (t table) addSeconds(graph string) error {
	text, err := os.ReadFile(graph)
	if err != nil {
		return err
	}
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys time.Duration
	}
	if err := json.Unmarshal(text, &actions); err != nil {
		return fmt.Errorf("%s: %w", graph, err)
	}
	for _, a := range actions {
		module := t.module(a.Package)
		if a.Mode == "link" {
			module = linking
		}
		t.add(module, row{seconds: (a.CmdUser + a.CmdSys).Seconds()})
	}
	return nil
}

func (t table) write(w io.Writer) error {
	var sum row
	for module, r := range maps.Clone(t.rows) {
		sum = row{sum.megabytes + r.megabytes, sum.seconds + r.seconds}
		if r.megabytes < leastMegabytes && r.seconds < leastSeconds {
			t.add(small, r)
			delete(t.rows, module)
		}
	}
	modules := slices.SortedFunc(maps.Keys(t.rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.rows[b].megabytes, t.rows[a].megabytes), cmp.Compare(t.rows[b].seconds, t.rows[a].seconds))
	})
	fmt.Fprintf(w, "| module | MB | compiled in CPU-s |\n|---|---:|---:|\n| all | %.1f | %.0f |\n", sum.megabytes, sum.seconds)
	for _, module := range modules {
		if _, err := fmt.Fprintf(w, "| %s | %.1f | %.1f |\n", module, t.rows[module].megabytes, t.rows[module].seconds); err != nil {
			return err
		}
	}
	return nil
}
