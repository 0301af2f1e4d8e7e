package count

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"contend/finding"
	"contend/stat"
)

// of has counts of four repetitions: each function scatters by its own amount.
func of(counts map[string]float64, scatter map[string][]float64) (list []map[string]float64) {
	for i := range Repetitions {
		one := map[string]float64{}
		for name, n := range counts {
			one[name] = n
			if s := scatter[name]; s != nil {
				one[name] += s[i]
			}
		}
		list = append(list, one)
	}
	return list
}

func TestWeigh(t *testing.T) {
	noise, other := []float64{-300, 100, 250, -50}, []float64{150, -250, 0, 100}
	server := func(spin, alloc, pause float64) map[string]float64 {
		return map[string]float64{"main.spin": spin, "net/http.(*conn).serve": 20_000, "runtime.mallocgc": alloc, "runtime.findRunnable": pause}
	}
	a := of(server(9000, 3000, 8000), map[string][]float64{"runtime.findRunnable": noise, "runtime.mallocgc": {-9, 9, 3, -3}})
	tests := []struct {
		name    string
		b       map[string]float64
		want    stat.Verdict
		work    float64
		rows    []string
		runtime []string
	}{
		{"equal", server(9000, 3000, 8000), stat.Equivalent, 0, nil, []string{}},
		// 0.05% of 40,000 is 20.
		{"within the margin", server(9019, 3000, 8000), stat.Equivalent, 19, []string{"main.spin"}, nil},
		{"0.2% more", server(9080, 3000, 8000), stat.More, 80, []string{"main.spin"}, nil},
		{"0.2% less", server(8920, 3000, 8000), stat.Less, -80, []string{"main.spin"}, nil},
		{"allocation beyond its scatter", server(9000, 3400, 8000), stat.More, 400, []string{"runtime.mallocgc"}, nil},
		{"allocation within it", server(9000, 3012, 8000), stat.Equivalent, 0, nil, []string{"runtime.mallocgc"}},
		{"more scheduling, though far beyond its scatter", server(9000, 3000, 18_000), stat.Equivalent, 0, nil, []string{"runtime.findRunnable"}},
		{"what goes in one place comes in another", server(8900, 3000, 8000), stat.Less, -100, []string{"main.spin"}, nil},
	}
	for _, tt := range tests {
		c := weigh(a, of(tt.b, map[string][]float64{"runtime.findRunnable": other, "runtime.mallocgc": {5, -5, -8, 8}}), Margin)
		if c.Verdict != tt.want || math.Abs(c.Work.Value-tt.work) > 1 || c.Decides != Work {
			t.Errorf("%s: %s of %+.1f by %s, want %s of %+.1f", tt.name, c.Verdict, c.Work.Value, c.Decides, tt.want, tt.work)
		}
		if tt.rows != nil && (len(c.Rows) != len(tt.rows) || c.Rows[0].Name != tt.rows[0]) {
			t.Errorf("%s: rows %v, want %v", tt.name, c.Rows, tt.rows)
		}
		if len(tt.runtime) > 0 && (len(c.Runtime) == 0 || c.Runtime[0].Name != tt.runtime[0]) {
			t.Errorf("%s: rows of the runtime %v, want %v first", tt.name, c.Runtime, tt.runtime)
		}
		if sum := c.Work.Value + c.Scattered.Value; math.Abs(sum-c.Total.Value) > 1e-6 {
			t.Errorf("%s: %g and %g are not %g", tt.name, c.Work.Value, c.Scattered.Value, c.Total.Value)
		}
	}
}

// Of twenty functions of the collector none differs by more than its scatter, but all together do: 2000 instructions are a row, and count.
func TestWeighCollection(t *testing.T) {
	server := func(each float64) []map[string]float64 {
		counts, scatter := map[string]float64{"main.spin": 40_000}, map[string][]float64{}
		for i := range 20 {
			name := fmt.Sprintf("runtime.gcDrain%d", i)
			counts[name], scatter[name] = each, [][]float64{{-100, 100, 50, -50}, {100, -100, -50, 50}}[i%2]
		}
		return of(counts, scatter)
	}
	for each, want := range map[float64]stat.Verdict{500: stat.Equivalent, 600: stat.More} {
		c := weigh(server(500), server(each), Margin)
		if c.Verdict != want || want == stat.More && (len(c.Rows) != 1 || c.Rows[0].Name != "garbage collection" || c.Work.Value != 2000) {
			t.Errorf("%g: %s of %+.1f, %+v", each, c.Verdict, c.Work.Value, c.Rows)
		}
		if sum := c.Work.Value + c.Scattered.Value; math.Abs(sum-c.Total.Value) > 1e-6 {
			t.Errorf("%g and %g are not %g", c.Work.Value, c.Scattered.Value, c.Total.Value)
		}
	}
}

