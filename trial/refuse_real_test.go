//go:build linux

package trial

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/internal/perf"
	"contend/load"
	"contend/pace"
	"contend/protocol"
	"contend/stat"
)

// Each refusal is provoked for real. Which side was the bottleneck is not known
// on a machine that something else keeps busy, so those are tried a few times.
const tries = 4

// undisturbed measures until the judgement is right. It gives up where other
// programs, other tests among them, used a tenth of the machine each time.
func undisturbed(t *testing.T, measure func() Cell, right func(Cell) bool) {
	t.Helper()
	var c Cell
	quiet := false
	for range tries {
		c = measure()
		if right(c) {
			return
		}
		others := c.Others(c.Server.CPUSec) / c.Duration.Seconds()
		quiet = quiet || others <= float64(c.MachineCores)/10
	}
	text := "generator %.2f s (waited %.2f s, stalled %.2f s), server %.2f s (waited %.2f s), machine %.2f s: refused %v, found %v"
	values := []any{c.GeneratorCPUSec, c.GeneratorWaitedSec, c.GeneratorStalledSec, c.Server.CPUSec, c.Server.WaitedSec, c.MachineCPUSec, c.Refusal(stat.HigherIsFaster), c.Warnings}
	if !quiet {
		t.Skipf("the machine is busy with something else: "+text, values...)
	}
	t.Errorf(text, values...)
}

func isRefused(code string) func(Cell) bool {
	return func(c Cell) bool {
		refusal := c.Refusal(stat.HigherIsFaster)
		return refusal != nil && refusal.Code == code
	}
}

// intermittent stops a process and lets it go on, for 15% of the time, until
// done.
func intermittent(pid int, done <-chan struct{}) {
	for syscall.Kill(pid, syscall.SIGSTOP) == nil {
		time.Sleep(34 * time.Millisecond)
		if syscall.Kill(pid, syscall.SIGCONT) != nil {
			return
		}
		select {
		case <-done:
			return
		case <-time.After(6 * time.Millisecond):
		}
	}
}

func TestThrottledGeneratorIsRefused(t *testing.T) {
	undisturbed(t, func() Cell {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), roleKey+"=generator")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); intermittent(cmd.Process.Pid, done) }()
		c := Cell{Result: new(load.Result)}
		err = json.NewDecoder(out).Decode(&c)
		close(done)
		<-ended
		if waited := cmd.Wait(); err != nil || waited != nil {
			t.Fatal(err, waited)
		}
		c.Derive()
		return c
	}, isRefused(finding.GeneratorSaturated.Code))
}

func TestThrottledServerIsNotTheGeneratorsFault(t *testing.T) {
	arm := serverArm(protocol.Target{}, "/")
	start := arm.Start
	arm.Start = func(ctx context.Context, s Setup) (*Live, error) {
		live, err := start(ctx, s)
		if err != nil {
			return nil, err
		}
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); intermittent(live.Subject.(interface{ PID() int }).PID(), done) }()
		stop := live.Stop
		live.Stop = func(ctx context.Context) error { close(done); <-ended; return stop(ctx) }
		return live, nil
	}
	undisturbed(t, func() Cell {
		return measured(t, arm, load.Plan{VUs: 8, Warmup: 200 * time.Millisecond, Duration: time.Second, Grace: load.DefaultGrace})
	}, func(c Cell) bool { return !isRefused(finding.GeneratorSaturated.Code)(c) })
}

// inFakeTime measures an arm in this process that only sleeps.
func inFakeTime(t *testing.T, d func(at time.Duration) time.Duration, plan load.Plan) (c Cell) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plan.Timer = pace.Runtime
		c = measured(t, inThisProcess(d), plan)
	})
	return c
}

