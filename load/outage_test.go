package load

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/pace"
	"contend/stat"
)

// course is a target whose iterations take 10 ms, and are right if the time since the
// target was made is in one of the spans; otherwise they are as wrong says.
type course struct {
	began time.Time
	right []span
	wrong func(ctx context.Context) (Outcome, error)
}

type span struct{ from, to time.Duration }

func (c *course) NewVU(context.Context, int) (VU, error) { return c, nil }

func (c *course) Do(ctx context.Context) (Outcome, error) {
	at := time.Since(c.began)
	for _, s := range c.right {
		if s.from <= at && at < s.to {
			time.Sleep(10 * time.Millisecond)
			return Outcome{}, nil
		}
	}
	return c.wrong(ctx)
}

func refuses(context.Context) (Outcome, error) {
	time.Sleep(10 * time.Millisecond)
	return Outcome{}, &errkind.Error{Kind: errkind.Refused, Err: errors.New("nobody")}
}

// halves is an iteration of two requests; the second has no response.
func halves(ctx context.Context) (Outcome, error) {
	_, err := refuses(ctx)
	return Outcome{Flow: &Flow{Whole: true, Requests: []Request{{Name: "a"}, {Name: "b", Err: errkind.Refused}}}}, err
}

func breaks(context.Context) (Outcome, error) {
	time.Sleep(10 * time.Millisecond)
	return Outcome{Failed: true, Status: 503}, nil
}

func hangs(ctx context.Context) (Outcome, error) {
	<-ctx.Done()
	return Outcome{}, ctx.Err()
}