// main.spin has a row, and the others are named until all are 99%: 39,700 of 40,100.
func TestOtherFunctions(t *testing.T) {
	server := func(spin float64) []map[string]float64 {
		return of(map[string]float64{"main.spin": spin, "net/http.(*conn).serve": 20_000, "runtime.mallocgc": 10_700, "main.small": 300, "main.rest": 100},
			map[string][]float64{"runtime.mallocgc": {-100, 100, 300, -300}})
	}
	c := weigh(server(8500), server(9000), Margin)
	want := []Cost{{"net/http.(*conn).serve", 20_000, true}, {"runtime.mallocgc", 10_700, false}}
	if !slices.Equal(c.Others, want) || len(c.Rows) != 1 {
		t.Errorf("%v next to %v, want %v", c.Others, c.Rows, want)
	}
	many := map[string]float64{}
	for i := range 300 {
		many[fmt.Sprint("f", i)] = 100
	}
	if c := weigh(of(many, nil), of(many, nil), Margin); len(c.Others) != mostOthers {
		t.Errorf("%d functions", len(c.Others))
	}
}

// A wider margin takes a difference as equal, and nothing else changes.
func TestWeighWithinAMargin(t *testing.T) {
	a, b := of(map[string]float64{"main.spin": 40_000}, nil), of(map[string]float64{"main.spin": 40_080}, nil)
	for margin, want := range map[float64]stat.Verdict{0: stat.More, Margin: stat.More, 0.003: stat.Equivalent} {
		if c := weigh(a, b, margin); c.Verdict != want || c.Work.Value != 80 {
			t.Errorf("within %g: %s of %g, want %s of 80", margin, c.Verdict, c.Work.Value, want)
		}
	}
}

// Where hardly any function does the same each time, all instructions decide, with their scatter.
func TestWeighWhatScatters(t *testing.T) {
	jit := func(n float64, scatter ...float64) []map[string]float64 {
		return of(map[string]float64{"???": n}, map[string][]float64{"???": scatter})
	}
	for _, tt := range []struct {
		name string
		b    []map[string]float64
		want stat.Verdict
	}{
		{"within the scatter", jit(100_300, -900, 700, 200, 0), stat.Inconclusive},
		{"beyond it", jit(110_000, -900, 700, 200, 0), stat.More},
	} {
		c := weigh(jit(100_000, 800, -700, 400, -500), tt.b, Margin)
		if byWork := c.Decides == Work; c.Verdict != tt.want || byWork != (tt.want == stat.More) {
			t.Errorf("%s: %s by %s, want %s", tt.name, c.Verdict, c.Decides, tt.want)
		}
		if !finding.UnnamedCode.In(c.Warnings) {
			t.Errorf("%s: it is not said that the code has no names", tt.name)
		}
	}
}

// A function of the program's own comes before larger ones of libraries, unless it is hardly any of the difference.
func TestOwnFunctionsFirst(t *testing.T) {
	a := map[string]float64{"net/http.serve": 50_000}
	b := map[string]float64{"net/http.serve": 50_000, "log.formatHeader": 596, "main.logLine": 47, "main.tiny": 2}
	c := weigh(of(a, nil), of(b, nil), Margin)
	var names string
	for _, r := range c.Rows {
		names += r.Name + " "
	}
	if want := "main.logLine log.formatHeader main.tiny "; names != want {
		t.Errorf("%s, want %s", names, want)
	}
}

// Of equal servers 1 in 200 may get a verdict, by the confidence; of a planted 0.2% all.
func TestFalseAlarmsAndMisses(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	repetitions := func(planted float64) (list []map[string]float64) {
		for range Repetitions {
			one := map[string]float64{"main.spin": 9000 + planted}
			for i := range 100 { // functions that do the same, nearly
				one[fmt.Sprintf("f%d", i)] = float64(100+i) * (1 + 0.0003*random.NormFloat64())
			}
			for i := range 40 { // and those that do not
				one[fmt.Sprintf("runtime.g%d", i)] = float64(100+i) * (1 + 0.2*random.NormFloat64())
			}
			list = append(list, one)
		}
		return list
	}
	const experiments = 400
	alarms, missed := 0, 0
	for range experiments {
		base := repetitions(0)
		if v := weigh(base, repetitions(0), Margin).Verdict; v == stat.More || v == stat.Less {
			alarms++
		}
		if c := weigh(base, repetitions(60), Margin); c.Verdict != stat.More || c.Rows[0].Name != "main.spin" || math.Abs(c.Rows[0].Value-60) > 1 {
			missed++
		}
	}
	if alarms > 6 || missed > 0 { // 2 are expected, and more than 6 have a chance of 0.5%
		t.Errorf("%d false alarms, %d missed, in %d", alarms, missed, experiments)
	}
}

func TestTooFewRepetitionsDecideNothing(t *testing.T) {
	one := []map[string]float64{{"main.spin": 100}}
	if c := weigh(one, []map[string]float64{{"main.spin": 200}}, Margin); c.Verdict != stat.Inconclusive || c.Total.Value != 100 {
		t.Errorf("%s of %+.0f", c.Verdict, c.Total.Value)
	}
}
