package report_test

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"contend/calibrate"
	"contend/finding"
	"contend/metric"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// calibration is the result of six A/A comparisons: one false alarm, one
// refused.
func calibration() *report.Calibration {
	c := &report.Calibration{Schema: report.CalibrationSchema, Version: "v0.0.0-test", Environment: document("calibrate").Environment}
	c.Design = trial.Design{Rounds: 6, Pairs: 8, Block: 50 * time.Millisecond, Warmup: 100 * time.Millisecond, Levels: []int{10},
		Metrics: []metric.Name{metric.Throughput, "response_p99_ns", metric.ServerCPUPerOp}, Margin: new(0.02), Confidence: 0.95, Seed: 1}
	c.PlannedRounds, c.Elapsed = 8, 2*time.Minute
	c.Lengths = []calibrate.Length{
		{Block: 20 * time.Millisecond, Pairs: 20, RoundLogRatios: []float64{0.03, -0.05}, RoundSpread: 0.05, PairSpread: 0.2},
		{Block: 50 * time.Millisecond, Pairs: 8, RoundLogRatios: []float64{0.02, -0.01}, RoundSpread: 0.019, PairSpread: 0.04, Chosen: true},
		{Block: 400 * time.Millisecond, Pairs: 1, RoundLogRatios: []float64{0.02, -0.02}, RoundSpread: 0.025},
	}
	c.Machine = &calibrate.ProbeRange{Probes: 12, RoundTrip: calibrate.DurationRange{Low: 75, High: 450},
		Wakeup: calibrate.DurationRange{Low: 3000, High: 55_000}, Loop: calibrate.DurationRange{Low: 21_000, High: 23_000}}
	verdicts := []stat.Verdict{stat.Inconclusive, stat.Slower, stat.Inconclusive, stat.Equivalent, stat.Invalid, stat.Inconclusive}
	for i, verdict := range verdicts {
		shift := 0.001 * float64(i)
		for j, m := range c.Design.Metrics[:2] {
			found := trial.Comparison{Baseline: "A", Candidate: "B", Concurrency: 10, Metric: m, Primary: j == 0, Verdict: verdict,
				RoundLogRatios: []float64{-0.02 + shift, 0.03, -0.01, 0.01 + shift, -0.03, 0.02}}
			if verdict == stat.Invalid {
				found.Reason = finding.NotSteady.Refusal("A: it fell")
			}
			c.Comparisons = append(c.Comparisons, found)
		}
	}
	c.Derive()
	return c
}

// Stored and read a calibration is shown the same, also where nothing is known.
func TestCalibrationViews(t *testing.T) {
	nothing := document("calibrate")
	nothing.Calibration = &report.Calibration{Schema: report.CalibrationSchema}
	for _, d := range []*report.Document{calibrated(calibration()), nothing} {
		stored, text := written(t, d)
		again, err := report.Read(bytes.NewReader(stored))
		if err != nil {
			t.Fatal(err)
		}
		if _, textAgain := written(t, again); !bytes.Equal(text, textAgain) {
			t.Errorf("stored and read it is shown as\n%s", textAgain)
		}
	}
}

// Verdicts are shown with the smallest difference they can detect, only for
// metrics that were compared and for as many rounds as they have.
func TestCalibrationWithVerdicts(t *testing.T) {
	compared := func(rounds int, ratio float64, verdict stat.Verdict) *report.Document {
		d := document("compare")
		d.Calibration = calibration().Quote()
		d.Comparisons = []report.Comparison{{Comparison: trial.Comparison{Baseline: "A", Candidate: "B", Concurrency: 10,
			Metric: metric.Throughput, Primary: true, Verdict: verdict, Effect: stat.Effect{Ratio: ratio, P: 0.5, Level: 0.05, Rounds: rounds}}}}
		return d
	}
	without := compared(8, 1, stat.Inconclusive)
	without.Calibration = nil
	alone := document("run")
	alone.Calibration = calibration().Quote()
	never := compared(8, 1, stat.Inconclusive)
	never.Calibration.Alarms = calibrate.Alarms{Invalid: 3}
	const begin = "This machine, calibrated 2024-02-29: "
	// Clopper and Pearson for 1 of 5: 0.5% to 71.6%.
	const alarms = begin + "1 false alarm in 5 A/A comparisons (0.505% to 71.6%)"
	for _, tt := range []struct {
		name string
		d    *report.Document
		want string
		not  string
	}{
		{"a difference that it sees", compared(8, 1.5, stat.Faster), alarms + "; 8 rounds of 8 pairs of 50.0 ms detect differences of ", "INCONCLUSIVE difference"},
		{"a difference that it may not see", compared(8, 1.001, stat.Inconclusive), "; 1 INCONCLUSIVE difference is smaller than that.", "p99"},
		{"too few rounds to see anything", compared(5, 1.001, stat.Inconclusive), alarms + ".", "detect differences"},
		{"not calibrated", without, "", "This machine"},
		{"no verdicts", alone, "", "This machine"},
		{"no verdict in the calibration", never, begin + "none of its A/A comparisons came to a verdict; 8 rounds", "NaN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := rendered(t, tt.d.Text)
			got := strings.Join(strings.Fields(b), " ")
			if !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("want %q and not %q:\n%s", tt.want, tt.not, b)
			}
		})
	}
}

