package load

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"contend/errkind"
	"contend/finding"
	"contend/pace"
	"contend/setting"
)

// sleeper answers after a fixed time.
func sleeper(d time.Duration) Func {
	return func(ctx context.Context) (Outcome, error) {
		select {
		case <-time.After(d):
			return Outcome{}, nil
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}
}

// inBubble runs the plan in fake time.
func inBubble(t *testing.T, target Target, plan Plan) *Result {
	t.Helper()
	var result *Result
	synctest.Test(t, func(t *testing.T) {
		plan.Timer = pace.Runtime
		var err error
		result, err = Run(t.Context(), "test", target, plan)
		if err != nil {
			t.Fatal(err)
		}
	})
	checkSum(t, result)
	return result
}

func checkSum(t *testing.T, r *Result) {
	t.Helper()
	if sum := r.Accounted(); sum != r.Planned {
		t.Errorf("planned %d, but completed %d + failed %d + errored %d + dropped %d + unfinished %d = %d",
			r.Planned, r.Completed, r.Failed, r.ErroredTotal(), r.Dropped, r.Unfinished, sum)
	}
	if r.Response.Count() != r.Completed || r.Service.Count() != r.Completed || r.StartLag.Count() != r.Completed {
		t.Errorf("completed %d, histograms hold %d, %d, %d",
			r.Completed, r.Response.Count(), r.Service.Count(), r.StartLag.Count())
	}
	if r.Course != nil { // no sum of several
		checkOverTime(t, r)
	}
}

func within(t *testing.T, what string, got, want time.Duration, tolerance float64) {
	t.Helper()
	if math.Abs(float64(got-want)) > tolerance*float64(want) {
		t.Errorf("%s is %v, want %v ± %v%%", what, got, want, 100*tolerance)
	}
}

// Ten VUs, 10 ms an iteration, 10 s: each VU starts at 0, 10 ms, … 9990 ms.
func TestClosedModel(t *testing.T) {
	r := inBubble(t, sleeper(10*time.Millisecond), Plan{VUs: 10, Duration: 10 * time.Second, Grace: DefaultGrace})
	if r.Completed != 10_000 || r.ThroughputPerSec != 1000 || r.Model != ClosedModel || r.Stopped != StoppedByDuration {
		t.Errorf("completed %d, %v/s, %s, stopped by %s", r.Completed, r.ThroughputPerSec, r.Model, r.Stopped)
	}
	within(t, "response mean", r.Response.Mean(), 10*time.Millisecond, 0.001)
	if seconds, step := r.Course.seconds(r.Duration); step != time.Second || len(seconds) != 10 || seconds[5].Completed != 1000 {
		t.Errorf("over time %+v, want ten seconds of 1000", seconds)
	}
	if share := *r.GeneratorShare; share > 1e-9 {
		t.Errorf("generator share %v, want 0: in fake time the generator takes none", share)
	}
}

// A VU without an iteration, or without a further one, has no cycle that the
// generator could have a share of.
func TestIdleVUsAreNotTheGenerators(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		plan Plan
		idle time.Duration
	}{
		{Plan{VUs: 100, Iterations: 10}, 90 * 10 * ms},                                          // ten VUs, once each
		{Plan{VUs: 4, Iterations: 6}, 2 * 10 * ms},                                              // two of them twice, until 20 ms
		{Plan{VUs: 4, Iterations: 8}, 0},                                                        // all twice
		{Plan{VUs: 4, Iterations: 6, Warmup: 20 * ms}, 2 * 10 * ms},                             // as without a warm-up
		{Plan{VUs: 3, Iterations: 3, Duration: 50 * ms, Think: 5 * ms, Grace: DefaultGrace}, 0}, // all at once
		{Plan{VUs: 4, Duration: 50 * ms, Grace: DefaultGrace}, 0},                               // ended by time
	} {
		r := inBubble(t, sleeper(10*ms), tt.plan)
		if share := *r.GeneratorShare; r.Idle != tt.idle || share > 1e-9 {
			t.Errorf("%d VUs, %d iterations: idle for %v, generator share %v, want %v and 0", tt.plan.VUs, tt.plan.Iterations, r.Idle, share, tt.idle)
		}
		if sum := Merge(r, r); sum.Idle != 2*tt.idle || *sum.GeneratorShare > 1e-9 {
			t.Errorf("twice: idle for %v, generator share %v", sum.Idle, *sum.GeneratorShare)
		}
	}
}

