package why

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"contend/stat"
	"contend/why/symbol"
)

// Code is compared by its digest, and has moved if it is at another place. Of what one arm alone has nothing is said.
func TestProgramOf(t *testing.T) {
	at := func(name string, digest, place uint64) Stack {
		return Stack{Frames: []symbol.Frame{{Function: name, Code: symbol.Code{Digest: digest, At: place}}}}
	}
	arm := func(list ...Stack) []Stacks { return []Stacks{{List: list}} }
	got := ProgramOf([][]Stacks{
		arm(at("stays", 1, 10), at("moved", 2, 20), at("edited", 3, 30), at("gone", 4, 40), at("unknown", 0, 0),
			at("inlined", 5, 50), at("inlined", 6, 60), at("inlined elsewhere", 5, 50)),
		arm(at("stays", 1, 10), at("moved", 2, 24), at("edited", 9, 34), at("new", 4, 44), at("unknown", 0, 0),
			at("inlined", 5, 54), at("inlined elsewhere", 6, 64)),
	})
	if want := (Program{Moved: []string{"inlined", "moved"}, Changed: []string{"edited", "inlined elsewhere"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of two that have moved, one by 5% and one by 60%, the first may be slower for its place; the edited one is a root however
// small. Where the candidate clearly uses more CPU time, what uses less of it comes last, and alone explains nothing.
func TestWhatIsNoRoot(t *testing.T) {
	own := drawn(`
all 1000 1070
  main.serve 1000 1070
    moved 100 105
    grown 100 160
    edited 500 505
    less 130 100
    more 100 120`)
	differ := func(name string, before, value float64) Row {
		return Row{Name: name, BaselineValue: before, CandidateValue: before + value, Shift: stat.Shift{Value: value}}
	}
	code := []Row{differ("grown", 100, 60), differ("moved", 100, 5), differ("edited", 500, 5)}
	less, more := differ("less", 130, -30), differ("more", 100, 20)
	clear := Row{Shift: stat.Shift{Value: 10, Low: 5, High: 15, Confidence: 0.95}}
	unclear := Row{Shift: stat.Shift{Value: 10, Low: -5, High: 25, Confidence: 0.95}}
	for _, tt := range []struct {
		cpu   Row
		own   []Row
		moved []string
		want  string
	}{
		{clear, code, nil, "grown, moved, edited"},
		{clear, code, []string{"grown", "moved"}, "grown, edited"},
		{clear, []Row{less, more}, nil, "more, less"},
		{clear, []Row{less}, nil, ""},
		{unclear, []Row{less, more}, nil, "less, more"},
	} {
		e := Explanation{CPU: tt.cpu, Own: slices.Clone(tt.own)}
		e.Trace(own, nil, 0, 1, nil, Program{Moved: tt.moved})
		var names []string
		for _, r := range e.Roots {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, ", "); got != tt.want || len(e.Own) != len(tt.own) {
			t.Errorf("of %d functions, moved %q: %s, want %s", len(e.Own), tt.moved, got, tt.want)
		}
	}
}

// Nor is a function whose code has moved, where what it calls of a library differs by 10%, but by 60% is.
func TestWhatMovedCallsIsNoRoot(t *testing.T) {
	own := drawn(`
all 100 104
  main.fill 50 54
    strings.Map 40 44`)
	for _, tt := range []struct {
		before float64
		moved  []string
		want   int
	}{{40, nil, 1}, {40, []string{"main.fill"}, 0}, {6, []string{"main.fill"}, 1}} {
		e := Explanation{Functions: []Row{{Name: "strings.Map", BaselineValue: tt.before, CandidateValue: tt.before + 4, Shift: stat.Shift{Value: 4}}}}
		e.Trace(own, nil, 0, 1, nil, Program{Moved: tt.moved})
		if len(e.Roots) != tt.want {
			t.Errorf("%+v: %+v", tt, e.Roots)
		}
	}
}

// Functions that a runtime compiles are at another place in each process: that counts only if the source of one has changed.
func TestProgramOfScripts(t *testing.T) {
	arm := func(process, edited uint64) []Stacks {
		frame := func(name string, digest uint64) symbol.Frame {
			return symbol.Frame{Function: name, Package: symbol.Compiled, Code: symbol.Code{Digest: digest, At: process}}
		}
		return []Stacks{{List: []Stack{{Frames: []symbol.Frame{frame("fill", 1), frame("render", edited)}}}}}
	}
	if got := ProgramOf([][]Stacks{arm(100, 2), arm(200, 2)}); len(got.Moved)+len(got.Changed)+len(got.Recompiled) > 0 {
		t.Errorf("the same script: %+v", got)
	}
	if got, want := ProgramOf([][]Stacks{arm(100, 2), arm(200, 3)}), (Program{Moved: []string{}, Recompiled: []string{"fill"}, Changed: []string{"render"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("an edited script: %+v, want %+v", got, want)
	}
}

// Of 10,000 ns a function that was compiled anew may use 500 more.
func TestRecompiled(t *testing.T) {
	p := Program{Recompiled: []string{"fill"}}
	for value, want := range map[float64]bool{499: false, -499: false, 500: true, -500: true} {
		if got := p.explains(Row{Name: "fill", BaselineValue: 10, Shift: stat.Shift{Value: value}}, 10_000); got != want {
			t.Errorf("%g: %v", value, got)
		}
	}
}
