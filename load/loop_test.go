package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"contend/errkind"
	"contend/pace"
)

// loopTarget drives its VUs from loops in fake time: one answer after another
// takes service, whichever VU asked.
type loopTarget struct {
	Func
	loops   int
	service time.Duration
	err     error
}

func (t loopTarget) Loops(int) (int, string) { return t.loops, "none wanted" }

func (t loopTarget) NewLoop(context.Context, LoopPart) (Loop, error) { return fakeLoop{t}, nil }

type fakeLoop struct{ loopTarget }

func (l fakeLoop) Close() error { return nil }

// Drive serves one VU after another, each in its turn.
func (l fakeLoop) Drive(ctx context.Context, s *Shard) error {
	free := make([]time.Duration, s.VUs())
	if len(free) == 0 && s.Model() == OpenModel {
		if _, ok := s.Next(0, 0); ok {
			return errors.New("an arrival for a loop without VUs")
		}
	}
	for ctx.Err() == nil && len(free) > 0 {
		it, ok := s.Next(0, free[0])
		if !ok {
			return l.err
		}
		time.Sleep(it.Due - s.Elapsed())
		if !s.Begin(&it, s.Elapsed()) {
			return l.err
		}
		time.Sleep(l.service)
		s.Finish(&it, s.Elapsed(), &Outcome{Status: 200, BytesIn: 10, BodyIn: 4}, nil)
		free = append(free[1:], s.Elapsed())
	}
	return l.err
}

// Two loops, 10 ms an answer: 100 answers a second from each.
func TestLoopsClosedModel(t *testing.T) {
	r := inBubble(t, loopTarget{loops: 2, service: 10 * time.Millisecond}, Plan{VUs: 5, Warmup: time.Second, Duration: 2 * time.Second, Grace: DefaultGrace})
	if r.Completed != 400 || r.Engine != EventLoop || r.Loops != 2 || r.Statuses[200] != 400 || r.BodyIn != 1600 || r.Stopped != StoppedByDuration {
		t.Errorf("completed %d by %d of %s, statuses %v, content %d, stopped by %s; want 400 by 2 loops",
			r.Completed, r.Loops, r.Engine, r.Statuses, r.BodyIn, r.Stopped)
	}
}

func TestLoopsThink(t *testing.T) {
	r := inBubble(t, loopTarget{loops: 1, service: 10 * time.Millisecond}, Plan{VUs: 1, Think: 40 * time.Millisecond, Duration: time.Second, Grace: DefaultGrace})
	if r.Completed != 20 { // a cycle of 50 ms
		t.Errorf("completed %d, want 20", r.Completed)
	}
}

// Arrivals are distributed by turns: each of two loops gets 50 of the 100 in a
// second, 20 ms apart, and serves them in 10 ms, so nothing is late or lost.
func TestLoopsOpenModel(t *testing.T) {
	r := inBubble(t, loopTarget{loops: 2, service: 10 * time.Millisecond}, Plan{VUs: 4, Pacer: pace.Constant(100), Duration: 5 * time.Second, Grace: DefaultGrace})
	if r.Planned != 500 || r.Completed != 500 || r.StartLag.Max() != 0 {
		t.Errorf("planned %d, completed %d, start lag up to %v; want 500, 500, 0", r.Planned, r.Completed, r.StartLag.Max())
	}
}

// Half of the arrivals can be served at 20 ms each by the only loop that has a
// VU: 100/s for 10 s are 1000, and 500 start.
func TestLoopsWithoutVUs(t *testing.T) {
	r := inBubble(t, loopTarget{loops: 3, service: 20 * time.Millisecond}, Plan{VUs: 1, Pacer: pace.Constant(100), Duration: 10 * time.Second, Grace: DefaultGrace})
	if r.Planned != 1000 || r.Completed != 500 || r.Dropped != 500 {
		t.Errorf("planned %d, completed %d, dropped %d; want 1000, 500, 500", r.Planned, r.Completed, r.Dropped)
	}
}

