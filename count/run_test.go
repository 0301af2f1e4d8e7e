package count

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/failure"
	"contend/finding"
	"contend/internal/perf"
	"contend/load"
	"contend/stat"
	"contend/subject"
	"contend/trial"
)

// A server is one that pretends to be counted: it writes what it would have executed.
type server struct {
	name      string
	perCall   int64
	growth    int64 // of the cost, each thousand calls
	start     int64 // what it executes until it listens
	startsIn  time.Duration
	takes     time.Duration // for a call
	faster    int           // how many times, without the simulator; 0: as fast
	failsFrom int64         // call, of each life; 0: none
	processes int
	silent    bool // it leaves no counts
	killed    bool // and those of other processes are left
	endsIn    time.Duration
	writes    int64 // that a call makes
	executes  int64 // instructions, by the processor; 0: it has no counters

	lives int
}

func (s *server) arm() trial.Arm {
	return trial.Arm{Name: s.name, Start: func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
		s.lives++
		takes, startsIn, endsIn := s.takes, s.startsIn, s.endsIn
		if setup.Under == nil && s.faster > 0 {
			takes, startsIn, endsIn = takes/time.Duration(s.faster), startsIn/time.Duration(s.faster), endsIn/time.Duration(s.faster)
		}
		select {
		case <-time.After(startsIn):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var calls atomic.Int64
		call := func(context.Context) (load.Outcome, error) {
			time.Sleep(takes)
			return load.Outcome{Failed: calls.Add(1) >= s.failsFrom && s.failsFrom > 0}, nil
		}
		stop := func(context.Context) error {
			time.Sleep(endsIn)
			if s.silent || setup.Under == nil {
				return nil
			}
			n := calls.Load()
			for p := range max(1, s.processes) {
				main := n*s.perCall + n*n*s.growth/2000
				text := fmt.Sprintf("events: Ir\nfl=a.go\nfn=start\n1 %d\nfn=main.work\n9 %d\nsummary: %d\n", s.start+int64(s.lives), main, s.start+int64(s.lives)+main)
				if err := os.WriteFile(fileOf(setup, p), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		}
		return &trial.Live{Address: s.name, Subject: alive{func() int64 { return s.writes * calls.Load() }, s.killed}, Target: load.Func(call), Stop: stop,
			Counters: func(events ...perf.Event) (trial.Counters, error) {
				if s.executes == 0 || !slices.Equal(events, []perf.Event{perf.Instructions}) {
					return nil, &perf.UnavailableError{Event: events[0], Reason: "no counters"}
				}
				return &processor{s.executes, &calls, 0}, nil
			}}, nil
	}}
}

// fileOf is where a process writes its counts.
func fileOf(setup trial.Setup, process int) string {
	i := slices.IndexFunc(setup.Under, func(arg string) bool { return strings.HasPrefix(arg, "--cachegrind-out-file=") })
	return strings.Replace(strings.TrimPrefix(setup.Under[i], "--cachegrind-out-file="), "%p", fmt.Sprint(process+1), 1)
}

// A processor counts instructions of calls.
type processor struct {
	perCall int64
	calls   *atomic.Int64
	from    int64
}

func (p *processor) Start() error {
	p.from = p.calls.Load()
	return nil
}

func (p *processor) Stop() (perf.Counts, error) {
	return perf.Counts{perf.Instructions: uint64(p.perCall * (p.calls.Load() - p.from))}, nil
}

func (*processor) Close() error { return nil }

type alive struct {
	writes func() int64
	killed bool // it ignored SIGTERM
}

func (a alive) Warnings() []finding.Warning {
	if !a.killed {
		return nil
	}
	return []finding.Warning{finding.Killed.Warning("it ignored SIGTERM")}
}

func (a alive) Sample() (subject.Sample, error) {
	return subject.Sample{Activity: perf.Activity{WriteCalls: a.writes(), WrittenBytes: 100 * a.writes()}}, nil
}
func (alive) Clocks() (s subject.Sample, err error) { return s, nil }
func (alive) Blocked() []subject.Blocked            { return nil }
func (alive) Done() <-chan struct{}                 { return nil }
func (alive) Err() error                            { return nil }

// compared counts two servers in fake time.
func compared(t *testing.T, a, b *server, limit time.Duration) (counts *Counts, err error) {
	t.Setenv("TMPDIR", t.TempDir()) // others count at the same time
	synctest.Test(t, func(t *testing.T) {
		a.name, b.name = "A", "B"
		plan := load.Plan{VUs: 4, Timeout: time.Second}
		counts, err = Compare(t.Context(), []trial.Arm{a.arm(), b.arm()}, plan, Options{Tool: Tool{Path: "valgrind", Version: "valgrind-3.19.0"}, Repetitions: Repetitions, Limit: limit})
	})
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "contend-count-*")); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
	return counts, err
}

