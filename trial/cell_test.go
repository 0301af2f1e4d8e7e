package trial

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/subject"
)

// metered is a subject whose readings are given, in their order.
type metered struct {
	samples, clocks []subject.Sample
	err             error // of its clocks
}

func (m *metered) Sample() (s subject.Sample, err error) {
	s, m.samples = m.samples[0], m.samples[1:]
	return s, nil
}

func (m *metered) Clocks() (s subject.Sample, err error) {
	s, m.clocks = m.clocks[0], m.clocks[1:]
	return s, m.err
}
func (m *metered) Blocked() map[string]int { return nil }
func (m *metered) Done() <-chan struct{}   { return nil }
func (m *metered) Err() error              { return nil }

// The server's CPU time and waits are the differences of its clocks at the edges of the
// window, its switches those of the samples around the run, the rest is of the last one.
func TestWhatTheServerUsed(t *testing.T) {
	samples := []subject.Sample{
		{CPU: 1 * time.Second, RSSBytes: 100, Threads: 3, VoluntarySwitches: 10, InvoluntarySwitches: 1},
		{CPU: 9 * time.Second, RSSBytes: 80, Threads: 4, VoluntarySwitches: 25, InvoluntarySwitches: 7, CPUs: 8, SharedCPUs: 2},
	}
	used := load.Usage{CPUSec: 1.5, WaitedSec: 0.25, RSSBytes: 80, Threads: 4,
		VoluntarySwitches: 15, InvoluntarySwitches: 6, CPUs: 8, SharedCPUs: 2}
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
			read := &metered{samples: samples, err: tt.err, clocks: []subject.Sample{
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