func measured(t *testing.T, arm Arm, plan load.Plan) Cell {
	t.Helper()
	c, err := Measure(t.Context(), arm, plan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A millisecond of work for each of eight callers keeps all cores at it: the
// server is at its limit, and where it leaves a generator hardly more CPU than that
// uses, both are.
func TestBusyServerIsAFinding(t *testing.T) {
	undisturbed(t, func() Cell {
		return measured(t, serverArm(protocol.Target{}, "/burn"), load.Plan{VUs: 8, Warmup: 100 * time.Millisecond, Duration: 500 * time.Millisecond, Grace: load.DefaultGrace})
	}, func(c Cell) bool {
		refusal, found := c.Refusal(stat.HigherIsFaster), c.Warnings
		return refusal == nil && (finding.ServerBusy.In(found) || finding.CPUShared.In(found))
	})
}

func TestWrongAnswersAreRefused(t *testing.T) {
	c := measured(t, serverArm(protocol.Target{}, "/wrong"), load.Plan{VUs: 2, Duration: 50 * time.Millisecond, Grace: load.DefaultGrace})
	if !isRefused("errors")(c) {
		t.Errorf("not refused: failed %d of %d", c.Failed, c.Planned)
	}
}

// lasting answers after the time that is asked for at a time since it was made.
func lasting(d func(at time.Duration) time.Duration) load.Func {
	begun := time.Now()
	return func(ctx context.Context) (load.Outcome, error) {
		time.Sleep(d(time.Since(begun)))
		return load.Outcome{}, ctx.Err()
	}
}

func inThisProcess(d func(at time.Duration) time.Duration) Arm {
	return Arm{Name: "a", Start: func(context.Context, Setup) (*Live, error) { return &Live{Target: lasting(d)}, nil }}
}

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// Two callers of 10 ms each can do 200 of the 1000 arrivals per second.
func TestRateThatCannotBeReachedIsRefused(t *testing.T) {
	c := inFakeTime(t, always(10*time.Millisecond), load.Plan{VUs: 2, Pacer: pace.Constant(1000), Duration: 300 * time.Millisecond, Grace: load.DefaultGrace})
	if !isRefused("incomplete")(c) {
		t.Errorf("completed %d of %d", c.Completed, c.Planned)
	}
}

// Random arrivals at 80% of what four callers can do wait for a free one for
// about as long as they take: no arrival is lost, but times are the callers'.
func TestTooFewVUsAreRefusedForTimes(t *testing.T) {
	pacer, err := pace.Parse("poisson:320")
	if err != nil {
		t.Fatal(err)
	}
	c := inFakeTime(t, always(10*time.Millisecond), load.Plan{VUs: 4, Pacer: pacer, Iterations: 300, Seed: 1})
	if reason := c.Refusal(stat.LowerIsFaster); reason == nil || reason.Code != "start_lag" {
		t.Errorf("refused because of %v; start lag p99 %v, response time p99 %v", reason, c.StartLag.Quantile(0.99), c.Response.Quantile(0.99))
	}
	if reason := c.Refusal(stat.Amount); reason != nil {
		t.Errorf("memory is refused because of %v", reason)
	}
}

// A generator that does 2 ms of its own with every answer, one at a time, for four
// callers whose answers take 1 ms: over half of the cycle is its own.
func TestSlowGeneratorIsRefused(t *testing.T) {
	t.Parallel()
	c := measured(t, inThisProcess(always(time.Millisecond)), load.Plan{VUs: 4, Duration: 300 * time.Millisecond, Grace: load.DefaultGrace,
		Sample: func(load.Sample) { time.Sleep(2 * time.Millisecond) }})
	for _, about := range []stat.Kind{stat.HigherIsFaster, stat.LowerIsFaster} {
		if reason := c.Refusal(about); reason == nil || reason.Code != finding.GeneratorSaturated.Code {
			t.Errorf("%v: refused because of %v with %.2f of the cycle in the generator", about, reason, *c.GeneratorShare)
		}
	}
}

func TestUnsteadyServersAreRefused(t *testing.T) {
	const ms = float64(time.Millisecond)
	swinging := func(at time.Duration) time.Duration { // three waves in 11 s, the longest 9 times the shortest
		return time.Duration(10 * ms * (1 + 0.8*math.Sin(2*math.Pi*3*at.Seconds()/11)))
	}
	leaking := func(at time.Duration) time.Duration { return time.Duration(5 * ms * (1 + 4*at.Seconds())) }
	for name, x := range map[string]struct {
		d     func(time.Duration) time.Duration
		pacer *pace.Pacer
		about stat.Kind
	}{
		"oscillating":               {swinging, nil, stat.HigherIsFaster},
		"leaking":                   {leaking, nil, stat.HigherIsFaster},
		"leaking, arrivals by plan": {leaking, pace.Constant(100), stat.LowerIsFaster},
	} {
		t.Run(name, func(t *testing.T) {
			c := inFakeTime(t, x.d, load.Plan{VUs: 50, Pacer: x.pacer, Duration: 11 * time.Second, Grace: load.DefaultGrace})
			refusal, found := c.Refusal(x.about), c.Changes
			if refusal == nil || !finding.NotSteady.In(found) || strings.Contains(refusal.Text, "-") { // no rate is negative
				t.Errorf("refused because of %v, found %v; over time %+v", refusal, found, c.Course)
			}
		})
	}
}

// A server that somebody else started is sampled, too, where its processes can be seen.
func TestForeignServerIsSampled(t *testing.T) {
	own, err := serverArm(protocol.Target{}, "/burn").Launch(t.Context(), Setup{})
	if err != nil {
		t.Fatal(err)
	}
	defer own.End(context.Background())
	other := &Live{Address: own.Address, Target: own.Target}
	other.Find(t.Context(), protocol.At(own.Address).Address())
	session, err := other.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	cell, err := other.Drive(t.Context(), session, load.Plan{VUs: 1, Iterations: 20, Grace: load.DefaultGrace})
	if err != nil {
		t.Fatal(err)
	}
	if cell.Server == nil || !cell.Server.Foreign || cell.Server.CPUSec <= 0 || cell.Server.RSSBytes == 0 {
		t.Errorf("server %+v", cell.Server)
	}
	other.Find(t.Context(), "203.0.113.1:80") // TEST-NET-3, RFC 5737
	if _, err := other.Counters(perf.PageFaults); err == nil {
		t.Error("counters of a server elsewhere")
	}
}