func storedCalibration(t testing.TB, c *report.Calibration) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadCalibration(t *testing.T) {
	want := calibration()
	got, err := report.ReadCalibration(bytes.NewReader(storedCalibration(t, want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v:\n%+v, want\n%+v", err, got, want)
	}
	// What follows from other figures is recomputed, not read.
	lying := calibration()
	lying.Alarms.Alarms, lying.Visible[0].Smallest = 0, 1e-9
	if got, err = report.ReadCalibration(bytes.NewReader(storedCalibration(t, lying))); err != nil || got.Alarms != want.Alarms ||
		!reflect.DeepEqual(got.Visible, want.Visible) {
		t.Errorf("%v: %+v %+v", err, got.Alarms, got.Visible)
	}
	partial, empty, impossible, endless := calibration(), calibration(), calibration(), calibration()
	endless.Design.Block = time.Hour
	partial.Interrupted, empty.Comparisons, impossible.Design.Rounds = true, nil, -1
	whole := storedCalibration(t, want)
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":           {"", "unexpected end"},
		"not JSON":          {"calibrated!", "invalid character"},
		"cut off":           {string(whole[:len(whole)/2]), "unexpected end"},
		"of a later form":   {strings.Replace(string(whole), "calibration/1", "calibration/2", 1), `schema is "contend/calibration/2"`},
		"a document":        {`{"schema": "contend/1"}`, `schema is "contend/1"`},
		"another type":      {strings.Replace(string(whole), `"planned_rounds": 8`, `"planned_rounds": "many"`, 1), "cannot unmarshal"},
		"interrupted":       {string(storedCalibration(t, partial)), "not complete"},
		"without its data":  {string(storedCalibration(t, empty)), "not complete"},
		"impossible design": {string(storedCalibration(t, impossible)), "rounds is -1"},
		"endless blocks":    {string(storedCalibration(t, endless)), "block is 1h0m0s"},
		"endless":           {strings.Repeat(" ", 9<<20), "longer than 8.39 MB"},
	} {
		if c, err := report.ReadCalibration(strings.NewReader(tt.text)); c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestSameMachine(t *testing.T) {
	e := document("run").Environment
	for name, tt := range map[string]struct {
		change func(*report.Environment)
		want   bool
	}{
		"itself":        {func(*report.Environment) {}, true},
		"another time":  {func(e *report.Environment) { e.Started = e.Started.Add(time.Hour) }, true},
		"another Go":    {func(e *report.Environment) { e.Go = "go1.99" }, true},
		"another CPU":   {func(e *report.Environment) { e.CPU = "Other CPU" }, false},
		"another core":  {func(e *report.Environment) { e.Cores++ }, false},
		"another limit": {func(e *report.Environment) { e.CPULimit = 0 }, false},
		"a new kernel":  {func(e *report.Environment) { e.Kernel = "Linux 6.2" }, false},
		"fewer threads": {func(e *report.Environment) { e.GOMAXPROCS = 1 }, false},
	} {
		other := e
		if tt.change(&other); e.SameMachine(other) != tt.want || other.SameMachine(e) != tt.want {
			t.Errorf("%s: want %v", name, tt.want)
		}
	}
}

// Whatever is in the file, it is refused or can be shown.
func FuzzReadCalibration(f *testing.F) {
	small := calibration()
	small.Comparisons, small.Lengths = small.Comparisons[:2], small.Lengths[:1]
	text := storedCalibration(f, small)
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(bytes.ReplaceAll(text, []byte("0.03"), []byte("-1e300")))
	f.Add(bytes.ReplaceAll(text, []byte("50000000"), []byte("0")))
	f.Add([]byte(`{"schema": "contend/calibration/1", "design": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20_000 {
			return
		}
		c, err := report.ReadCalibration(bytes.NewReader(data))
		if err != nil {
			return
		}
		d := document("calibrate")
		d.Calibration = c
		if err := d.Text(io.Discard); err != nil {
			t.Fatal(err)
		}
		d.Command = "compare"
		d.Comparisons = []report.Comparison{{Comparison: trial.Comparison{Metric: metric.Throughput, Verdict: stat.Inconclusive,
			Effect: stat.Effect{Ratio: 1, Rounds: 8}}}}
		if err := d.Markdown(io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, err := report.ReadCalibration(bytes.NewReader(storedCalibration(t, c))); err != nil {
			t.Errorf("written again it is refused: %v", err)
		}
	})
}

// The whole page says how a gate was judged.
func TestGateInWords(t *testing.T) {
	text := rendered(t, calibrated(gated(calibrate.Gate{Rounds: 40, Accused: 47, Replays: 2000})).Text)
	if want := "replayed 2,000 times with whole comparisons of equal servers, at most 40 rounds together, each ending as contend compare does: 47 were SLOWER."; !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
		t.Errorf("%q is not in\n%s", want, text)
	}
}
