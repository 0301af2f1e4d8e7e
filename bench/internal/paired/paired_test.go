package paired

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/stat"
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
	return Tool{Name: "burn", Path: shell, Args: []string{"-c", script}, Count: CountContend, Bar: 1}
}

func TestAlternate(t *testing.T) {
	var order []int
	got, err := Alternate(3, 4, func(which int) (int, error) {
		order = append(order, which)
		return 10*which + len(order), nil
	})
	if want := []int{0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2}; err != nil || !slices.Equal(order, want) {
		t.Errorf("order %v, %v; want %v", order, err, want)
	}
	if want := []int{12, 14, 19, 21}; !slices.Equal(got[1], want) { // 10 and its places in that order: 2, 4, 9, 11
		t.Errorf("the second measured %v, want %v", got[1], want)
	}
}

func TestRow(t *testing.T) {
	right := burn(t, `{"results": [{"completed": 100}]}`)
	missing := Tool{Name: "contend-has-no-such-peer"}
	row := Row{Title: "a row", Tools: []Tool{right, missing, right}}
	var out strings.Builder
	if err := row.print(t.Context(), &out, 3); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a row", "no-such-peer: not found", "n = 3; bar 1.00: too few rounds to tell", "warning"} { // 3 are too few for an interval
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q does not say %q", out.String(), part)
		}
	}
	row.Tools[2] = burn(t, `{"results": [{"completed": 100, "failed": 1}]}`)
	if err := row.print(t.Context(), &out, 1); err == nil {
		t.Error("a block with a wrong answer counts")
	}
}

func TestBars(t *testing.T) {
	bounded := Ratio{Effect: stat.Effect{Ratio: 1, Low: 0.99, High: 1.1, Confidence: 0.95}}
	for bar, want := range map[float64]string{0: "no bar", 1.01: "bar 1.01: reached", 1.02: "bar 1.02: MISSED (lower end 0.990 < 1.00)"} {
		if got := bounded.Against(bar); got != want {
			t.Errorf("bar %v: %q, want %q", bar, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	all := []string{"a", "b", "c"}
	for list, want := range map[string][]string{"": all, "a": {"a"}, "c,a": {"c", "a"}} {
		if chosen, err := Choose("only", list, all); !slices.Equal(chosen, want) || err != nil {
			t.Errorf("%q: %q, %v", list, chosen, err)
		}
	}
	if _, err := Choose("only", "a,g", all); err == nil || err.Error() != `-only is "g"; expected a, b, c` {
		t.Error(err)
	}
}

// A result that contend calls INVALID counts nevertheless; a failed run does not.
func TestExitCodesOfTools(t *testing.T) {
	sh := testenv.Program(t, "sh")
	for _, test := range []struct {
		line, want string
		doubts     []int
	}{
		{"echo 5", "", nil},
		{"echo 5; exit 4", "", []int{Doubted}},
		{"echo 5; exit 4", "exit status 4", nil},
		{"echo 5; echo oh no >&2; exit 1", "oh no", []int{Doubted}},
	} {
		five := func(report []byte) (int64, int64, error) { return int64(report[0] - '0'), 0, nil }
		block, err := Tool{Path: sh, Args: []string{"-c", test.line}, Count: five, Doubts: test.doubts}.Run(t.Context())
		if (err == nil) != (test.want == "") || err == nil && block.Completed != 5 || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, doubting with %v: %+v, %v, want %q", test.line, test.doubts, block, err, test.want)
		}
	}
}