// Think time 30 ms: a cycle of 40 ms, so 25 iterations per VU and second. Only
// those due in the window count.
func TestThinkTimeAndWarmup(t *testing.T) {
	r := inBubble(t, sleeper(10*time.Millisecond), Plan{VUs: 4, Think: 30 * time.Millisecond,
		Warmup: time.Second, Duration: 2 * time.Second, Grace: DefaultGrace})
	if r.Completed != 200 || r.ThroughputPerSec != 100 {
		t.Errorf("completed %d at %v/s, want 200 at 100/s", r.Completed, r.ThroughputPerSec)
	}
}

// 25 iterations over 10 VUs of 10 ms: waves of 10, 10 and 5, so 30 ms.
func TestIterations(t *testing.T) {
	r := inBubble(t, sleeper(10*time.Millisecond), Plan{VUs: 10, Iterations: 25})
	if r.Completed != 25 || r.Duration != 30*time.Millisecond || r.Stopped != StoppedByIterations {
		t.Errorf("completed %d in %v, stopped by %s", r.Completed, r.Duration, r.Stopped)
	}
}

func TestOpenModelCountsAndDueTimes(t *testing.T) {
	r := inBubble(t, sleeper(10*time.Millisecond), Plan{VUs: 5, Pacer: pace.Constant(100),
		Warmup: time.Second, Duration: 30 * time.Second, Grace: DefaultGrace})
	if r.Planned != 3000 || r.Completed != 3000 || r.ThroughputPerSec != 100 || r.Stopped != StoppedByDuration {
		t.Errorf("planned %d, completed %d, %v/s, stopped by %s", r.Planned, r.Completed, r.ThroughputPerSec, r.Stopped)
	}
	if lag := r.StartLag.Max(); lag != 0 {
		t.Errorf("start lag up to %v, want 0: a VU is always free", lag)
	}
}

// One VU and 20 ms an iteration can do 50 of the 100 arrivals per second. The
// k-th started arrival is due at 10k ms and starts at 20k ms; what has not
// started when the window ends after 10 s is dropped.
func TestOverflowWaitsThenDrops(t *testing.T) {
	r := inBubble(t, sleeper(20*time.Millisecond), Plan{VUs: 1, Pacer: pace.Constant(100), Duration: 10 * time.Second, Grace: DefaultGrace})
	if r.Planned != 1000 || r.Completed != 500 || r.Dropped != 500 {
		t.Errorf("planned %d, completed %d, dropped %d; want 1000, 500, 500", r.Planned, r.Completed, r.Dropped)
	}
	within(t, "longest start lag", r.StartLag.Max(), 4990*time.Millisecond, 0.001) // 499·(20−10) ms
	if !hasWarning(r, "incomplete") {
		t.Errorf("warnings %v, want incomplete", r.Warnings)
	}
}

// A server that freezes once, from 10 s to 11.4 s, in a 30 s run at 1000/s,
// and otherwise answers in 1 ms. Arrivals due while it is frozen wait until it
// thaws: of 30 000 response times 1400 are uniform on (0, 1.4 s], so p99, which
// 300 exceed, is 1.4 s·(1 − 300/1400) = 1.1 s. Only the calls in flight when it
// froze (as many as there are VUs) have a long service time: with 50 VUs that
// is 50 of 30 000, beyond p99, which stays 1 ms.
func TestOmissionIsNotCoordinated(t *testing.T) {
	var base time.Time
	freezing := Func(func(ctx context.Context) (Outcome, error) {
		if at := time.Since(base); at >= 10*time.Second && at < 11400*time.Millisecond {
			time.Sleep(11400*time.Millisecond - at)
		}
		time.Sleep(time.Millisecond)
		return Outcome{}, nil
	})
	synctest.Test(t, func(t *testing.T) {
		base = time.Now()
		r, err := Run(t.Context(), "freezing", freezing, Plan{VUs: 50, Pacer: pace.Constant(1000),
			Duration: 30 * time.Second, Grace: DefaultGrace, Timer: pace.Runtime})
		if err != nil {
			t.Fatal(err)
		}
		checkSum(t, r)
		response, service := r.Response.Quantile(0.99), r.Service.Quantile(0.99)
		within(t, "p99 response time", response, 1100*time.Millisecond, 0.03)
		if service*50 > response {
			t.Errorf("p99 service time %v is not 50 times below p99 response time %v", service, response)
		}
		if lag := r.StartLag.Quantile(0.99); lag < time.Second {
			t.Errorf("p99 start lag %v does not explain the response time", lag)
		}
	})
}

