package load

import (
	"context"
	"math"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"contend/errkind"
	"contend/finding"
	"contend/pace"
)

// class is what a script lets become of an iteration.
type class int

const (
	right    class = iota // answered rightly
	wrong                 // answered wrongly
	broken_               // ends with an error
	cut                   // was in flight when the run ended
	overtime              // ran into its timeout
	classes
)

// A script drives iterations whose ends it decides itself, as VUs of goroutines
// or as event loops, and keeps its own account of them.
type script struct {
	loops int
	plan  Plan
	draw  func() (time.Duration, class) // of an iteration: how long it takes, and its end
	stuck int                           // this one, by number, ends with the bubble only
	free  chan struct{}                 // the bubble's end

	base   time.Time
	mu     sync.Mutex
	begun  []time.Duration // due times, closed model
	number []int           // by turn of the open model
	ends   [classes]int64
}

func (s *script) count(c class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[c]++
}

// begin accounts for an iteration and decides its end.
func (s *script) begin(turn int, due time.Duration) (time.Duration, class, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, due)
	s.number[turn]++
	took, c := s.draw()
	return took, c, len(s.begun) == s.stuck
}

func (c class) outcome() (Outcome, error) {
	if c == broken_ {
		return Outcome{}, syscall.ECONNRESET
	}
	return Outcome{Failed: c == wrong}, nil
}

type scriptVU struct {
	*script
	due time.Duration // closed model: when the next one is
}

func (s *script) NewVU(context.Context, int) (VU, error) { return &scriptVU{script: s}, nil }

func (v *scriptVU) Do(ctx context.Context) (Outcome, error) {
	took, end, stuck := v.begin(0, v.due)
	defer func() { v.due = time.Since(v.base) + v.plan.Think }()
	if stuck {
		v.count(cut)
		<-v.free
		return Outcome{}, ctx.Err()
	}
	select {
	case <-time.After(took):
		v.count(end)
		return end.outcome()
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			v.count(overtime)
		} else {
			v.count(cut)
		}
		return Outcome{}, ctx.Err()
	}
}

func (s *script) Loops(int) (int, string) { return s.loops, "" }

func (s *script) NewLoop(_ context.Context, part LoopPart) (Loop, error) {
	return scriptLoop{s, part}, nil
}

// A scriptLoop drives one VU after another.
type scriptLoop struct {
	*script
	part LoopPart
}

func (l scriptLoop) Close() error { return nil }

func (l scriptLoop) Drive(ctx context.Context, s *Shard) error {
	wait := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	free := make([]time.Duration, s.VUs())
	for len(free) > 0 {
		it, ok := s.Next(0, free[0])
		if !ok || !wait(it.Due-s.Elapsed()) || !s.Begin(&it, s.Elapsed()) {
			return nil
		}
		took, end, _ := l.begin(l.part.Index, it.Due)
		if !wait(took) {
			l.count(cut)
			return nil
		}
		l.count(end)
		out, err := end.outcome()
		s.Finish(&it, s.Elapsed(), &out, err)
		free = append(free[1:], s.Elapsed())
	}
	return nil
}

// Every iteration that was due in the measured window is counted once, as what
// became of it, whatever the plan, the target and the end of the run: the script
// knows which it began and how they ended, the arrivals follow from the rate.
// Times are whole milliseconds, except the script's, which are off by a bit, so
// that no two events of different drivers coincide.
func TestEveryIterationIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ms := func(what string, low, high int) time.Duration {
			return time.Duration(rapid.IntRange(low, high).Draw(rt, what)) * time.Millisecond
		}
		s := &script{loops: rapid.IntRange(0, 3).Draw(rt, "loops"), number: make([]int, 3)}
		s.plan = Plan{
			VUs: rapid.IntRange(max(1, s.loops), 5).Draw(rt, "VUs"), Duration: ms("duration", 1, 200), Warmup: ms("warm-up", 0, 1) * ms("length", 1, 50) / time.Millisecond,
			Grace: ms("grace", 1, 20), Timer: pace.Runtime,
		}
		if rapid.Bool().Draw(rt, "limited") {
			s.plan.Iterations = int64(rapid.IntRange(1, 60).Draw(rt, "iterations"))
		}
		gap := ms("gap", 0, 4)
		if gap > 0 {
			s.plan.Pacer = pace.Constant(1 / gap.Seconds())
		} else {
			s.plan.Think = ms("think", 0, 5)
		}
		if s.loops == 0 && rapid.Bool().Draw(rt, "slow") {
			s.plan.Timeout = ms("timeout", 1, 20) + 1013
		}
		if s.loops == 0 {
			s.stuck = rapid.IntRange(0, 30).Draw(rt, "stuck")
		}
		step := rapid.IntRange(1, 40).Draw(rt, "step")
		n := 0
		s.draw = func() (time.Duration, class) {
			n++
			return time.Duration(n*step%30+1)*time.Millisecond + 1009, class(n * step % 3)
		}
		interrupted := ms("interrupted", 1, 300) + 500
		var r *Result
		synctest.Test(t, func(t *testing.T) {
			s.base, s.free = time.Now(), make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), interrupted)
			defer cancel()
			defer close(s.free)
			var err error
			if r, err = Run(ctx, "script", s, s.plan); err != nil {
				rt.Fatal(err)
			}
		})
		s.check(rt, r, gap, interrupted)
	})
}

