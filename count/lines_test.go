package count

import (
	"fmt"
	"strings"
	"testing"
)

// In a function that was edited lines are found again by their counts.
func TestAlign(t *testing.T) {
	lines := func(text string) (list []source) { // number=count
		for _, one := range strings.Fields(text) {
			s := source{line: line{file: "/src/main.go"}, values: make([]float64, 1)}
			if _, err := fmt.Sscanf(one, "%d=%f", &s.number, &s.values[0]); err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		return list
	}
	for _, tt := range []struct{ name, a, b, want string }{
		{"the same", "7=5 8=900 9=5", "7=5 8=900 9=5", "7:7 8:8 9:9"},
		{"a constant is another one", "7=5 8=900 9=5", "7=5 8=990 9=5", "7:7 8:8 9:9"},
		{"a comment above it", "7=5 8=900 9=6", "9=5 10=990 11=6", "7:9 8:10 9:11"},
		{"a line within it", "7=5 8=900 9=6", "7=5 8=40 9=900 10=6", "7:7 -:8 8:9 9:10"},
		{"a line less", "7=5 8=40 9=900", "7=5 8=900", "7:7 8:- 9:8"},
		{"one changed and one more", "7=5 8=900 9=6", "7=5 8=990 9=40 10=6", "7:7 8:8 -:9 9:10"},
		{"all changed", "7=5 8=900", "7=6 8=990", "7:7 8:8"},
		{"lines that count alike", "7=5 8=5 9=5", "7=5 8=5 9=5 10=5", "7:7 8:8 9:9 -:10"},
		{"a new function", "", "7=5 8=6", "-:7 -:8"},
		{"one that is gone", "7=5", "", "7:-"},
	} {
		var got []string
		name := func(s source) string {
			if s.values == nil {
				return "-"
			}
			return fmt.Sprint(s.number)
		}
		for _, p := range align(lines(tt.a), lines(tt.b)) {
			got = append(got, name(p[0])+":"+name(p[1]))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
}

// A row has the lines in which it differs, with the number that they have in the candidate.
func TestLinesOfRows(t *testing.T) {
	of := func(counts map[int]float64) (list []map[line]float64) {
		one := map[line]float64{{"main.other", "/src/main.go", 3}: 50}
		for number, n := range counts {
			one[line{"main.spin", "/src/main.go", number}] = n
		}
		for range Repetitions {
			list = append(list, one)
		}
		return list
	}
	c := &Comparison{Rows: []Row{{Name: "main.spin"}}}
	c.find(of(map[int]float64{70: 5, 71: 6000, 73: 2}), of(map[int]float64{72: 5, 73: 6060, 74: 30, 75: 2}))
	var got []string
	for _, l := range c.Rows[0].Lines {
		got = append(got, fmt.Sprintf("%s %+g", l.Name, l.Value))
	}
	if want := "main.go:73 +60, main.go:74 +30"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
