package report_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/report"
)

// The grammar of golang.org/design/14313-benchmark-format, with the comments and
// units that benchstat allows.
var benchmarkLine = regexp.MustCompile(`^(?:# .*|[a-z][^\sA-Z:]*: .*|Unit \S+ \S+=\S+|Benchmark[A-Z]\S*\t\d+(?:\t[-+.\de]+ \S+)+)$`)

func TestBenchmarks(t *testing.T) {
	for name, d := range allDocuments() {
		var b bytes.Buffer
		if err := d.Benchmarks(&b); err != nil {
			t.Fatal(err)
		}
		if name == "stored" || name == "guards" {
			testenv.Golden(t, "testdata/"+name+".bench", b.Bytes())
		}
		for line := range strings.Lines(b.String()) {
			if !benchmarkLine.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

// benchstat itself sees the two arms, their rounds and the direction of units.
func TestBenchstatReadsBenchmarks(t *testing.T) {
	benchstat := testenv.Program(t, "benchstat")
	d := document("compare")
	d.Add(report.Place{Part: "an odd/part"}, verdicts(10))
	var b bytes.Buffer
	if err := d.Benchmarks(&b); err != nil {
		t.Fatal(err)
	}
	file := testenv.Write(t, filepath.Join(t.TempDir(), "bench.txt"), b.Bytes())
	out, err := exec.CommandContext(t.Context(), benchstat, "-col", "/arm", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// 10 000 → 11 000 per second; 7 rounds each.
	for _, want := range []string{"mutex", "inputq", "Contend/part=an_odd_part/vus=10", "ops/s", "+10.", "n=7", "p99-response-sec"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
