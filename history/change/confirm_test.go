package change

import (
	"math"
	"testing"
)

// With no deviation between builds 0.02 is 4 standard errors of 0.005. With one of 0.005 the standard error is 0.005 · √3, so
// 0.02 is 2.31 of them, whose probability is 0.021. Two such are 3.27.
func TestConfirm(t *testing.T) {
	r := Repetition{Value: 0.02, SE: 0.005}
	opposite := Repetition{Value: -0.02, SE: 0.005}
	for _, tt := range []struct {
		name      string
		size      float64
		build     float64
		all       []Repetition
		want      float64 // the size
		confirmed bool
	}{
		{"clear", 0.03, 0, []Repetition{r}, 0.02, true},
		{"less", -0.03, 0, []Repetition{opposite}, -0.02, true},
		{"the other direction", -0.03, 0, []Repetition{r}, 0.02, false},
		{"builds differ", 0.03, 0.005, []Repetition{r}, 0.02, false},
		{"builds differ, twice", 0.03, 0.005, []Repetition{r, r}, 0.02, true},
		{"contradicted", 0.03, 0, []Repetition{r, opposite}, 0, false},
		{"the wider counts less", 0.03, 0, []Repetition{r, {Value: 0.05, SE: 0.01}}, 0.026, true}, // (4 · 0.02 + 0.05) ÷ 5
	} {
		got := Step{Size: tt.size, Build: tt.build}.Confirm(tt.all)
		if math.Abs(got.Size-tt.want) > 1e-12 || got.Confirmed != tt.confirmed || got.High-got.Size != got.Size-got.Low && math.Abs(got.High+got.Low-2*got.Size) > 1e-12 {
			t.Errorf("%s: %+v, want %v, %v", tt.name, got, tt.want, tt.confirmed)
		}
	}
}

// step is one of ten points at 4 ≤ at ≤ 6.
func step() Step { return Step{At: 5, From: 4, To: 6, First: 0, Last: 9, Size: 0.05} }

func TestToldOnce(t *testing.T) {
	s, before, after, ok := Next([]Step{step()}, nil, 10)
	if !ok || before != 3 || after != 6 {
		t.Fatalf("compare %d and %d, %v", before, after, ok)
	}
	known, c := Remember(nil, s, Repetition{Value: 0.05, SE: 0.001}, 10)
	if !c.Confirmed {
		t.Fatal(c)
	}
	moved, down, other := step(), step(), step()
	moved.From, moved.To = 6, 8
	down.Size = -0.05
	other.From, other.At, other.To = 7, 8, 8
	for name, tt := range map[string]struct {
		step Step
		ok   bool
	}{
		"the same":              {step(), false},
		"with more commits":     {moved, false},
		"back again":            {down, true},
		"from there on":         {other, true},
		"only its end overlaps": {Step{From: 1, To: 4, Last: 9, Size: 0.02}, false},
	} {
		if _, _, _, ok := Next([]Step{tt.step}, known, 20); ok != tt.ok {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if s, _, _, ok := Next([]Step{step(), other}, nil, 10); !ok || s.At != other.At {
		t.Errorf("the newest is %+v", s)
	}
}

// A step that is not confirmed is repeated with other builds when there are more commits, and then is the machine's.
func TestTries(t *testing.T) {
	var known []Known
	for n, want := range [][2]int{{3, 6}, {2, 7}, {1, 8}} {
		s, before, after, ok := Next([]Step{step()}, known, 10+n)
		if !ok || before != want[0] || after != want[1] {
			t.Fatalf("try %d: compare %d and %d, %v", n, before, after, ok)
		}
		known, _ = Remember(known, s, Repetition{SE: 0.001}, 10+n)
		if _, _, _, ok := Next([]Step{s}, known, 10+n); ok {
			t.Errorf("try %d is repeated without a new commit", n)
		}
	}
	if _, _, _, ok := Next([]Step{step()}, known, 99); ok {
		t.Error("repeated once more")
	}
	narrow := step()
	narrow.First, narrow.From, narrow.To, narrow.Last = 3, 4, 9, 9
	if _, before, after, ok := Next([]Step{narrow}, known[:0], 10); !ok || before != 3 || after != 9 {
		t.Errorf("compare %d and %d", before, after)
	}
}
