package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// found is a calibration of this machine with the given number of comparisons.
func found(comparisons int) *report.Calibration {
	c := &report.Calibration{Schema: report.CalibrationSchema, Version: version(), Environment: environment(time.Now().UTC())}
	c.Design = trial.Design{Rounds: 6, Pairs: 8, Block: 300 * time.Millisecond, Metrics: []metric.Name{metric.Throughput}, Confidence: 0.95}
	c.PlannedRounds = trial.PlannedRounds
	for range comparisons {
		c.Comparisons = append(c.Comparisons, trial.Comparison{Metric: metric.Throughput, Primary: true, Verdict: stat.Inconclusive,
			RoundLogRatios: []float64{-0.01, 0.02, 0.01, -0.02, 0.03, -0.03}})
	}
	c.Derive()
	return c
}

// inConfig sets the folder in which the calibration is looked up and returns its
// place.
func inConfig(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	path, err := calibrationFile()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStoredCalibration(t *testing.T) {
	another, pinned, partial, later := found(2), found(2), found(2), found(2)
	another.Environment.Cores++
	pinned.Environment.GeneratorCPUs = "0"
	partial.Interrupted = true
	later.Schema = "contend/calibration/99"
	store := func(c *report.Calibration) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := storeCalibration(path, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			testenv.Write(t, path, text)
		}
	}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, path string)
		note    string // "": it is used
	}{
		"of this machine":    {store(found(2)), ""},
		"of another machine": {store(another), "is for another machine"},
		"of other CPUs":      {store(pinned), "number of CPUs"},
		"of a later form":    {store(later), `cannot be used (calibration: schema is "contend/calibration/99"`},
		"interrupted":        {store(partial), "cannot be used (calibration: it is not complete)"},
		"none":               {func(*testing.T, string) {}, "is not calibrated; contend calibrate"},
		"empty":              {text(""), "cannot be used"},
		"hostile":            {text(strings.Repeat("[", 1<<20)), "cannot be used"},
		"a folder":           {func(t *testing.T, path string) { _ = os.MkdirAll(path, 0o755) }, "is not a file"},
		"beneath a file":     {func(t *testing.T, path string) { text("")(t, filepath.Dir(path)) }, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			path := inConfig(t)
			tt.prepare(t, path)
			doc := newDocument("compare")
			new(app).quoteCalibration(doc)
			if used := doc.Calibration != nil; used != (tt.note == "") || used != (len(doc.Notes) == 0) {
				t.Fatalf("used is %v, notes are %q", used, doc.Notes)
			}
			if tt.note != "" && !strings.Contains(doc.Notes[0], tt.note) {
				t.Errorf("note is %q, want %q", doc.Notes[0], tt.note)
			}
			if tt.note == "" && (doc.Calibration.Comparisons != nil || doc.Calibration.Alarms.Comparisons != 2) {
				t.Errorf("quoted as %+v", doc.Calibration)
			}
		})
	}
}

// A comparison quotes the calibration and takes its blocks, unless they are given.
func TestComparisonsAreCalibrated(t *testing.T) {
	if err := storeCalibration(inConfig(t), found(2)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags string
		block time.Duration
		pairs int
		note  string
	}{
		{"", 300 * time.Millisecond, 2, "Blocks of 300ms, as calibrated"}, // 4 · 50 ms ÷ 300 ms is less
		{"--pairs 1", 300 * time.Millisecond, 1, "Blocks of 300ms, as calibrated"},
		{"--block 200ms --pairs 2", 200 * time.Millisecond, 2, ""},
	} {
		out := filepath.Join(t.TempDir(), "compared.json")
		args := append([]string{"compare", "--full", "--rounds", "1", "--think", "5ms", "--warmup", "0s", "--metric", "throughput_per_s", "-o", out}, strings.Fields(tt.flags)...)
		args = append(args, "guard:mutex", "guard:mutex")
		var text bytes.Buffer
		if code := Main(t.Context(), args, Streams{&text, io.Discard}); code != exitUndecided {
			t.Errorf("exit code %d", code)
		}
		doc, _, err := readStored(out)
		if err != nil {
			t.Fatal(err)
		}
		if d := doc.Trials[0].Design; d.Block != tt.block || d.Pairs != tt.pairs {
			t.Errorf("%s: %d pairs of %v, want %d of %v", tt.flags, d.Pairs, d.Block, tt.pairs, tt.block)
		}
		if got := strings.Join(doc.Notes, ""); doc.Calibration == nil || strings.Contains(got, "as calibrated") != (tt.note != "") || !strings.Contains(got, tt.note) {
			t.Errorf("%s: notes %q, calibration %v", tt.flags, got, doc.Calibration)
		}
		if !strings.Contains(text.String(), "This machine, calibrated ") {
			t.Errorf("the verdict does not quote it:\n%s", &text)
		}
	}
}

// However many write at the same time, the result is one whole calibration, and
// nothing else.
func TestConcurrentCalibrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "calibration.json")
	var wg sync.WaitGroup
	for n := 1; n <= 8; n++ {
		wg.Go(func() {
			for range 5 {
				if err := storeCalibration(path, found(n)); err != nil {
					t.Error(err)
				}
				if c, err := readCalibration(path); err != nil || c.Alarms.Comparisons < 1 {
					t.Errorf("read while others write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestStoreNowhere(t *testing.T) {
	file := testenv.Write(t, filepath.Join(t.TempDir(), "file"), "")
	if err := storeCalibration(filepath.Join(file, "calibration.json"), found(1)); err == nil {
		t.Error("stored beneath a file")
	}
	if got := firstLine(fmt.Errorf("%s\nmore", strings.Repeat("x", 999))); len(got) != 200 {
		t.Errorf("%d characters", len(got))
	}
}
