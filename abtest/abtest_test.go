package abtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/internal/testenv"
	"contend/stat"
)

// sleeper takes perOp for each operation, in the time of a synctest bubble, and
// wobble as much more or less from call to call.
func sleeper(name string, perOp time.Duration, wobble float64) Func {
	calls := int(name[0]) // another noise for each name
	return Func{name, func(n int) {
		calls++
		noise := wobble * math.Sin(float64(calls*calls))
		time.Sleep(time.Duration(float64(n) * float64(perOp) * (1 + noise)))
	}}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name   string
		perOp  time.Duration
		wobble float64
		rounds int
		want   stat.Verdict
	}{
		{"10% slower", 1100, 0.01, 6, stat.Slower},
		{"10% faster", 900, 0.01, 6, stat.Faster},
		{"the same", 1000, 0, 6, stat.Equivalent},
		{"1% is within the margin", 1010, 0.001, 6, stat.Equivalent},
		{"five rounds", 1100, 0.01, 5, stat.Inconclusive},
		{"noise", 1000, 0.9, 6, stat.Inconclusive},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, err := Compare(t.Context(), "Sleep", Config{Rounds: tt.rounds, Pairs: 5},
					sleeper("a", time.Microsecond, tt.wobble), sleeper("b", tt.perOp, tt.wobble))
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict != tt.want || len(r.Replications) != tt.rounds {
					t.Errorf("%d rounds, %v, want %s", len(r.Replications), r, tt.want)
				}
				if tt.want != stat.Inconclusive && math.Abs(r.Ratio/(float64(tt.perOp)/1000)-1) > 0.01 {
					t.Errorf("ratio %g", r.Ratio)
				}
				if !strings.Contains(r.String(), "Sleep: "+string(tt.want)+": b takes ") || !strings.Contains(r.String(), "rounds_not_fresh") {
					t.Errorf("says %q", r)
				}
			})
		})
	}
}

// 10 ms at 1 µs per operation are 10 000 operations, found in steps of at most a
// hundred times; 5 pairs of blocks in each of 2 rounds.
func TestBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := ""
		do := func(name string) Func {
			return Func{name, func(n int) {
				order += name
				time.Sleep(time.Duration(n) * time.Microsecond)
			}}
		}
		r, err := Compare(t.Context(), "X", Config{Rounds: 2, Pairs: 5, open: noCounters}, do("a"), do("b"))
		if err != nil {
			t.Fatal(err)
		}
		for _, round := range r.Replications {
			want := Sample{Ops: 50_000, Elapsed: 50 * time.Millisecond}
			for _, s := range []Sample{round.Baseline, round.Candidate} {
				if s.Ops != want.Ops || s.Elapsed != want.Elapsed {
					t.Errorf("%+v, want %+v", s, want)
				}
			}
		}
		blocks := order[len(order)-20:]
		for _, round := range []string{blocks[:10], blocks[10:]} {
			if round != "abbaabbaab" && round != "baabbaabba" {
				t.Errorf("order %s", round)
			}
		}
	})
}

func TestAllocations(t *testing.T) {
	var sink []byte
	none := Func{"none", func(n int) { time.Sleep(time.Duration(n) * time.Microsecond) }}
	two := Func{"two", func(n int) {
		for range n {
			sink = make([]byte, 100)
			sink = make([]byte, 28)
		}
		none.Do(n)
	}}
	synctest.Test(t, func(t *testing.T) {
		r, err := Compare(t.Context(), "X", Config{Rounds: 1, Pairs: 1}, none, two)
		if err != nil {
			t.Fatal(err)
		}
		a, b := r.Sum()
		// 112 + 32 bytes by size class; a few objects of others are in it.
		if a.AllocsPerOp() > 0.1 || math.Abs(b.AllocsPerOp()-2) > 0.1 || math.Abs(b.BytesPerOp()-144) > 20 {
			t.Errorf("%g and %g allocations, %g bytes", a.AllocsPerOp(), b.AllocsPerOp(), b.BytesPerOp())
		}
	})
	_ = sink
}

