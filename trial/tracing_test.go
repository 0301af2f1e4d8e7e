package trial

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime/trace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"contend/load"
	"contend/pace"
	"contend/why"
	"contend/why/pprof"
)

// aTrace is an execution trace of this process.
func aTrace(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	trace.Stop()
	return b.Bytes()
}

// inspected answers with a body and an error after the time for which it was asked, and has snapshots, or a
// reason why it has none.
type inspected struct {
	*snapping
	body   []byte
	err    error
	asked  *atomic.Int64
	length *atomic.Int64
}

// snapping allocates 100 bytes in an object between two snapshots.
type snapping struct {
	none  error
	shots int64
}

func (s *snapping) Snapshot(context.Context) (*pprof.Snapshot, error) {
	if s == nil {
		return nil, errors.New("no snapshots")
	}
	n := s.shots
	s.shots++
	return &pprof.Snapshot{First: pprof.Allocated{Bytes: 100 * n, Objects: n}, Last: pprof.Allocated{Bytes: 100 * n, Objects: n}, Heap: aHeap, Mutex: aHeap, Block: aHeap}, s.none
}

// aHeap is a profile in which nothing was seen.
var aHeap = func() []byte {
	var b bytes.Buffer
	p := profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_space"}, {Type: "alloc_objects"}, {Type: "delay"}}}
	_ = p.Write(&b)
	return b.Bytes()
}()

func (i inspected) Find(context.Context) error { return nil }

func (i inspected) Profile(ctx context.Context, seconds int) ([]byte, error) {
	return i.Trace(ctx, time.Duration(seconds)*time.Second)
}

func (i inspected) Trace(ctx context.Context, length time.Duration) ([]byte, error) {
	i.asked.Add(1)
	i.length.Store(int64(length))
	select {
	case <-time.After(length):
	case <-ctx.Done():
	}
	return i.body, i.err
}

// One block of each arm in each of the least rounds is traced; it is part of no profile of CPU time.
func TestDiagnoseTraces(t *testing.T) {
	body := aTrace(t)
	for _, c := range []struct {
		name   string
		change func(*inspected)
		asked  int64
		reason string
	}{
		{"all rounds", func(*inspected) {}, why.LeastRounds, ""},
		{"a refusal", func(i *inspected) { i.err = errors.New("already enabled") }, 1, "already enabled"},
		{"no trace", func(i *inspected) { i.body = []byte("<html>") }, 1, "gotrace: "},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			b := inspected{nil, body, nil, new(atomic.Int64), new(atomic.Int64)}
			c.change(&b)
			arm := func(name string, i Inspector) Arm {
				return workingArm(name, 10*time.Millisecond, 4*time.Millisecond, &opened, func(l *Live) { l.Inspect = i })
			}
			arms := []Arm{arm("A", inspected{nil, body, nil, new(atomic.Int64), new(atomic.Int64)}), arm("B", b)}
			d, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, design(), nil, nil, nil)
			if err != nil || d.Failed != "" {
				t.Fatalf("%s: %+v, %v", c.name, d, err)
			}
			if got := b.asked.Load(); got != c.asked || time.Duration(b.length.Load()) != sampledBlock*9/10 {
				t.Errorf("%s: asked %d times for %v, want %d for %v", c.name, got, time.Duration(b.length.Load()), c.asked, sampledBlock*9/10)
			}
			for _, p := range d.Profiles {
				if want := p.Round <= why.LeastRounds && (p.Arm == "A" || c.reason == ""); (p.Traced != nil) != want {
					t.Errorf("%s: %s is traced: %v, want %v", c.name, p.Arm, p.Traced != nil, want)
				}
				// 4 callers in four blocks of 250 ms, an answer takes 12.5 ms while it is sampled: 320.
				if p.Operations < 300 || p.Operations > 340 {
					t.Errorf("%s: %d operations", c.name, p.Operations)
				}
			}
			if c.reason == "" && (d.Untraced != nil || math.Abs(d.TraceOverhead-0.2) > 0.02) { // as sampling cost
				t.Errorf("%s: %+v, %g", c.name, d.Untraced, d.TraceOverhead)
			}
			if c.reason != "" && (len(d.Untraced) != 1 || d.Untraced[0].Arm != "B" || !strings.HasPrefix(d.Untraced[0].Reason, c.reason)) {
				t.Errorf("%s: %+v", c.name, d.Untraced)
			}
		})
	}
}

// At a rate waiting is not reported, so nothing is traced.
func TestAtARateNothingIsTraced(t *testing.T) {
	i := inspected{asked: new(atomic.Int64)}
	r := round{comparing: &comparing{plan: load.Plan{Pacer: pace.Constant(100)}, diagnosis: &Diagnosis{}}}
	if untold, err := r.trace(t.Context(), teller{Live: &Live{Inspect: i}}); err != nil || i.asked.Load() != 0 || untold != nil {
		t.Errorf("asked %d times: %v, %v", i.asked.Load(), untold, err)
	}
}