// A timeout of 2 s and a grace of 1 s: a run ends when 3 s have passed since the first
// wrong iteration after the last right one began, at the end of the next one.
func TestOutage(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name  string
		right []span
		wrong func(context.Context) (Outcome, error)
		plan  Plan // with 4 VUs, a timeout of 2 s and a grace of 1 s
		// want is how long the measured window is, to within 20 ms.
		want      time.Duration
		completed int64  // completed
		cause     string // "": the run has its time
	}{
		{"from the beginning", nil, refuses, Plan{Duration: time.Hour}, 2 * second, 0, "refused: nobody"},
		{"from the beginning, despite errors", nil, refuses, Plan{Duration: time.Hour, DespiteErrors: true}, 3 * second, 0, "refused: nobody"},
		{"refused from 5 s on", []span{{0, 5 * second}}, refuses, Plan{Duration: time.Hour}, 8 * second, 2000, "refused: nobody"},
		{"wrong from 5 s on", []span{{0, 5 * second}}, breaks, Plan{Duration: time.Hour}, 8 * second, 2000, "status 503"},
		{"iterations instead of a time", []span{{0, 5 * second}}, refuses, Plan{Iterations: 1e9}, 8 * second, 2000, "refused: nobody"},
		// Iterations that hang at 5 s and at 7 s end at 7 s and at 9 s: that is the first end after 8 s.
		{"silent from 5 s on", []span{{0, 5 * second}}, hangs, Plan{Duration: time.Hour}, 9 * second, 2000, "timeout: context deadline exceeded"},
		{"open model", []span{{0, 5 * second}}, refuses, Plan{Duration: time.Hour, Pacer: pace.Constant(100)}, 8 * second, 500, "refused: nobody"},
		// One arrival in 4 s: those at 8 s and 12 s are wrong.
		{"open model, rare", []span{{0, 5 * second}}, refuses, Plan{Duration: time.Hour, Pacer: pace.Constant(0.25)}, 12 * second, 2, "refused: nobody"},
		{"one rare wrong one", []span{{0, 5 * second}, {9 * second, time.Hour}}, refuses, Plan{Duration: 20 * second, Pacer: pace.Constant(0.25)}, 20 * second, 4, ""},
		{"in the warm-up", nil, refuses, Plan{Warmup: time.Minute, Duration: time.Hour}, 0, 0, "refused: nobody"},
		{"back after 2.9 s", []span{{0, 5 * second}, {7900 * time.Millisecond, time.Hour}}, refuses, Plan{Duration: 10 * second}, 10 * second, 4 * (500 + 210), ""},
		{"a right one now and then", []span{{0, 10 * time.Millisecond}, {2 * second, 2010 * time.Millisecond}, {4 * second, 4010 * time.Millisecond}}, breaks, Plan{Duration: 6 * second}, 6 * second, 12, ""},
		{"in the grace", []span{{0, 5 * second}}, hangs, Plan{Duration: 8900 * time.Millisecond}, 8900 * time.Millisecond, 2000, "timeout: context deadline exceeded"},
		{"without a timeout", nil, refuses, Plan{Duration: 10 * second, Timeout: -1}, 10 * second, 0, ""},
		{"a script, which has no timeout", nil, refuses, Plan{Duration: 10 * second, Timeout: -1, WholeFlows: true}, 2 * second, 0, "refused: nobody"},
		{"a script, despite errors", nil, refuses, Plan{Duration: 10 * second, Timeout: -1, WholeFlows: true, DespiteErrors: true}, 10 * second, 0, ""},
		{"a script with some responses", nil, halves, Plan{Duration: 10 * second, Timeout: -1, WholeFlows: true}, 10 * second, 0, ""},
		{"requests that are refused", nil, halves, Plan{Duration: 10 * second}, 2 * second, 0, "refused: nobody"},
		{"a script from 5 s on", []span{{0, 5 * second}}, refuses, Plan{Duration: 10 * second, Timeout: -1, WholeFlows: true}, 10 * second, 2000, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := tt.plan
			plan.VUs, plan.Grace, plan.Timer = 4, second, pace.Runtime
			if plan.Timeout = max(0, plan.Timeout); tt.plan.Timeout == 0 {
				plan.Timeout = 2 * second
			}
			var r *Result
			synctest.Test(t, func(t *testing.T) {
				var err error
				if r, err = Run(t.Context(), "test", &course{time.Now(), tt.right, tt.wrong}, plan); err != nil {
					t.Fatal(err)
				}
			})
			checkSum(t, r)
			if late := r.Duration - tt.want; late < 0 || late > 20*time.Millisecond || r.Completed != tt.completed || r.Outage != tt.cause {
				t.Errorf("%v measured, %d completed, outage %q; want %v, %d, %q", r.Duration, r.Completed, r.Outage, tt.want, tt.completed, tt.cause)
			}
			ended := r.Stopped == StoppedByOutage
			if ended != (tt.cause != "") || ended != finding.Interrupted.In(r.Warnings) {
				t.Errorf("stopped by %s, warnings %v", r.Stopped, r.Warnings)
			}
			if why := r.Refusal(stat.LowerIsFaster); ended && r.Completed > 0 && !strings.HasPrefix(why.Text, "nothing succeeded for 3s") {
				t.Errorf("refused by %v", why)
			}
		})
	}
}