// check compares the result with the script's account.
func (s *script) check(t *rapid.T, r *Result, gap, interrupted time.Duration) {
	begun, planned := int64(0), int64(0)
	counts := func(due time.Duration) bool { return due >= s.plan.Warmup && due < s.plan.windowEnd() }
	if gap == 0 {
		for _, due := range s.begun {
			if counts(due) {
				begun++
			}
		}
		planned = begun
	} else {
		for turn, n := range s.number {
			for i := range n {
				if counts(gap * time.Duration(turn+i*max(1, s.loops))) {
					begun++
				}
			}
		}
		limit := s.plan.Iterations
		if limit == 0 {
			limit = math.MaxInt64
		}
		end := min(s.plan.windowEnd(), interrupted)
		if r.Stopped == StoppedByOutage {
			end = s.plan.Warmup + r.Duration
		}
		for due := time.Duration(0); due < end && planned < limit; due += gap {
			if counts(due) {
				planned++
			}
		}
	}
	if r.Planned != planned || r.Dropped != planned-begun {
		t.Errorf("planned %d and dropped %d, want %d and %d", r.Planned, r.Dropped, planned, planned-begun)
	}
	if ended := r.Completed + r.Failed + r.ErroredTotal() + r.Unfinished; ended != begun {
		t.Errorf("%d completed, %d failed, %v errored and %d unfinished are %d, but %d began",
			r.Completed, r.Failed, r.Errored, r.Unfinished, ended, begun)
	}
	checkOverTime(t, r)
	if r.Accounted() != r.Planned {
		t.Errorf("%d are accounted for, %d planned", r.Accounted(), r.Planned)
	}
	got := [classes]int64{r.Completed, r.Failed, r.Errored[errkind.Reset], r.Unfinished, r.Errored[errkind.Timeout]}
	if s.plan.Warmup == 0 && got != s.ends {
		t.Errorf("right, wrong, broken, cut off and late are %v, want %v", got, s.ends)
	}
}

// A driver's losses are not made up for: the result says that its counts do not
// add up.
func TestALostIterationIsMissed(t *testing.T) {
	for name, pacer := range map[string]*pace.Pacer{"closed": nil, "open": pace.Constant(100)} {
		for lose, want := range map[int]bool{0: false, 3: true} {
			r, err := Run(t.Context(), "forgetful", forgetful{lose: lose}, Plan{VUs: 1, Pacer: pacer, Iterations: 10})
			if err != nil {
				t.Fatal(err)
			}
			if got := hasWarning(r, finding.Miscounted.Code); got != want || r.Planned != 10 {
				t.Errorf("%s, losing number %d: miscounted is %v, want %v; %+v", name, lose, got, want, r.Counts)
			}
		}
	}
}

// A forgetful loop begins an iteration and never says what became of it.
type forgetful struct {
	Func
	lose int
}

func (f forgetful) Loops(int) (int, string)                         { return 1, "" }
func (f forgetful) NewLoop(context.Context, LoopPart) (Loop, error) { return f, nil }
func (f forgetful) Close() error                                    { return nil }

func (f forgetful) Drive(_ context.Context, s *Shard) error {
	for n := 1; ; n++ {
		it, ok := s.Next(0, s.Elapsed())
		if !ok {
			return nil
		}
		time.Sleep(it.Due - s.Elapsed())
		if !s.Begin(&it, s.Elapsed()) {
			return nil
		}
		if n != f.lose {
			s.Finish(&it, s.Elapsed(), &Outcome{}, nil)
		}
	}
}