// A VU that never answers and heeds its context: cut off by the end.
func TestUnfinishedAfterGrace(t *testing.T) {
	never := Func(func(ctx context.Context) (Outcome, error) { <-ctx.Done(); return Outcome{}, ctx.Err() })
	for _, grace := range []time.Duration{0, time.Nanosecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			r, err := Run(t.Context(), "never", never, Plan{VUs: 3, Duration: 3 * time.Second, Grace: grace})
			if err != nil {
				t.Fatal(err)
			}
			checkSum(t, r)
			if r.Unfinished != 3 || r.Completed != 0 || !hasWarning(r, "nothing_succeeded") {
				t.Errorf("unfinished %d, completed %d, warnings %v", r.Unfinished, r.Completed, r.Warnings)
			}
			if took := time.Since(start); took != 3*time.Second+grace {
				t.Errorf("took %v, want the window of 3 s and the grace of %v", took, grace)
			}
		})
	}
}

// A response that is in flight at the end is awaited as long as one took before, with a rate or without, unless the plan
// says how long.
func TestSlowResponsesAreAwaited(t *testing.T) {
	for _, tt := range []struct {
		plan Plan
		end  time.Duration // of the run
		done int64
	}{
		// 4 a second, the last is due at 11.75 s and takes 4.9 s
		{Plan{VUs: 40, Timer: pace.Runtime, Pacer: pacer(t, "constant:4"), Grace: time.Second}, 16650 * time.Millisecond, 48},
		// those until 8 s have ended at 12.9 s: 33
		{Plan{VUs: 40, Timer: pace.Runtime, Pacer: pacer(t, "constant:4"), Grace: time.Second, FixedGrace: true}, 13 * time.Second, 33},
		{Plan{VUs: 40, Timer: pace.Runtime, Pacer: pacer(t, "constant:4")}, 12 * time.Second, 29},
		// 3 callers, which begin at 0, 4.9 and 9.8 s
		{Plan{VUs: 3, Grace: time.Second}, 14700 * time.Millisecond, 9},
		{Plan{VUs: 3, Grace: time.Second, FixedGrace: true}, 13 * time.Second, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			tt.plan.Duration = 12 * time.Second
			start := time.Now()
			r, err := Run(t.Context(), "slow", sleeper(4900*time.Millisecond), tt.plan)
			if err != nil {
				t.Fatal(err)
			}
			checkSum(t, r)
			if took := time.Since(start); r.Completed != tt.done || r.Dropped > 0 || took.Round(100*time.Millisecond) != tt.end.Round(100*time.Millisecond) {
				t.Errorf("%+v: %d completed, %d never started, in %v; want %d in %v", tt.plan, r.Completed, r.Dropped, took, tt.done, tt.end)
			}
		})
	}
}

// Window and grace end on time, even between the seconds at which progress is reported.
func TestPartsOfASecond(t *testing.T) {
	never := Func(func(ctx context.Context) (Outcome, error) { <-ctx.Done(); return Outcome{}, ctx.Err() })
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var told []time.Duration
		_, err := Run(t.Context(), "never", never, Plan{VUs: 1, Duration: 2500 * time.Millisecond, Grace: 300 * time.Millisecond,
			Progress: func(p Progress) { told = append(told, p.Elapsed) }})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 2800*time.Millisecond {
			t.Errorf("took %v, want the window of 2.5 s and the grace of 0.3 s", took)
		}
		if len(told) < 2 || told[0] != time.Second || told[1] != 2*time.Second {
			t.Errorf("progress at %v, want 1 s, 2 s and at the ends", told)
		}
	})
}

// A stuckTarget's VUs take their time to heed the end of a run.
type stuckTarget struct {
	late            time.Duration
	doing, closed   atomic.Int64
	closedWhileBusy atomic.Bool
}

func (s *stuckTarget) NewVU(context.Context, int) (VU, error) { return s, nil }

func (s *stuckTarget) Do(ctx context.Context) (Outcome, error) {
	s.doing.Add(1)
	defer s.doing.Add(-1)
	<-ctx.Done()
	time.Sleep(s.late)
	return Outcome{}, ctx.Err()
}

func (s *stuckTarget) Close() error {
	s.closed.Add(1)
	if s.doing.Load() > 0 {
		s.closedWhileBusy.Store(true)
	}
	return nil
}

