package why

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"contend/why/symbol"
)

// calling is a stack, from its outermost caller.
func calling(spent time.Duration, names ...string) Stack {
	s := Stack{Samples: 1, Time: spent}
	for _, name := range slices.Backward(names) {
		s.Frames = append(s.Frames, symbol.Frame{Function: name})
	}
	return s
}

func stacksOf(operations int64, list ...Stack) []Stacks {
	var s Stacks
	s.Add(list, operations)
	return []Stacks{s}
}

func shown(calls []Call) (lines []string) {
	for _, c := range calls {
		lines = append(lines, fmt.Sprint(c.Depth, " ", c.Function, " ", c.PerOp))
	}
	return lines
}

// Calls have what they called, per operation of each arm; what is less than 0.1% of both is left
// out, and of more than are wanted the smallest.
func TestCalls(t *testing.T) {
	arms := [][]Stacks{
		stacksOf(2, calling(2000, "main"), calling(8000, "main", "write"), calling(9, "main", "none")),
		stacksOf(1, calling(3000, "main", "read"), calling(1000, "main", "write"), calling(40, "main", "write", "flush"), calling(5, "main", "read", "none"), calling(960)),
	}
	want := []string{"0 all [5004.5 5005]", "1 [unknown] [0 960]", "1 main [5004.5 4045]", "2 read [0 3005]", "2 write [4000 1040]", "3 flush [0 40]"}
	got := CallsOf(arms, 100)
	if !slices.Equal(shown(got), want) {
		t.Errorf("got %q, want %q", shown(got), want)
	}
	if got, want := Begins(got, 1), []float64{0, 0, 960, 960, 3965, 3965}; !slices.Equal(got, want) {
		t.Errorf("they begin at %v, want %v", got, want)
	}
	for most, want := range map[int][]string{1: want[:1], 2: {want[0], want[2]}, 4: {want[0], want[2], want[3], want[4]}, 6: want} {
		if got := shown(CallsOf(arms, most)); !slices.Equal(got, want) {
			t.Errorf("of %d: %q, want %q", most, got, want)
		}
	}
	if got := shown(CallsOf([][]Stacks{stacksOf(0), stacksOf(0, calling(1, "f"))}, 9)); !slices.Equal(got, []string{"0 all [0 0]"}) {
		t.Errorf("of nothing: %q", got)
	}
}

// With several levels it is their mean.
func TestCallsOfLevels(t *testing.T) {
	levels := append(stacksOf(1, calling(100, "f")), stacksOf(1, calling(300, "f"))...)
	if got := shown(CallsOf([][]Stacks{levels}, 9)); !slices.Equal(got, []string{"0 all [200]", "1 f [200]"}) {
		t.Errorf("%q", got)
	}
}

// Of 100 ns of B 30 begin where a thread does, 20 in Go's runtime and 10 where nobody knows.
func TestCut(t *testing.T) {
	calls := []Call{
		{"all", 0, []float64{0, 100}},
		{"[unknown]", 1, []float64{0, 25}}, {"start_thread", 2, []float64{0, 5}}, {"[unknown] in libc.so.6", 1, []float64{0, 10}}, {"send", 1, []float64{0, 15}},
		{"runtime.goexit", 1, []float64{0, 20}}, {"start_thread", 1, []float64{0, 30}}, {"send", 2, []float64{0, 30}},
	}
	if got := Cut(calls, 1); got != 0.4 {
		t.Errorf("%g, want 25 + 15 of 100", got)
	}
	if Cut(calls, 0) != 0 || Cut(nil, 0) != 0 {
		t.Error("of nothing a part is cut")
	}
}

// The program's own functions lead to where a function takes more time than before; those of libraries are left out.
func TestUnder(t *testing.T) {
	calls := []Call{{"all", 0, []float64{70, 100}}, {"runtime.goexit", 1, []float64{70, 100}}, {"net/http.(*conn).serve", 2, []float64{60, 90}},
		{"main.handle", 3, []float64{40, 80}}, {"log.Printf", 4, []float64{40, 45}}, {"log.formatHeader", 5, []float64{35, 40}},
		{"main.logLine", 4, []float64{0, 30}}, {"log.Printf", 5, []float64{0, 28}}, {"log.formatHeader", 6, []float64{0, 20}},
		{"log.formatHeader", 2, []float64{9, 7}}}
	for function, want := range map[string][]string{"log.formatHeader": {"main.handle", "main.logLine"}, "main.logLine": {"main.handle"},
		"net/http.(*conn).serve": nil, "main.unknown": nil} {
		if got := Under(calls, function, 1, 0); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", function, got, want)
		}
	}
	if got := Under(calls, "log.formatHeader", 0, 1); got != nil {
		t.Errorf("what takes less time is called from %v", got)
	}
}