// When a server stops, as the course of a run shows: 10 callers, a longest response time of 500 ms.
func TestCeased(t *testing.T) {
	const right, wrong, errored = "right", "wrong", "errored"
	for _, tt := range []struct {
		name   string
		course []string // by second; "": nothing came
		change func(*Result)
		want   time.Duration // 0: it did not
	}{
		{"refused from the third second on", []string{right, right, errored, errored, errored}, nil, 2 * time.Second},
		{"in the last second", []string{right, errored}, nil, time.Second},
		{"for a part of the last second", []string{right, errored}, func(r *Result) { r.Duration -= time.Millisecond }, 0},
		{"and back", []string{right, errored, errored, right, right}, nil, 0},
		{"and gone again", []string{right, errored, right, errored}, nil, 3 * time.Second},
		{"wrong answers", []string{right, wrong, wrong}, nil, 0},
		{"wrong answers among errors", []string{right, errored, wrong, errored}, nil, 0},
		{"from the beginning", []string{errored, errored}, nil, 0},
		{"never", []string{right, right, right}, nil, 0},
		{"all callers wait at the end", []string{right, "", ""}, func(r *Result) { r.Unfinished = 10 }, time.Second},
		{"for less than twice the longest response time", []string{right, ""}, func(r *Result) { r.Unfinished = 10 }, 0},
		{"one caller does not wait", []string{right, "", ""}, func(r *Result) { r.Unfinished = 9 }, 0},
		{"a few arrivals in the open model", []string{right, "", ""}, func(r *Result) { r.Model, r.Unfinished = OpenModel, 10 }, 0},
		{"callers that think", []string{right, "", ""}, func(r *Result) { r.Plan.Think, r.Unfinished = time.Second, 10 }, 0},
		{"one error", []string{right, "", ""}, func(r *Result) { r.Course.Intervals[2].errored(errkind.Refused) }, 0},
		{"one error of one caller", []string{right, "", ""}, func(r *Result) { r.Concurrency = 1; r.Course.Intervals[2].errored(errkind.Refused) }, time.Second},
		{"a sum of runs", []string{right, errored, errored}, func(r *Result) { r.Course = nil }, 0},
	} {
		r := &Result{Model: ClosedModel, Concurrency: 10, Duration: time.Duration(len(tt.course)) * time.Second, Counts: NewCounts()}
		r.Response.Record(500 * time.Millisecond)
		var seconds []Interval
		for _, second := range tt.course {
			seconds = append(seconds, map[string]Interval{
				right: {Completed: 20}, wrong: {Failed: 20}, errored: {Errored: map[errkind.Kind]int64{errkind.Refused: 20}}}[second])
		}
		r.Course = bySecond(seconds...)
		if tt.change != nil {
			tt.change(r)
		}
		if after, ceased := r.Ceased(); after != tt.want || ceased != (tt.want > 0) {
			t.Errorf("%s: %v, %v, want %v", tt.name, after, ceased, tt.want)
		}
	}
}

// When a server stops before the measured window, in which nothing is right: seconds of a warm-up whose longest response took
// 100 ms, then 3 s.
func TestCeasedEarly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		warmup []int64 // right answers, by second
		change func(*Result)
		after  time.Duration
		ceased bool
	}{
		{"at the end of the warm-up", []int64{20, 20}, nil, 0, true},
		{"in the middle", []int64{20, 0, 0}, nil, time.Second, true},
		{"never began", []int64{0, 0}, nil, 0, false},
		{"slow responses", []int64{20, 0}, func(r *Result) { r.Course.Intervals[0].ResponseMax = 3 * time.Second }, 0, false},
		{"slow responses and errors", []int64{20, 20}, func(r *Result) {
			r.Course.Intervals[0].ResponseMax, r.Errored[errkind.Timeout] = 3*time.Second, 10
		}, 0, true},
		{"interrupted", []int64{20, 20}, func(r *Result) { r.Stopped = Interrupted }, 0, false},
		{"a rate", []int64{20, 20}, func(r *Result) { r.Model = OpenModel }, 0, false},
		{"wrong answers", []int64{20, 20}, func(r *Result) { r.Failed = 1 }, 0, false},
		{"right answers", []int64{20, 20}, func(r *Result) { r.Completed = 1 }, 0, false},
		{"a warm-up of its own, and errors", nil, func(r *Result) { r.Plan.Warmup, r.Errored[errkind.Timeout] = time.Second, 10 }, 0, true},
		{"a warm-up of its own", nil, func(r *Result) { r.Plan.Warmup = time.Second }, 0, false},
		{"no warm-up", nil, func(r *Result) { r.Errored[errkind.Timeout] = 10 }, 0, false},
		{"a sum of runs", []int64{20, 20}, func(r *Result) { r.Course = nil }, 0, false},
	} {
		r := &Result{Model: ClosedModel, Concurrency: 10, Duration: 3 * time.Second, Counts: NewCounts()}
		var seconds []Interval
		for _, n := range tt.warmup {
			seconds = append(seconds, Interval{Completed: n, ResponseMax: 100 * time.Millisecond})
		}
		r.Course = bySecond(append(seconds, make([]Interval, 3)...)...)
		r.Course.Warmup = len(tt.warmup)
		if tt.change != nil {
			tt.change(r)
		}
		if after, ceased := r.CeasedEarly(); after != tt.after || ceased != tt.ceased {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, after, ceased, tt.after, tt.ceased)
		}
	}
}