func quick(perCall int64) *server {
	return &server{perCall: perCall, start: 1_000_000, takes: 5 * time.Millisecond}
}

// Where the processor has counters, what they say of both is compared, and not with what the simulator says.
func TestCompareWithTheProcessorsCounters(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for name, tt := range map[string]struct {
		a, b int64
		want *Event
	}{
		"both have them":  {12_000, 12_600, &Event{byProcessor, 12_000, 12_600, 600, 600, 600, true}},
		"one has them":    {12_000, 0, nil},
		"neither has any": {0, 0, nil},
	} {
		a, b := quick(10_000), quick(10_000)
		a.executes, b.executes = tt.a, tt.b
		counts, err := compared(t, a, b, 0)
		if err != nil {
			t.Fatal(err)
		}
		c := counts.Comparisons[0]
		i := slices.IndexFunc(c.Events, func(e Event) bool { return e.Name == byProcessor })
		if found := i >= 0; found != (tt.want != nil) || found && c.Events[i] != *tt.want {
			t.Errorf("%s: %+v, want %+v", name, c.Events, tt.want)
		}
		if missing := strings.Contains(strings.Join(counts.Missing, "; "), byProcessor+": "); missing != (tt.want == nil) {
			t.Errorf("%s: missing are %q", name, counts.Missing)
		}
		if c.Verdict != stat.Equivalent || math.Round(c.Total.Baseline) != 10_000 || math.Round(c.Total.Candidate) != 10_000 || counts.Tool != "valgrind-3.19.0" {
			t.Errorf("%s: %s of %+v by %s", name, c.Verdict, c.Total, counts.Tool)
		}
	}
}

// The start cancels, though it is another one each time; what is left is what a call costs.
func TestCompareCountsWhatACallCosts(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	counts, err := compared(t, quick(10_000), quick(10_020), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := counts.Comparisons[0]
	if c.Verdict != stat.More || c.Rows[0].Name != "main.work" || c.Rows[0].Baseline != 10_000 || c.Rows[0].Value != 20 {
		t.Errorf("%s: %+v", c.Verdict, c.Rows)
	}
	if n := len(counts.Runs); n != 2*2*Repetitions {
		t.Errorf("%d runs", n)
	}
	// 4 callers at 5 ms answer 800 in a second; every second repetition begins to count later.
	if counts.Measured < 780 || counts.Measured > 800 || counts.Runs[0].Iterations*2 != counts.Runs[4].Iterations {
		t.Errorf("%d iterations, in %+v", counts.Measured, counts.Runs)
	}
}

// Two servers are counted at the same time, or one after the other if they cannot run at once; then another one comes first
// in each repetition.
func TestCompareRunsServersAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for apart, want := range map[bool]int64{false: 2, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			var alive, most atomic.Int64
			var order string
			var arms []trial.Arm
			for _, name := range []string{"A", "B", "C"} {
				s := quick(10_000)
				s.name, s.takes = name, 20*time.Millisecond
				arm := s.arm()
				start := arm.Start
				arm.Start = func(ctx context.Context, setup trial.Setup) (*trial.Live, error) {
					live, err := start(ctx, setup)
					if setup.Under == nil || err != nil {
						return live, err
					}
					if apart {
						order += name
					}
					most.Store(max(most.Load(), alive.Add(1)))
					stop := live.Stop
					live.Stop = func(ctx context.Context) error {
						alive.Add(-1)
						return stop(ctx)
					}
					return live, nil
				}
				arms = append(arms, arm)
			}
			_, err := Compare(t.Context(), arms, load.Plan{VUs: 4, Timeout: time.Second}, Options{Repetitions: Repetitions, Apart: apart})
			if err != nil || most.Load() != want {
				t.Errorf("apart %v: %d at once, want %d (%v)", apart, most.Load(), want, err)
			}
			if apart && !strings.HasPrefix(order, "ABC"+"AABBCC"+"CCBBAA") {
				t.Errorf("they started as %s", order)
			}
		})
	}
}

