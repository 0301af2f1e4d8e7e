package trial

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"contend/internal/perf"
	"contend/load"
	"contend/why"
)

// aProfile is of 40 ms of CPU time in a second.
func aProfile(t *testing.T) []byte {
	t.Helper()
	f := &profile.Function{ID: 1, Name: "main.handle"}
	at := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: 1e9,
		Function: []*profile.Function{f}, Location: []*profile.Location{at},
		Sample: []*profile.Sample{{Location: []*profile.Location{at}, Value: []int64{4, 40e6}}},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Programs that cannot be sampled profile themselves, in a block of 1.25 s of each round: 4 callers
// get an answer in 10 ms, 400 in the second that it lasts.
func TestDiagnoseByThemselves(t *testing.T) {
	body := aProfile(t)
	refused := &perf.UnavailableError{Event: "cpu", Reason: "it is not allowed", Advice: "allow it"}
	for _, c := range []struct {
		name    string
		change  func(*inspected)
		missing []string
	}{
		{"they do", func(*inspected) {}, []string{"it is not allowed: allow it; so the programs profiled themselves"}},
		{"they are profiled already", func(i *inspected) { i.err = errors.New("cpu profiling already in use") },
			[]string{"it is not allowed: allow it", "cpu profiling already in use: import _"}},
		{"they answer something else", func(i *inspected) { i.body = []byte("<html>") },
			[]string{"it is not allowed: allow it", "the CPU profile is broken: "}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			i := inspected{nil, body, nil, new(atomic.Int64), new(atomic.Int64)}
			c.change(&i)
			var arms []Arm
			for _, name := range []string{"A", "B"} {
				arms = append(arms, workingArm(name, 10*time.Millisecond, 4*time.Millisecond, &opened, func(l *Live) {
					l.Profile, l.Inspect = none(refused), i
				}))
			}
			d, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, design(), nil, nil, nil)
			if err != nil || d.Failed != "" || len(d.Missing) != len(c.missing) {
				t.Fatalf("%s: %+v, %v", c.name, d, err)
			}
			for n, want := range c.missing {
				if !strings.HasPrefix(d.Missing[n], want) {
					t.Errorf("%s: %s, want %s", c.name, d.Missing[n], want)
				}
			}
			if len(c.missing) > 1 {
				if d.Profiles != nil {
					t.Errorf("%s: %+v", c.name, d.Profiles)
				}
				return
			}
			if len(d.Profiles) != 2*why.LeastRounds {
				t.Fatalf("%s: %d profiles", c.name, len(d.Profiles))
			}
			for _, p := range d.Profiles {
				if p.CPU != 40*time.Millisecond || p.Samples != 4 || p.Operations < 390 || p.Operations > 410 || len(p.Work) != 1 || p.Work[0].Function != "main.handle" {
					t.Errorf("%s: %+v", c.name, p)
				}
				if r := p.Response / time.Duration(p.Operations); (r - 10*time.Millisecond).Abs() > 100*time.Microsecond {
					t.Errorf("%s: an answer takes %v, want 10 ms", c.name, r)
				}
			}
		})
	}
}
