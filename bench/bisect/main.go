// Bisect makes a git repository of a small Go server by a seed, in which one of many commits makes a request cost 0.3% more
// instructions, and has contend bisect --count find it: first with all builds, and again with those that are kept.
//
//	go run ./bench/bisect
//	go run ./bench/bisect -seed 2 -commits 64
//
// It requires git, go and valgrind.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"contend/bench/internal/paired"
	"contend/report"
)

func main() {
	b := &bench{}
	flag.Uint64Var(&b.seed, "seed", 1, "seed of the commits")
	flag.IntVar(&b.commits, "commits", 1024, "commits after the good one")
	flag.BoolVar(&b.verbose, "v", false, "show what contend prints while it searches")
	paired.Main("bisect", b.run)
}

type bench struct {
	seed    uint64
	commits int
	verbose bool
}

// goMod and server are the files of each commit. A turn of the loop is 4 instructions or so, and a request 15,000.
const (
	goMod  = "module server\n\ngo 1.24\n"
	server = `package main

import (
	"fmt"
	"net/http"
	"os"
)

//go:noinline
func work(turns int) (sum uint64) {
	for i := range turns {
		sum = sum*31 + uint64(i)
	}
	return sum
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, work(%d)%%10, len(notes)) })
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], nil))
}
`
	turns, more = 1000, 11
)

// series returns what git fast-import makes the repository of, and the number of the commit that makes requests dearer. The
// others change a text of the program.
func (b *bench) series() (stream string, culprit int) {
	rng := rand.New(rand.NewPCG(b.seed, 0))
	culprit = 1 + rng.IntN(b.commits)
	var s strings.Builder
	file := func(name, text string) { fmt.Fprintf(&s, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text) }
	for n := range b.commits + 1 {
		message := fmt.Sprintf("change %d", n)
		fmt.Fprintf(&s, "commit refs/heads/main\ncommitter a <a@localhost> %d +0000\ndata %d\n%s\n", 1_700_000_000+60*n, len(message), message)
		if n == 0 {
			file("go.mod", goMod)
			file("main.go", fmt.Sprintf(server, turns))
		}
		if n == culprit {
			file("main.go", fmt.Sprintf(server, turns+more))
		}
		file("notes.go", fmt.Sprintf("package main\n\nconst notes = \"%d: %016x\"\n", 10_000+n, rng.Uint64()))
	}
	return s.String(), culprit
}

func (b *bench) run(ctx context.Context, w io.Writer, s paired.Setup) error {
	folder := filepath.Join(s.Dir, "server")
	stream, culprit := b.series()
	for _, args := range [][]string{{"init", "-q", "-b", "main", folder}, {"-C", folder, "fast-import", "--quiet"}, {"-C", folder, "checkout", "-q", "main"}} {
		git := exec.CommandContext(ctx, "git", args...)
		git.Stdin = strings.NewReader(stream)
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args, err, out)
		}
	}
	paired.PrintEnvironment(w)
	fmt.Fprintf(w, "%d commits, seed %d; the %dth makes a request dearer\n", b.commits, b.seed, culprit)
	for _, builds := range []string{"with builds", "builds are kept"} {
		if err := b.search(ctx, w, s, folder, builds, culprit); err != nil {
			return err
		}
	}
	return nil
}

// search has contend find the commit.
func (b *bench) search(ctx context.Context, w io.Writer, s paired.Setup, folder, builds string, culprit int) error {
	goCache, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output() // else it would follow XDG_CACHE_HOME
	if err != nil {
		return err
	}
	file, began := filepath.Join(s.Dir, "bisected.json"), time.Now()
	cmd := exec.CommandContext(ctx, s.Contend, "bisect", fmt.Sprintf("main~%d", b.commits), "main", "--count", "--build", "go build -trimpath -o {{out}} .",
		"--url", "http://{{addr}}/", "-o", file, "--", "{{out}} {{addr}}")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(s.Dir, "cache"), "GOCACHE="+strings.TrimSpace(string(goCache)), "GOFLAGS=", "CGO_ENABLED=0")
	var said strings.Builder
	cmd.Stderr = &said
	if b.verbose {
		cmd.Stderr = os.Stderr
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	page, err := cmd.Output()
	took := time.Since(began)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w\n%s%s", err, page, said.String())
	}
	var doc report.Document
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	found := doc.Bisection
	if found == nil || len(found.Looks) == 0 {
		return fmt.Errorf("nothing was searched\n%s%s", page, said.String())
	}
	found.Derive()
	best := found.Best()
	fmt.Fprintf(w, "%s: %d revisions counted in %v, BAD %+.2f%%; %s with %.1f%%: %s\n", builds, 1+len(found.Looks), took.Round(time.Second),
		100*math.Expm1(found.Looks[0].Mean()), found.Commits[best].Subject, 100*found.Commits[best].Probability, paired.Outcome(found.Found() && best == culprit-1))
	return nil
}
