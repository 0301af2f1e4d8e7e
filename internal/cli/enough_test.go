package cli

import (
	"testing"
	"time"

	"contend/load"
	"contend/pace"
)

// 4 arrivals a second at a server that takes 5 s need 20 callers (Little's law), and half as many in reserve. More callers do
// not help one whose responses wait for each other.
func TestEnoughCallers(t *testing.T) {
	for _, tt := range []struct {
		from, to time.Duration // service times
		dropped  int64
		callers  int
		want     string
	}{
		{5 * time.Second, 5 * time.Second, 8, 16, "contend run -c 30 --rate 4 http://h/"},
		{5 * time.Second, 5 * time.Second, 0, 16, ""},
		{5 * time.Second, 5 * time.Second, 8, 30, ""},
		{time.Second, 9 * time.Second, 8, 16, ""},
	} {
		r := &load.Result{Model: load.OpenModel, Counts: load.NewCounts()}
		r.Plan.Pacer, r.Plan.VUs = pace.Constant(4), tt.callers
		r.Planned, r.Dropped, r.Completed = 11+tt.dropped, tt.dropped, 11
		for i := range 11 {
			r.Service.Record(tt.from + time.Duration(i)*(tt.to-tt.from)/10)
		}
		a := &app{args: []string{"run", "--rate", "4", "-c", "16", "http://h/"}}
		if got := a.withEnough(r).Command; got != tt.want {
			t.Errorf("%v to %v, %d dropped by %d: %q, want %q", tt.from, tt.to, tt.dropped, tt.callers, got, tt.want)
		}
	}
}
