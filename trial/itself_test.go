package trial

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/why"
)

// local is a target in this process.
type local struct{ load.Target }

func (local) Local() {}

// A target in this process is sampled by it, and what its generator used is what it used.
func TestItself(t *testing.T) {
	l := Live{Target: local{}}
	s := l.sampled()
	before, err := s.Sample()
	if err != nil {
		t.Fatal(err)
	}
	if before.CPU == 0 {
		t.Skip("this system does not tell the CPU time of a process")
	}
	for after := before; after.CPU-before.CPU < 10*time.Millisecond; {
		after, _ = s.Clocks()
	}
	after, _ := s.Sample()
	if used := after.Sub(before); used.Elapsed <= 0 || used.CPU < 10*time.Millisecond || used.VoluntarySwitches < 0 || used.MinorFaults < 0 {
		t.Errorf("%+v", used)
	}
	cell := Cell{Result: &load.Result{Cost: load.Cost{GeneratorCPUSec: 3, GeneratorWaitedSec: 2}}}
	if u := l.usage(cell); u == nil || u.CPUSec != 3 || u.WaitedSec != 2 {
		t.Errorf("%+v", u)
	}
	if l := (&Live{Target: load.Func(nil)}); l.sampled() != nil || l.usage(cell) != nil {
		t.Error("a target that is elsewhere is sampled here")
	}
}

// A target in this process, such as a lab's function, is sampled by it and has no program to ask: its CPU time
// is that of the generator, and nothing is reported as missing.
func TestDiagnoseInThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		var arms []Arm
		for _, name := range []string{"A", "B"} {
			arms = append(arms, workingArm(name, 10*time.Millisecond, 4*time.Millisecond, &opened, func(l *Live) {
				l.Subject, l.Target = nil, local{l.Target}
			}))
		}
		d, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, design(), nil, nil, nil)
		if err != nil || d.Failed != "" || d.Missing != nil || d.Untraced != nil || d.WithoutSnapshots != nil || len(d.Profiles) != 2*why.FurtherRounds {
			t.Fatalf("%+v, %v", d, err)
		}
		for _, p := range d.Profiles {
			if p.Operations == 0 || p.Samples == 0 || p.Traced != nil || p.Snapshots != nil {
				t.Errorf("%+v", p)
			}
		}
	})
}
