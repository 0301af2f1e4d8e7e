package why

import (
	"slices"
	"testing"

	"contend/stat"
	"contend/why/symbol"
)

// Code is compared by its digest, and has moved if it is at another place.
func TestMovedOf(t *testing.T) {
	at := func(name string, digest, place uint64) Stack {
		return Stack{Frames: []symbol.Frame{{Function: name, Code: symbol.Code{Digest: digest, At: place}}}}
	}
	arm := func(list ...Stack) []Stacks { return []Stacks{{List: list}} }
	got := MovedOf([][]Stacks{
		arm(at("stays", 1, 10), at("moved", 2, 20), at("edited", 3, 30), at("gone", 4, 40), at("unknown", 0, 0),
			at("inlined", 5, 50), at("inlined", 6, 60), at("inlined elsewhere", 5, 50)),
		arm(at("stays", 1, 10), at("moved", 2, 24), at("edited", 9, 34), at("new", 4, 44), at("unknown", 0, 0),
			at("inlined", 5, 54), at("inlined elsewhere", 6, 64)),
	})
	if want := []string{"inlined", "moved"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of two that have moved, one by 5% and one by 40%, the first may be slower for its place; the edited one is a root however small.
func TestMovedIsNoRoot(t *testing.T) {
	own := drawn(`
all 1000 1050
  main.serve 1000 1050
    moved 100 105
    grown 100 140
    edited 500 505`)
	differ := func(name string, before, value float64) Row {
		return Row{Name: name, BaselineValue: before, CandidateValue: before + value, Shift: stat.Shift{Value: value}}
	}
	rows := []Row{differ("grown", 100, 40), differ("moved", 100, 5), differ("edited", 500, 5)}
	for want, moved := range map[string][]string{"grown, moved, edited": nil, "grown, edited": {"grown", "moved"}} {
		e := Explanation{Own: slices.Clone(rows)}
		e.Trace(own, nil, 0, 1, nil, moved)
		got := ""
		for i, r := range e.Roots {
			if i > 0 {
				got += ", "
			}
			got += r.Name
		}
		if got != want || len(e.Own) != 3 {
			t.Errorf("moved %q: %s, want %s", moved, got, want)
		}
	}
}

// Where the candidate clearly uses more CPU time, what uses less of it comes last.
func TestRootsOfTheDifferenceAreFirst(t *testing.T) {
	own := drawn(`
all 1000 1010
  main.serve 1000 1010
    less 100 70
    more 100 120`)
	differ := func(name string, value float64) Row { return Row{Name: name, Shift: stat.Shift{Value: value}} }
	for want, cpu := range map[string]stat.Shift{"more": {Value: 10, Low: 5, High: 15, Confidence: 0.95}, "less": {Value: 10, Low: -5, High: 25, Confidence: 0.95}} {
		e := Explanation{CPU: Row{Shift: cpu}, Own: []Row{differ("less", -30), differ("more", 20)}}
		e.Trace(own, nil, 0, 1, nil, nil)
		if len(e.Roots) != 2 || e.Roots[0].Name != want {
			t.Errorf("CPU %+v: %+v, want %s first", cpu, e.Roots, want)
		}
	}
}