// Without the simulator what is asked of the kernel is counted, and what cannot be is said.
func TestCompareCountsWhatIsAskedOfTheKernel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, b := quick(10_000), quick(10_000)
	a.writes, b.writes = 1, 3
	counts, err := compared(t, a, b, 0)
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	for _, e := range counts.Comparisons[0].Events {
		if e.Differs {
			differ = append(differ, fmt.Sprintf("%s %g %g", e.Name, e.Baseline, e.Candidate))
		}
	}
	if want := "bytes written 100 300, calls of write 1 3"; strings.Join(differ, ", ") != want || !strings.HasPrefix(strings.Join(counts.Missing, "; "), "system calls by name: ") {
		t.Errorf("%v, want %s; %v", differ, want, counts.Missing)
	}
}

func TestCompareEqual(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	counts, err := compared(t, quick(10_000), quick(10_000), 0)
	if err != nil || counts.Comparisons[0].Verdict != stat.Equivalent {
		t.Errorf("%v, %+v", err, counts.Comparisons)
	}
}

func TestCompareRefuses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	failing, growing, elsewhere := quick(10_000), quick(10_000), quick(3)
	failing.failsFrom, growing.growth = 840, 4000
	for _, tt := range []struct {
		b    *server
		want finding.Kind
	}{{failing, finding.Errors}, {growing, finding.NotSteady}, {elsewhere, finding.ProcessesDiffer}} {
		counts, err := compared(t, quick(10_000), tt.b, 0)
		if err != nil || len(counts.Comparisons) != 1 || counts.Comparisons[0].Verdict != stat.Invalid || !counts.Comparisons[0].Reason.Is(tt.want) {
			t.Errorf("%s: %v, %+v", tt.want.Code, err, counts.Comparisons)
		}
	}
}

// A process that was killed leaves no counts: what the others left would be too little.
func TestCompareRefusesOtherNumbersOfProcesses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := quick(10_000)
	arm := b.arm()
	start := arm.Start
	arm.Start = func(ctx context.Context, s trial.Setup) (*trial.Live, error) {
		b.processes = 1 + b.lives%2
		return start(ctx, s)
	}
	synctest.Test(t, func(t *testing.T) {
		a := quick(10_000)
		a.name, arm.Name = "A", "B"
		counts, err := Compare(t.Context(), []trial.Arm{a.arm(), arm}, load.Plan{VUs: 4, Timeout: time.Second}, Options{Repetitions: Repetitions})
		if err != nil || !counts.Comparisons[0].Reason.Is(finding.ProcessesDiffer) {
			t.Errorf("%v, %+v", err, counts.Comparisons)
		}
	})
}

func TestCompareFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	silent, killed, wrong := quick(10_000), quick(10_000), quick(10_000)
	silent.silent, killed.killed, wrong.failsFrom = true, true, 1
	for _, tt := range []struct {
		b    *server
		want string
	}{{silent, "B: its server left no counts"}, {killed, "B: its server left no counts"}, {wrong, "B: no request succeeded: 4 failed, 0 errored (status 0)"}} {
		if _, err := compared(t, quick(10_000), tt.b, 0); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// Limits of the simulator explain the death of a server that met one, and no other.
func TestExplainsLimits(t *testing.T) {
	c := &counter{Counts: Counts{Tool: "valgrind-3.19.0"}}
	folder := t.TempDir()
	of := func(words string) error {
		return failure.With(errors.New("its process died: exit status 2"), failure.Failure{LastWords: []string{words}})
	}
	check := func(err error, want string) {
		t.Helper()
		got := c.explain(err, folder)
		if f := failure.All(got); !strings.HasSuffix(f[0].Cause, want) || f[0].Advice == "" || !errors.Is(got, err) {
			t.Errorf("%v: %+v", got, f)
		}
	}
	const lacks = "that the simulator lacks (valgrind-3.19.0, SIGILL)"
	check(of("SIGILL: illegal instruction"), lacks)
	check(of("==7== Warning: Can't execute setuid/setgid/setcap executable: ./server"), "the simulator (valgrind-3.19.0) cannot run such programs")
	if err := of("oh"); c.explain(err, folder) != err {
		t.Error("every death is explained by it")
	}
	if err := os.WriteFile(filepath.Join(folder, logs+"7"), []byte("==7== Process terminating with default action of signal 4 (SIGILL)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(of("oh"), lacks)
}

func TestCompareInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		a, b := quick(10_000), quick(10_100)
		a.name, b.name = "A", "B"
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		counts, err := Compare(ctx, []trial.Arm{a.arm(), b.arm()}, load.Plan{VUs: 4, Timeout: time.Second}, Options{Repetitions: Repetitions})
		if !errors.Is(err, context.DeadlineExceeded) || len(counts.Comparisons) != 1 || counts.Comparisons[0].Verdict != stat.More {
			t.Errorf("%v, %+v", err, counts.Comparisons)
		}
	})
}
