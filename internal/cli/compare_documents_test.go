package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/report"
	"contend/stat"
)

// The published k6 figures of a gRPC counter, fed in as two documents: the generator
// was the bottleneck at every level, and no difference may be read from them, least
// of all one whose sign flips. By Little's law on the time of the call, mutex at 10
// VUs: 1 − 4800.542 · 0.00071201 ÷ 10 = 65.8% of the cycle was spent outside the
// call; inputQ at 1000: 1 − 8924.533 · 0.00231 ÷ 1000 = 97.9%.
func TestPublishedFiguresAreRefused(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, arm := range []string{"mutex", "inputq"} {
		var out bytes.Buffer
		if code := Main(t.Context(), []string{"report", "--published", arm, "--format", "json", "grpc-guard"}, Streams{&out, io.Discard}); code != exitDone {
			t.Fatalf("exit code %d", code)
		}
		file := filepath.Join(dir, arm+".json")
		testenv.Write(t, file, out.Bytes())
		files = append(files, file)
	}
	var text bytes.Buffer
	both := filepath.Join(dir, "both.json")
	if code := Main(t.Context(), append([]string{"compare", "--full", "-o", both}, files...), Streams{&text, io.Discard}); code != exitUndecided {
		t.Errorf("exit code %d, want %d", code, exitUndecided)
	}
	if !strings.HasPrefix(text.String(), "No result in any of ") || !strings.Contains(text.String(), "INVALID (generator_saturated") {
		t.Errorf("the report is %s", &text)
	}
	f, err := os.Open(both)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := report.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Comparisons) != 18 { // 6 levels in throughput, response time and service time
		t.Errorf("%d comparisons, want 18", len(d.Comparisons))
	}
	for _, c := range d.Comparisons {
		if c.Verdict != stat.Invalid || c.Reason.Code != "generator_saturated" || !strings.Contains(c.Reason.Text, "% of each cycle was spent in the load generator") {
			t.Errorf("%s at %d VUs: %s %v", c.Metric, c.Concurrency, c.Verdict, c.Reason)
		}
	}
	if first, last := d.Comparisons[0], d.Comparisons[17]; !strings.Contains(first.Reason.String(), "mutex: 66%") || !strings.Contains(last.Reason.String(), "mutex: 98%") {
		t.Errorf("reasons %q and %q", first.Reason.String(), last.Reason.String())
	}
}

func TestPublishedNeedsAnArm(t *testing.T) {
	var errs bytes.Buffer
	code := Main(t.Context(), []string{"report", "--published", "nobody", "--format", "pdf", "grpc-guard"}, Streams{io.Discard, &errs})
	if code != exitUsage || !strings.Contains(errs.String(), `--format is "pdf"`) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	errs.Reset()
	code = Main(t.Context(), []string{"report", "--published", "nobody", "grpc-guard"}, Streams{io.Discard, &errs})
	if code != exitUsage || !strings.Contains(errs.String(), `nothing was published for a variant "nobody"`) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}