// A VU is not closed while it still does an iteration, which it need not expect, and
// the run does not wait for it.
func TestCloseAfterAStuckIteration(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			target := &stuckTarget{late: late}
			start := time.Now()
			if _, err := Run(t.Context(), "stuck", target, Plan{VUs: 2, Duration: time.Second}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > time.Second+abandonAfter {
				t.Errorf("%v late: the run took %v", late, took)
			}
			time.Sleep(late)
			synctest.Wait()
			if target.closed.Load() != 2 || target.closedWhileBusy.Load() {
				t.Errorf("%v late: %d of 2 closed, one during an iteration: %v", late, target.closed.Load(), target.closedWhileBusy.Load())
			}
		})
	}
}

// A VU that ignores its context cannot hold up the run; the session waits for it.
func TestStuckIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := Func(func(context.Context) (Outcome, error) { <-release; time.Sleep(time.Millisecond); return Outcome{}, nil })
		s, err := Open(t.Context(), "stuck", stuck, 2)
		if err != nil {
			t.Fatal(err)
		}
		plan := Plan{VUs: 2, Duration: 10 * time.Millisecond, Grace: 10 * time.Millisecond}
		r, err := s.Run(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		checkSum(t, r)
		if r.Unfinished != 2 {
			t.Errorf("unfinished %d, want 2", r.Unfinished)
		}
		if _, err := s.Run(t.Context(), plan); err == nil {
			t.Error("a session with a stuck VU ran again")
		}
		close(release)
		if r, err = s.Run(t.Context(), plan); err != nil || r.Completed == 0 {
			t.Errorf("the session did not recover: %v, %v", r, err)
		}
	})
}

func TestTimeoutAndErrorKinds(t *testing.T) {
	r := inBubble(t, sleeper(time.Second), Plan{VUs: 2, Duration: time.Second, Grace: DefaultGrace, Timeout: 100 * time.Millisecond})
	if r.Errored[errkind.Timeout] != 20 || r.Completed != 0 {
		t.Errorf("errored %v, completed %d; want 20 timeouts", r.Errored, r.Completed)
	}
	refused := Func(func(context.Context) (Outcome, error) {
		time.Sleep(time.Millisecond)
		return Outcome{}, &errkind.Error{Kind: errkind.Of(syscall.ECONNREFUSED), Err: errors.New("nobody there")}
	})
	r = inBubble(t, refused, Plan{VUs: 1, Iterations: 5})
	if r.Errored[errkind.Refused] != 5 || r.Examples[errkind.Refused] != "nobody there" {
		t.Errorf("errored %v, examples %v", r.Errored, r.Examples)
	}
}

func TestWrongAnswersAreNoThroughput(t *testing.T) {
	var n atomic.Int64
	target := Func(func(context.Context) (Outcome, error) {
		time.Sleep(time.Millisecond)
		return Outcome{Status: 503, Failed: n.Add(1)%4 != 0, BytesIn: 10, BytesOut: 20}, nil
	})
	r := inBubble(t, target, Plan{VUs: 1, Iterations: 100})
	if r.Completed != 25 || r.Failed != 75 || r.ThroughputPerSec != 250 || r.Statuses[503] != 100 {
		t.Errorf("completed %d, failed %d, %v/s, statuses %v", r.Completed, r.Failed, r.ThroughputPerSec, r.Statuses)
	}
	if r.BytesIn != 1000 || r.BytesOut != 2000 || r.FailedService.Count() != 75 {
		t.Errorf("bytes %d in, %d out, %d failed service times", r.BytesIn, r.BytesOut, r.FailedService.Count())
	}
}

func TestInterruptedRunKeepsItsPartialResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2005*time.Millisecond)
		defer cancel()
		r, err := Run(ctx, "test", sleeper(10*time.Millisecond), Plan{VUs: 1, Duration: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		checkSum(t, r)
		if r.Completed != 200 || r.Unfinished != 1 || r.Stopped != Interrupted || r.ErroredTotal() != 0 {
			t.Errorf("completed %d, unfinished %d, errored %v, stopped by %s", r.Completed, r.Unfinished, r.Errored, r.Stopped)
		}
	})
}

