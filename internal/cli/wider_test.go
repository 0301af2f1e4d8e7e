package cli

import (
	"testing"
	"time"

	"contend/load"
	"contend/report"
	"contend/stat"
	"contend/trial"
)

// scattered is a comparison whose rounds scatter by so much to either side.
func scattered(t *testing.T, by float64) *report.Document {
	t.Helper()
	logs := []float64{by, -by, by / 2, -by / 2, by / 4, -by / 4, 0, by / 8}
	effect, err := stat.Paired(logs, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	c := trial.Comparison{Primary: true, Verdict: stat.Inconclusive, Effect: effect, RoundLogRatios: logs}
	c.RoundsNeeded, _ = stat.RoundsNeeded(logs, nil, 0.02, 0.95, trial.Power)
	c.TimeNeeded = time.Duration(c.RoundsNeeded) * time.Second
	doc := &report.Document{Trials: []report.Trials{{Trials: trial.Trials{Elapsed: 8 * time.Second}}}}
	doc.Comparisons = []report.Comparison{{Comparison: c}}
	doc.Results = []report.Result{{Cell: trial.Cell{Result: &load.Result{Counts: load.Counts{Completed: 1}}}}}
	return doc
}

// What more rounds settle is measured longer. If these cannot be run, a margin below 100% is proposed that can be settled.
func TestWider(t *testing.T) {
	a := &app{args: []string{"compare", "--margin", "2%", "--rounds", "8", "./a", "./b"}}
	for _, tt := range []struct {
		by   float64
		want string
	}{
		{0.03, "contend compare -d 1m --margin 2% ./a ./b"},
		{0.3, "contend compare --margin 19% -d 1m ./a ./b"},
		{3, ""},
	} {
		if got := a.settles(scattered(t, tt.by)).Command; got != tt.want {
			t.Errorf("%v: %q, want %q", tt.by, got, tt.want)
		}
	}
}
