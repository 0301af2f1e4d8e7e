package why

import (
	"reflect"
	"regexp"
	"testing"

	"contend/why/symbol"
)

// Of 100,000 instructions 50 matter. main.serve calls main.price and main.table, these fasthttp.Fold, and main.table main.cell.
func TestInstructionsName(t *testing.T) {
	own := []Call{{Function: "all", PerOp: []float64{100, 100}}, {Function: "main.serve", Depth: 1, PerOp: []float64{90, 90}},
		{Function: "main.price", Depth: 2, PerOp: []float64{40, 40}}, {Function: "main.table", Depth: 2, PerOp: []float64{40, 40}},
		{Function: "main.cell", Depth: 3, PerOp: []float64{20, 20}}}
	all := []Call{{Function: "all", PerOp: []float64{100, 100}}, {Function: "main.serve", Depth: 1, PerOp: []float64{90, 90}},
		{Function: "main.price", Depth: 2, PerOp: []float64{40, 40}}, {Function: "fasthttp.Fold", Depth: 3, PerOp: []float64{30, 30}},
		{Function: "main.table", Depth: 2, PerOp: []float64{40, 40}}, {Function: "main.cell", Depth: 3, PerOp: []float64{20, 20}},
		{Function: "fasthttp.Fold", Depth: 4, PerOp: []float64{10, 10}}}
	type named struct {
		name         string
		instructions float64
		only         bool
		mostly       string
	}
	for _, tt := range []struct {
		name    string
		differ  []Executed
		changed []string
		want    []named
	}{
		{"with what it calls", []Executed{{"main.price", Own, 1000, 1200}, {"fasthttp.Fold", Library, 500, 800}}, []string{"main.price"},
			[]named{{"main.price", 500, false, "fasthttp.Fold"}}},
		{"what is hardly any of it is not said", []Executed{{"main.price", Own, 1000, 1200}, {"fasthttp.Fold", Library, 500, 510}}, []string{"main.price"},
			[]named{{"main.price", 210, false, ""}}},
		{"of the library most is called by the first", []Executed{{"main.price", Own, 1000, 1100}, {"main.table", Own, 0, 200}, {"fasthttp.Fold", "", 500, 800}},
			[]string{"main.price", "main.table"}, []named{{"main.price", 400, false, "fasthttp.Fold"}, {"main.table", 200, true, ""}}},
		{"nearly as much less elsewhere: it was inlined there", []Executed{{"main.serve", Own, 9000, 5000}, {"main.price", Own, 0, 4400}}, []string{"main.price", "main.serve"},
			[]named{{"main.price", 400, false, ""}}},
		{"inlined in the candidate", []Executed{{"main.serve", Own, 5000, 9000}, {"main.price", Own, 3900, 0}}, []string{"main.price", "main.serve"}, []named{{"main.price", 100, false, ""}}},
		{"called more often", []Executed{{"main.cell", Own, 1000, 1500}}, []string{"main.table", "main.serve"}, []named{{"main.table", 500, false, ""}}},
		{"called more often, by nobody who changed", []Executed{{"main.cell", Own, 1000, 1500}}, nil, []named{{"main.cell", 500, false, ""}}},
		{"less", []Executed{{"main.price", Own, 1000, 800}, {"fasthttp.Fold", Library, 500, 300}}, []string{"main.price"}, []named{{"main.price", -400, false, "fasthttp.Fold"}}},
		{"too little", []Executed{{"main.price", Own, 1000, 1049}}, []string{"main.price"}, nil},
		{"libraries alone", []Executed{{"fasthttp.Fold", Library, 500, 800}}, nil, nil},
		{"nothing", nil, nil, nil},
	} {
		in := Instructions{Arm: "B", Baseline: 100_000, Candidate: 101_000, Differ: tt.differ}
		e := Explanation{Candidate: "B", Roots: []Root{{Row: Row{Name: "main.timed"}}}}
		e.Count([]Instructions{{Arm: "C"}, in}, own, all, 0, 1, tt.changed)
		var got []named
		for _, r := range e.Roots {
			one := named{name: r.Name, instructions: r.Instructions, only: r.Only}
			for _, m := range r.Mostly {
				one.mostly += m
			}
			got = append(got, one)
		}
		if tt.want == nil { // what is known of times stays
			tt.want = []named{{name: "main.timed"}}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Functions that execute the same are not named for their time; one that does not keeps what is known of it.
func TestInstructionsConfirm(t *testing.T) {
	timed := Root{Row: Row{Name: "main.price", CandidateValue: 5}, Callers: []string{"main.serve"}}
	e := Explanation{Candidate: "B", Roots: []Root{timed, {Row: Row{Name: "main.moved"}}}}
	e.Count([]Instructions{{Arm: "B", Baseline: 1000, Differ: []Executed{{"main.price", Own, 10, 20}}}}, nil, nil, 0, 1, nil)
	timed.Instructions = 10
	if !reflect.DeepEqual(e.Roots, []Root{timed}) {
		t.Errorf("%+v", e.Roots)
	}
	e.Count([]Instructions{{Arm: "B", Baseline: 1000, Same: true}}, nil, nil, 0, 1, nil)
	if len(e.Roots) > 0 {
		t.Errorf("the same instructions: %+v", e.Roots)
	}
}

func TestInstructionsTrace(t *testing.T) {
	in := Instructions{Differ: []Executed{{Function: "example.com/shop/cart.(*Cart).Add"}, {Function: "example.com/shop/cart.unseen"}, {Function: "fasthttp.Fold"},
		{Function: "fasthttp.unseen"}, {Function: "render"}, {Function: "memcpy"}, {Function: "other"}}}
	frames := []symbol.Frame{
		{Function: "example.com/shop/cart.(*Cart).Add", Package: "example.com/shop/cart", File: "/src/cart.go"},
		{Function: "fasthttp.Fold", Package: "fasthttp", File: "/mod/fasthttp@v1.5.0/fold.go"},
		{Function: "render", Package: "server"},
		{Function: "memcpy", Package: "libc.so.6"},
	}
	for _, tt := range []struct {
		own  *regexp.Regexp
		want []Origin
	}{
		{nil, []Origin{Own, Own, Library, Library, Own, "", ""}},
		{regexp.MustCompile("fasthttp"), []Origin{Library, Library, Own, Own, Library, "", ""}},
	} {
		in.Trace([][]Stacks{{{List: []Stack{{Frames: frames}}}}}, tt.own)
		for i, f := range in.Differ {
			if f.Of != tt.want[i] {
				t.Errorf("%v: %s is of %q, want %q", tt.own, f.Function, f.Of, tt.want[i])
			}
		}
	}
}