func TestSessionServesSeveralRuns(t *testing.T) {
	var made atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), "test", counting{&made, sleeper(10 * time.Millisecond)}, 2)
		if err != nil {
			t.Fatal(err)
		}
		var results []*Result
		for range 3 {
			r, err := s.Run(t.Context(), Plan{VUs: 2, Duration: time.Second, Grace: DefaultGrace})
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		sum := Merge(results...)
		checkSum(t, sum)
		if made.Load() != 2 || sum.Completed != 600 || sum.ThroughputPerSec != 200 || sum.Duration != 3*time.Second {
			t.Errorf("made %d VUs, completed %d at %v/s in %v", made.Load(), sum.Completed, sum.ThroughputPerSec, sum.Duration)
		}
	})
}

type counting struct {
	made *atomic.Int64
	Func
}

func (c counting) NewVU(ctx context.Context, id int) (VU, error) {
	c.made.Add(1)
	return c.Func, nil
}

func TestVUsThatCannotBeMade(t *testing.T) {
	if _, err := Run(t.Context(), "broken", broken{}, Plan{VUs: 3, Iterations: 1}); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) NewVU(context.Context, int) (VU, error) { return nil, errBroken }

func TestPlanMistakesAllAtOnce(t *testing.T) {
	err := Plan{Think: -1, Pacer: pace.Constant(1), Timer: "sundial"}.Validate()
	if len(setting.Mistakes(err)) != 4 {
		t.Errorf("mistakes: %v\nwant four: vus, duration or iterations, think, timer", err)
	}
	var p Plan
	if setting.Defaults(&p); p.Grace != DefaultGrace {
		t.Errorf("a grace that is not given is %v, want %v", p.Grace, DefaultGrace)
	}
	if p.MaxUnfinished != finding.Incomplete.Refuses {
		t.Errorf("the default share of missing iterations is %v, and %v where no plan says it", p.MaxUnfinished, finding.Incomplete.Refuses)
	}
	if err := (Plan{VUs: MaxVUs, Iterations: 1}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (Plan{VUs: MaxVUs + 1, Iterations: 1}).Validate(); err == nil {
		t.Error("more than MaxVUs are accepted")
	}
}

// The precise timer in real time: it never starts an iteration early, and the
// counts are exact. No speed is asserted.
func TestPreciseTimer(t *testing.T) {
	var earliest time.Duration
	started := 0
	plan := Plan{VUs: 4, Pacer: pace.Constant(400), Duration: time.Second, Grace: DefaultGrace, Sample: func(s Sample) {
		earliest = min(earliest, s.Start-s.Due)
		started++
	}}
	r, err := Run(t.Context(), "noop", Func(func(context.Context) (Outcome, error) { return Outcome{}, nil }), plan)
	if err != nil {
		t.Fatal(err)
	}
	checkSum(t, r)
	if r.Planned != 400 || started != int(r.Completed) || started == 0 {
		t.Errorf("planned %d, completed %d, %d samples; want 400 and a sample of each", r.Planned, r.Completed, started)
	}
	if earliest < 0 {
		t.Errorf("an iteration started %v before it was due", -earliest)
	}
	goleak.VerifyNone(t)
}

func hasWarning(r *Result, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func BenchmarkClosedIteration(b *testing.B) {
	noop := Func(func(context.Context) (Outcome, error) { return Outcome{}, nil })
	for name, progress := range map[string]func(Progress){"alone": nil, "watched": func(Progress) {}, "counted": func(p Progress) { p.Counts() }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			if _, err := Run(b.Context(), "noop", noop, Plan{VUs: 1, Iterations: int64(b.N), Progress: progress}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

type localTarget struct{ Func }

func (localTarget) Local() {}

// The CPU and the waits of a target in this process are its own: nothing is
// said about the generator.
func TestLocalTargetIsNotTheGenerator(t *testing.T) {
	busy := Func(func(context.Context) (Outcome, error) {
		for start := time.Now(); time.Since(start) < 100*time.Microsecond; {
		}
		return Outcome{}, nil
	})
	plan := Plan{VUs: 20, Duration: 100 * time.Millisecond, Grace: DefaultGrace}
	remote, err := Run(t.Context(), "busy", busy, plan)
	if err != nil {
		t.Fatal(err)
	}
	local, err := Run(t.Context(), "busy", localTarget{busy}, plan)
	if err != nil {
		t.Fatal(err)
	}
	if remote.GeneratorShare == nil || remote.Local {
		t.Error("a remote target has no generator's share")
	}
	if local.GeneratorShare != nil || !local.Local || hasWarning(local, "generator_busy") || hasWarning(local, "generator_share") {
		t.Errorf("a local target has warnings %v about the generator", local.Warnings)
	}
}
