package why

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"contend/why/symbol"
)

func TestStacksAddUp(t *testing.T) {
	var s Stacks
	in := func(line int) []symbol.Frame { return []symbol.Frame{{Function: "f", File: "f.go", Line: line}} }
	s.Add([]Stack{{in(1), 2, 20}, {in(2), 1, 10}}, 3)
	s.Add([]Stack{{in(1), 1, 15}, {nil, 1, 5}, {in(1), 1, 15}}, 2)
	want := []Stack{{in(1), 4, 50}, {in(2), 1, 10}, {nil, 1, 5}}
	if s.Operations != 5 || !reflect.DeepEqual(s.List, want) {
		t.Errorf("%d operations in %+v, want 5 in %+v", s.Operations, s.List, want)
	}
	if got := s.PerOp(s.List[0]); got != 10 { // 50 ÷ 5
		t.Errorf("%v ns per operation, want 10", got)
	}
	if got := new(Stacks).PerOp(Stack{Time: 1}); got != 0 {
		t.Errorf("%v ns per operation without any, want 0", got)
	}
}

// All stacks beyond the bound are one stack, and known ones go on counting.
func TestStacksAreBounded(t *testing.T) {
	var s Stacks
	for round := range 2 {
		for i := range mostStacks + 10 {
			s.Add([]Stack{{frames(fmt.Sprint("f.", i)), 1, 2}}, 1)
		}
		rest := s.List[mostStacks]
		if want := int64(10 * (round + 1)); len(s.List) != mostStacks+1 || rest.Frames[0].Function != others || rest.Samples != want {
			t.Fatalf("%d stacks, the last is %+v", len(s.List), rest)
		}
	}
	if first := s.List[0]; first.Samples != 2 || first.Time != 4 {
		t.Errorf("the first is %+v", first)
	}
}

// Functions beyond the bound are added up as well: of 1000 stacks all but 500 000 ÷ 1000.
func TestDeepStacksAreBounded(t *testing.T) {
	var s Stacks
	deep := make([]symbol.Frame, 1000)
	for i := range 1000 {
		deep[0].Line = i
		s.Add([]Stack{{slices.Clone(deep), 1, 2}}, 1)
	}
	if rest := s.List[len(s.List)-1]; len(s.List) != 501 || rest.Frames[0].Function != others || rest.Samples != 500 {
		t.Errorf("%d stacks, the last is %+v", len(s.List), rest)
	}
}