func TestMistakes(t *testing.T) {
	do := func(int) { time.Sleep(time.Microsecond) }
	_, err := Compare(t.Context(), "X", Config{Rounds: -1, Pairs: 5000, Block: 1, Margin: 2, InstructionMargin: -1, Confidence: 1, Fresh: true}, Func{"a", nil}, Func{"a", do})
	for _, want := range []string{"rounds is -1; expected 1 to 1000", "pairs is 5000", "block is 1ns", "margin is 2", "instruction margin is -1",
		"confidence is 1", "a function is nil", `named "a" and "a"`, "only Run can"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	synctest.Test(t, func(t *testing.T) { // where only sleep takes time
		_, err := Compare(t.Context(), "X", Config{}, Func{"idle", func(int) {}}, Func{"b", do})
		if err == nil || !strings.Contains(err.Error(), "idle did 1000000000 operations in no time") {
			t.Errorf("error %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Compare(ctx, "X", Config{}, sleeper("a", 1000, 0), sleeper("b", 1000, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

type recorder struct {
	testing.TB
	failed bool
	said   string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.failed, r.said = true, fmt.Sprint(args...) }
func (r *recorder) Log(args ...any)   { r.said = fmt.Sprint(args...) }

func TestFailIfSlower(t *testing.T) {
	for _, v := range []stat.Verdict{stat.Faster, stat.Slower, stat.Equivalent, stat.Inconclusive} {
		tb := new(recorder)
		(&Result{Comparison: Comparison{Verdict: v}}).FailIfSlower(tb)
		if tb.failed != (v == stat.Slower) {
			t.Errorf("%s: failed %v", v, tb.failed)
		}
	}
}

func spin(n int) Func {
	return Func{"spin" + string(rune('0'+n)), func(ops int) {
		x := 1.0
		for range ops * n * 100 {
			x = math.Sqrt(x + 1)
		}
		if x < 0 {
			panic(x)
		}
	}}
}

// Each round runs in a process of its own, so no function is called in this one.
func TestRunFresh(t *testing.T) {
	t.Run("sub test", func(t *testing.T) {
		called := false
		a, b := spin(1), spin(2)
		do := b.Do
		b.Do = func(n int) { called = true; do(n) }
		r := Run(t, Config{Fresh: true, Rounds: 2, Pairs: 1, Block: time.Millisecond}, a, b)
		if called || len(r.Replications) != 2 || r.Name != "RunFresh/sub_test" || r.Replications[0] == r.Replications[1] {
			t.Errorf("called here: %v; %+v", called, r)
		}
		if strings.Contains(r.String(), "rounds_not_fresh") {
			t.Errorf("says %v", r)
		}
	})
}

// A round that fails shows what its process said.
func TestFreshRoundThatFails(t *testing.T) {
	a, b := spin(1), spin(2)
	b.Do = func(int) { panic("out of luck") }
	_, err := runFresh(t, Config{Fresh: true, Rounds: 1}, a, b)
	if err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("error %v", err)
	}
}

func benchmarks(t *testing.T) *Result {
	var r *Result
	synctest.Test(t, func(t *testing.T) {
		var m machine
		var err error
		r, err = Compare(t.Context(), "Sleep/some thing", Config{Rounds: 6, Pairs: 2, open: m.open},
			m.runs(sleeper("old way", 1000, 0.001), 40_000, 0.001), m.runs(sleeper("new/way", 1100, 0.001), 50_000, 0.001))
		if err != nil {
			t.Fatal(err)
		}
	})
	return r
}

var benchmarkLine = regexp.MustCompile(`^(?:[a-z]+: \S+|Benchmark[A-Z]\S*\t\d+\t[-+.\de]+ ns/op\t\d+ B/op\t\d+ allocs/op\t[\d.]+ instructions/op)$`)

func TestWriteBenchmarks(t *testing.T) {
	r := benchmarks(t)
	var both, old, new bytes.Buffer
	if err := errors.Join(r.WriteBenchmarks(&both), r.WriteSeparately(&old, &new)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{both.String(): "BenchmarkSleep/some_thing/arm=new_way", new.String(): "BenchmarkSleep/some_thing"} {
		for line := range strings.Lines(text) {
			if !benchmarkLine.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("line %q", line)
			}
		}
		if n := strings.Count(text, want+"-") + strings.Count(text, want+"\t"); n != 6 { // with GOMAXPROCS or without
			t.Errorf("%d lines of %s in\n%s", n, want, text)
		}
	}
	benchstat := testenv.Program(t, "benchstat")
	dir := t.TempDir()
	files := map[string][]byte{"both.txt": both.Bytes(), "old.txt": old.Bytes(), "new.txt": new.Bytes()}
	for name, text := range files {
		testenv.Write(t, filepath.Join(dir, name), text)
	}
	for _, args := range [][]string{{"-col", "/arm", "both.txt"}, {"old.txt", "new.txt"}} {
		cmd := exec.CommandContext(t.Context(), benchstat, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(`\+(9\.9|10\.)\d+%`).Match(out) || !regexp.MustCompile(`\+(24\.9|25\.)\d+% \(p=0.002 n=6\)`).Match(out) {
			t.Errorf("benchstat %v: %v\n%s", args, err, out)
		}
	}
}