// Runs of a session add up, but not what passes between them: the first of those of 0.9 s
// is right, and in the fifth 3 s have passed.
func TestOutageOverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), "test", &course{time.Now(), []span{{0, time.Second}}, refuses}, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		plan := Plan{VUs: 1, Duration: 900 * time.Millisecond, Timeout: 2 * time.Second, Grace: time.Second}
		for i, want := range []StopReason{StoppedByDuration, StoppedByDuration, StoppedByDuration, StoppedByDuration, StoppedByOutage} {
			r, err := s.Run(t.Context(), plan)
			if err != nil || r.Stopped != want {
				t.Errorf("run %d: stopped by %s, want %s (%v)", i, r.Stopped, want, err)
			}
			time.Sleep(time.Minute)
		}
		first := &Result{Counts: NewCounts(), Stopped: StoppedByDuration}
		last := &Result{Counts: NewCounts(), Stopped: StoppedByOutage, Outage: "refused"}
		if sum := Merge(first, last, first); sum.Stopped != StoppedByOutage || sum.Outage != "refused" {
			t.Errorf("the sum was stopped by %s %q", sum.Stopped, sum.Outage)
		}
	})
}

// A caller that aborts ends the run at once, and the result is of what was until then; so does the last one of all iterations.
func TestAbort(t *testing.T) {
	for _, plan := range []Plan{{VUs: 3, Duration: time.Minute}, {VUs: 1, Iterations: 1}, {VUs: 1, Iterations: 3, WholeFlows: true}} {
		synctest.Test(t, func(t *testing.T) {
			answered := Outcome{Flow: &Flow{Requests: []Request{{}}}}
			target := &course{began: time.Now(), wrong: func(context.Context) (Outcome, error) { return answered, &Abort{"enough"} }}
			r, err := Run(t.Context(), "x", target, plan)
			if err != nil || r.Stopped != Aborted || r.Outage != "enough" || r.Accounted() != r.Planned || time.Since(target.began) > time.Second || plan.WholeFlows && r.Planned > 1 {
				t.Errorf("%+v, %v after %v, want that it was enough", r, err, time.Since(target.began))
			}
		})
	}
}

// Requests in flight may still succeed: of ten callers one fails at once, again and again, and the others succeed
// after 5 s; one in ten arrivals fails.
func TestWhatIsInFlightMayBeRight(t *testing.T) {
	for name, plan := range map[string]Plan{
		"closed": {VUs: 10, Duration: 8 * time.Second},
		"open":   {VUs: 1000, Pacer: pace.Constant(100), Timer: pace.Runtime, Duration: 8 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			plan.Timeout, plan.Grace = 10*time.Second, 10*time.Second
			var n atomic.Int64
			r, err := Run(t.Context(), "", Func(func(context.Context) (Outcome, error) {
				if n.Add(1)%10 == 1 || n.Load() > 10 && plan.Pacer == nil {
					time.Sleep(50 * time.Millisecond)
					return Outcome{Failed: true, Status: 500}, nil
				}
				time.Sleep(5 * time.Second)
				return Outcome{}, nil
			}), plan)
			if err != nil || r.Stopped != StoppedByDuration || r.Completed == 0 {
				t.Errorf("%s: %v, stopped by %v with %d right", name, err, r.Stopped, r.Completed)
			}
		})
	}
}
