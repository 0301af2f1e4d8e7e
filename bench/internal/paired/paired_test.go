package paired

import (
	"contend/stat"
	"os/exec"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1}, 5},    // (1 + 9) / 2
		{[]float64{7, 1, 2}, 2}, // of 1 2 7
		{[]float64{4, 1, 9, 2}, 3},
	} {
		if got := Median(test.values); got != test.want {
			t.Errorf("Median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}

func TestCountContend(t *testing.T) {
	for _, test := range []struct {
		report           string
		completed, wrong int64
		fails            bool
	}{
		{`{"results": [{"completed": 7, "failed": 0, "errored": {}}]}`, 7, 0, false},
		{`{"results": [{"completed": 7, "failed": 1, "errored": {"refused": 2, "reset": 3}}]}`, 7, 6, false}, // 1 + 2 + 3
		{`{"results": []}`, 0, 0, true},
		{`no document`, 0, 0, true},
	} {
		completed, wrong, err := CountContend([]byte(test.report))
		if completed != test.completed || wrong != test.wrong || (err != nil) != test.fails {
			t.Errorf("%s: %d, %d, %v", test.report, completed, wrong, err)
		}
	}
}

// burn is a tool that spends some CPU time and reports as contend does.
func burn(t *testing.T, report string) Tool {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	script := `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo '` + report + `'`
	return Tool{Name: "burn", Version: "burn 1", Path: shell, Args: []string{"-c", script}, Count: CountContend}
}

func TestCompare(t *testing.T) {
	right := burn(t, `{"results": [{"completed": 100}]}`)
	list, err := Compare(t.Context(), right, []Tool{right, right}, 3)
	if err != nil {
		t.Fatal(err)
	}
	c := list[1]
	if len(list) != 2 || len(c.Ratios) != 3 || c.OurRates[0] <= 0 {
		t.Errorf("%+v", c)
	}
	var out strings.Builder
	c.Print(&out, 1)
	for _, part := range []string{"burn 1", "n = 3", "too few rounds to tell", "warning"} { // 3 pairs are too few for an interval
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q does not say %q", out.String(), part)
		}
	}
	wrong := burn(t, `{"results": [{"completed": 100, "failed": 1}]}`)
	if _, err := Compare(t.Context(), right, []Tool{wrong}, 1); err == nil {
		t.Error("a block with a wrong answer counts")
	}
}

func TestBars(t *testing.T) {
	bounded := stat.Effect{Ratio: 1, Low: 0.99, High: 1.1, Confidence: 0.95}
	for bar, want := range map[float64]string{0: "", 1.01: "; bar 1.01: reached", 1.02: "; bar 1.02: MISSED (lower end 0.990 < 1.00)"} {
		if got := (Comparison{Effect: bounded}).Against(bar); got != want {
			t.Errorf("bar %v: %q, want %q", bar, got, want)
		}
	}
}