func TestLoopsIterations(t *testing.T) {
	r := inBubble(t, loopTarget{loops: 2, service: 10 * time.Millisecond}, Plan{VUs: 4, Iterations: 25})
	if r.Completed != 25 || r.Duration != 130*time.Millisecond { // 13 by the longer loop
		t.Errorf("completed %d in %v, want 25 in 130ms", r.Completed, r.Duration)
	}
}

func TestTheErrorOfALoopEndsTheRun(t *testing.T) {
	broken := errors.New("no more descriptors")
	_, err := Run(t.Context(), "test", loopTarget{loops: 1, err: broken}, Plan{VUs: 1, Iterations: 3})
	if !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

func TestWithoutLoops(t *testing.T) {
	r := inBubble(t, loopTarget{Func: sleeper(time.Millisecond)}, Plan{VUs: 1, Iterations: 3})
	if r.Engine != Goroutines || r.EngineReason != "none wanted" || r.Loops != 0 {
		t.Errorf("engine %s because %q with %d loops", r.Engine, r.EngineReason, r.Loops)
	}
}

// A limit of 10 ms: an answer after 10 ms is right, and one after 11 ms is not, even if
// neither a loop that looked late nor a VU that ignores its context reports it.
func TestNoAnswerIsRightBeyondTheTimeout(t *testing.T) {
	for _, test := range []struct {
		service    time.Duration
		right, out int64
	}{{10 * time.Millisecond, 6, 0}, {11 * time.Millisecond, 0, 6}} {
		deaf := Func(func(context.Context) (Outcome, error) {
			time.Sleep(test.service)
			return Outcome{Status: 200, Request: "a"}, nil
		})
		for name, target := range map[string]Target{"loop": loopTarget{loops: 1, service: test.service}, "goroutines": deaf} {
			r := inBubble(t, target, Plan{VUs: 1, Iterations: 6, Timeout: 10 * time.Millisecond})
			if r.Completed != test.right || r.Errored[errkind.Timeout] != test.out {
				t.Errorf("%s, %v: %d right, errored %v; want %d and %d", name, test.service, r.Completed, r.Errored, test.right, test.out)
			}
			if text := r.Examples[errkind.Timeout]; test.out > 0 && text != "no complete answer within 10ms" {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}

// 30 answers: 10 right, 10 of status 503, 10 that break a check, by turns.
func TestFaultsRequestsMessagesAndSamples(t *testing.T) {
	n := 0
	target := Func(func(context.Context) (Outcome, error) {
		n++
		time.Sleep(time.Millisecond)
		switch n % 3 {
		case 0:
			return Outcome{Status: 503, Failed: true, Detail: []byte("busy"), Request: "b"}, nil
		case 1:
			return Outcome{Status: 200, Failed: true, Check: `body contains "ok"`, Detail: []byte("no"), Request: "b"}, nil
		}
		return Outcome{Status: 200, Request: "a", Messages: []time.Duration{1, 2, 3}}, nil
	})
	samples := 0
	r := inBubble(t, target, Plan{VUs: 1, Iterations: 30, Sample: func(s Sample) {
		if s.End-s.Start != time.Millisecond {
			t.Errorf("sample %+v, want 1 ms", s)
		}
		samples++
	}})
	want := []Fault{{Check: `body contains "ok"`, Count: 10, Example: "no"}, {Status: 503, Count: 10, Example: "busy"}}
	if len(r.Faults) != 2 || r.Faults[0] != want[0] || r.Faults[1] != want[1] {
		t.Errorf("faults %+v, want %+v", r.Faults, want)
	}
	a, b := r.Requests["a"], r.Requests["b"]
	if a.Completed != 10 || a.Service.Count() != 10 || b.Failed != 20 || b.Completed != 0 {
		t.Errorf("requests %+v and %+v, want 10 completed and 20 failed", a, b)
	}
	if r.Message.Count() != 30 || samples != 30 {
		t.Errorf("%d messages, %d samples, want 30 of each", r.Message.Count(), samples)
	}
}
