package trial

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/why"
)

// The block between two snapshots takes 250 ms and a lead-in of 12.5 ms, in which 4 callers get an answer each 12.5 ms: 21 times 4.
func TestDiagnoseSnapshots(t *testing.T) {
	for _, c := range []struct {
		name       string
		b          *snapping
		operations int64
		silent     string
	}{
		{"all rounds", new(snapping), 84, ""},
		{"none of one", &snapping{none: errors.New("no heap")}, 84, "no heap"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			arm := func(name string, s *snapping) Arm {
				return workingArm(name, 10*time.Millisecond, 4*time.Millisecond, &opened, func(l *Live) {
					l.Inspect = inspected{s, nil, errors.New("no trace"), new(atomic.Int64), new(atomic.Int64)}
				})
			}
			d, err := Diagnose(t.Context(), []Arm{arm("A", new(snapping)), arm("B", c.b)}, load.Plan{VUs: 4}, design(), nil, nil, nil)
			if err != nil || d.Failed != "" || len(d.Profiles) != 2*why.FurtherRounds {
				t.Fatalf("%s: %+v, %v", c.name, d, err)
			}
			for _, p := range d.Profiles {
				if p.Round > why.LeastRounds { // which are for functions
					continue
				}
				if p.Arm == "B" && c.silent != "" {
					if p.Snapshots != nil {
						t.Errorf("%s: %+v", c.name, p.Snapshots)
					}
					continue
				}
				if s := p.Snapshots; s == nil || s.Operations != c.operations || s.Bytes != 100 || s.Objects != 1 {
					t.Fatalf("%s: %s: %+v, want %d operations", c.name, p.Arm, p.Snapshots, c.operations)
				}
			}
			if silent := d.WithoutSnapshots; (c.silent == "") != (silent == nil) || silent != nil && (len(silent) != 1 || silent[0] != Silent{"B", c.silent}) {
				t.Errorf("%s: %+v", c.name, silent)
			}
		})
	}
}

// Arms that live one at a time are diagnosed, too, also where answers are so slow that a round has one pair of blocks.
func TestDiagnoseAlone(t *testing.T) {
	for _, answer := range []time.Duration{10 * time.Millisecond, 400 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			living := 0
			arm := func(name string) Arm {
				a := workingArm(name, answer, 4*time.Millisecond, &opened, func(l *Live) {
					l.Inspect = inspected{new(snapping), nil, errors.New("no trace"), new(atomic.Int64), new(atomic.Int64)}
				})
				return Arm{Name: name, Start: func(ctx context.Context, s Setup) (*Live, error) {
					if living++; living > 1 {
						t.Errorf("%s was started while another lived", name)
					}
					l, err := a.Start(ctx, s)
					l.Stop = func(context.Context) error { living--; return nil }
					return l, err
				}}
			}
			d := design()
			d.Alone, d.Warmup = insisting, time.Second
			got, err := Diagnose(t.Context(), []Arm{arm("A"), arm("B")}, load.Plan{VUs: 4}, d, nil, nil, nil)
			if err != nil || got.Failed != "" || len(got.Profiles) < 2*why.LeastRounds {
				t.Fatalf("%v: %+v, %v", answer, got, err)
			}
			for _, p := range got.Profiles {
				if p.Operations == 0 || (p.Snapshots == nil) != (p.Round > why.LeastRounds) {
					t.Errorf("%v: %+v", answer, p)
				}
			}
			if len(got.Untraced) != 2 || !strings.Contains(got.Untraced[0].Reason, "no trace") {
				t.Errorf("%v: %+v", answer, got.Untraced)
			}
		})
	}
}
