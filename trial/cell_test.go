package trial

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/internal/perf"
	"contend/load"
	"contend/subject"
)

// metered is a subject whose samples are given in their order, and its clocks before the time
// that the second of them begins at.
type metered struct {
	mortal
	samples []subject.Sample
	clocks  [2]subject.Sample
	second  time.Time
	err     error // of its clocks
}

func (m *metered) Sample() (s subject.Sample, err error) {
	s, m.samples = m.samples[0], m.samples[1:]
	return s, nil
}

func (m *metered) Clocks() (s subject.Sample, err error) {
	if time.Now().Before(m.second) {
		return m.clocks[0], m.err
	}
	return m.clocks[1], m.err
}

// The server's CPU time and waits are the differences of its clocks at the edges of the
// window, its switches those of the samples around the run, the rest is of the last one.
func TestWhatTheServerUsed(t *testing.T) {
	samples := []subject.Sample{
		{CPU: 1 * time.Second, RSSBytes: 100, Threads: 3, Activity: perf.Activity{VoluntarySwitches: 10, InvoluntarySwitches: 1}},
		{CPU: 9 * time.Second, RSSBytes: 80, Threads: 4, Activity: perf.Activity{VoluntarySwitches: 25, InvoluntarySwitches: 7}, CPUs: 8, SharedCPUs: 2},
	}
	used := load.Usage{CPUSec: 1.5, WaitedSec: 0.25, RSSBytes: 80, Threads: 4,
		Activity: perf.Activity{VoluntarySwitches: 15, InvoluntarySwitches: 6}, CPUs: 8, SharedCPUs: 2}
	lost := used
	lost.WaitedSec = 0 // a thread took its waits with it
	tests := []struct {
		name   string
		used   time.Duration // CPU time at the second edge, 4 s at the first
		waited time.Duration // at the second edge, 2 s at the first
		err    error
		want   *load.Usage
		why    string // there is nothing
	}{
		{"all is known", 5500 * time.Millisecond, 2250 * time.Millisecond, nil, &used, ""},
		{"waits that went with their thread", 5500 * time.Millisecond, time.Second, nil, &lost, ""},
		{"clocks that cannot be read", 5500 * time.Millisecond, 2250 * time.Millisecond, errors.New("not here"), nil, "not here"},
		{"CPU time that went with its process", 3 * time.Second, 2 * time.Second, nil, nil, "processes of the server ended, and their CPU time with them"},
		{"a process that has ended", 5500 * time.Millisecond, 2250 * time.Millisecond, os.ErrProcessDone, nil, ""}, // which is an error of the run
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			arm := sleeping("a", 10*time.Millisecond)
			start := time.Now()
			read := &metered{samples: samples, err: tt.err, second: start.Add(time.Second), clocks: [2]subject.Sample{
				{CPU: 4 * time.Second, Waited: 2 * time.Second}, {CPU: tt.used, Waited: tt.waited}}}
			c, err := Measure(t.Context(), Arm{Name: "a", Start: func(ctx context.Context, s Setup) (*Live, error) {
				live, err := arm.Start(ctx, s)
				live.Subject = read
				return live, err
			}}, load.Plan{VUs: 1, Duration: time.Second, Grace: load.DefaultGrace})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != time.Second { // without errors no news of a death is waited for
				t.Errorf("%s: took %v, want 1 s", tt.name, took)
			}
			if (c.Server == nil) != (tt.want == nil) || c.Server != nil && *c.Server != *tt.want {
				t.Errorf("%s: %+v, want %+v", tt.name, c.Server, tt.want)
			}
			if c.Unsampled != tt.why || finding.NotSampled.In(c.Warnings) != (tt.why != "") {
				t.Errorf("%s: unsampled is %q, warnings %v, want %q", tt.name, c.Unsampled, c.Warnings, tt.why)
			}
		})
	}
}

// farOff is metered on another machine: it has read its clocks when it was asked to.
type farOff struct {
	*metered
	machine string
	told    *[]time.Time
}

func (f farOff) Machine() string            { return f.machine }
func (f farOff) Watch() (stop func() Waits) { return func() Waits { return Waits{} } }

func (f farOff) ClocksAt(moment time.Time) func() (subject.Sample, error) {
	clocks := f.clocks[len(*f.told)]
	*f.told = append(*f.told, moment)
	return func() (subject.Sample, error) { return clocks, nil }
}

// elsewhere is a target of generators on machine g, which end after a time.
type elsewhere struct{ after time.Duration }

func (elsewhere) NewVU(context.Context, int) (load.VU, error) { return nil, errors.New("none") }
func (e elsewhere) OpenRemote(context.Context, int) (load.Remote, error) {
	return e, nil
}
func (elsewhere) Close() error { return nil }

func (e elsewhere) Run(_ context.Context, plan load.Plan) (*load.Result, error) {
	opens := time.Now().Add(50*time.Millisecond + plan.Warmup)
	plan.Foretell(opens, opens.Add(plan.Duration))
	time.Sleep(time.Until(opens))
	plan.AtEdge(load.WindowOpens)
	time.Sleep(e.after)
	plan.AtEdge(load.WindowCloses)
	own := &load.Result{Counts: load.NewCounts(), Duration: e.after}
	return load.Together(plan, "here", []load.Part{{Generator: load.Generator{Name: "1", Machine: "g"}, Result: own}}), nil
}

// A server on another machine hears the moments at which the window opens and closes, 1.05 and 3.05 s
// from the beginning, before they come. What it has read then counts, except in a run that ended
// before: then its clocks are asked at once. It is apart if no generator is on its machine.
func TestAServerElsewhereIsToldTheEdges(t *testing.T) {
	for _, c := range []struct {
		machine string
		after   time.Duration
		between time.Duration // the readings; 0: not known
		want    float64       // CPU time
		apart   bool
	}{
		{"g", 2 * time.Second, 0, 3, false},
		{"h", 2 * time.Second, 0, 3, true},
		{"h", 2 * time.Second, 1500 * time.Millisecond, 4, true}, // the first was 0.5 s late: 3 s · 2 ÷ 1.5
		{"h", 2 * time.Second, 2500 * time.Millisecond, 3, true}, // the second was
		{"h", time.Second, 0, 1, true},                           // ended at 2.05 s, when the clocks were at 2 s
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var told []time.Time
			server := farOff{&metered{samples: make([]subject.Sample, 2), second: began.Add(time.Hour)}, c.machine, &told}
			server.clocks = [2]subject.Sample{{CPU: time.Second}, {CPU: 4 * time.Second, Elapsed: c.between}}
			if c.after < 2*time.Second {
				server.second = began.Add(2 * time.Second)
				server.clocks[1].CPU = 2 * time.Second
			}
			live := &Live{Subject: server, Target: elsewhere{c.after}}
			session, err := live.Open(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			cell, err := live.Drive(t.Context(), session, load.Plan{VUs: 1, Warmup: time.Second, Duration: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if len(told) != 2 || told[0].Sub(began) != 1050*time.Millisecond || told[1].Sub(began) != 3050*time.Millisecond {
				t.Errorf("was told %v", told)
			}
			if cell.Server == nil || cell.Server.CPUSec != c.want || cell.ServerApart != c.apart {
				t.Errorf("%+v: %+v, apart: %v", c, cell.Server, cell.ServerApart)
			}
		})
	}
}
