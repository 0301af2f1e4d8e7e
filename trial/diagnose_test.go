package trial

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/pace"
	"contend/subject"
	"contend/why"
	"contend/why/pprof"
	"contend/why/symbol"
)

// working is a subject that uses CPU time for each answer, and one of its threads waits.
type working struct {
	answers *atomic.Int64
	each    time.Duration
	blocked []subject.Blocked
}

func (w working) Sample() (subject.Sample, error) {
	return subject.Sample{CPU: time.Duration(w.answers.Load()) * w.each}, nil
}
func (w working) Clocks() (subject.Sample, error) { return w.Sample() }
func (w working) Blocked() []subject.Blocked      { return w.blocked }
func (w working) Done() <-chan struct{}           { return nil }
func (w working) Err() error                      { return nil }

// sampling is a fake sampler of the CPU time of working in user space.
type sampling struct {
	working
	begin   int64
	opened  *atomic.Int64
	missing *perf.UnavailableError
}

func (s *sampling) Start() error {
	s.begin = s.answers.Load()
	return nil
}

func (s *sampling) Stop(r *symbol.Resolver) (*why.Samples, error) {
	samples := &perf.Samples{Period: time.Millisecond, KernelMissing: s.missing}
	used := time.Duration(s.answers.Load()-s.begin) * s.each
	samples.Processes = []perf.Process{{PID: 1, Stacks: []perf.Stack{{User: []uint64{1}, Count: uint64(used / time.Millisecond)}}}}
	return why.Resolve(samples, r), nil
}

func (s *sampling) Close() error { s.opened.Add(-1); return nil }

// workingArm answers after a time, works during each of it, and slows down while it is sampled.
func workingArm(name string, after, each time.Duration, opened *atomic.Int64, change func(*Live)) Arm {
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		w := working{new(atomic.Int64), each, slices.Repeat([]subject.Blocked{{Call: "fsync"}}, int(after/time.Millisecond/10))}
		slower := time.Duration(0)
		live := &Live{Address: name, Subject: w, Target: load.Func(func(context.Context) (load.Outcome, error) {
			time.Sleep(after + slower)
			w.answers.Add(1)
			return load.Outcome{}, nil
		})}
		live.Profile = func() (Profiler, error) {
			opened.Add(1)
			slower = after / 4
			return &sampling{working: w, opened: opened}, nil
		}
		change(live)
		return live, nil
	}}
}

func asItIs(*Live) {}

// A answers after 10 ms and works for 4 of them, B after 20 and works for 6: 2 ms more, which
// explain 5 of the 10 that it takes longer; while sampled both are slower by a quarter: 25 − 12.5 · 1.5 = 6.25.
func TestDiagnose(t *testing.T) {
	var opened atomic.Int64
	synctest.Test(t, func(t *testing.T) {
		arms := []Arm{workingArm("A", 10*time.Millisecond, 4*time.Millisecond, &opened, asItIs),
			workingArm("B", 20*time.Millisecond, 6*time.Millisecond, &opened, asItIs)}
		d, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, design(), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Answers in 12.5 ms instead of 10: 1 − 10 ÷ 12.5.
		if math.Abs(d.Overhead-0.2) > 0.02 {
			t.Errorf("sampling cost %.3g, want 0.2", d.Overhead)
		}
		if len(d.Profiles) != 2*why.LeastRounds {
			t.Fatalf("%d profiles", len(d.Profiles))
		}
		for _, arm := range []string{"A", "B"} {
			var operations int64
			var cpu time.Duration
			for _, p := range d.Profiles {
				if p.Arm == arm {
					operations, cpu = operations+p.Operations, cpu+p.CPU
				}
			}
			stacks := d.StacksOf(arm)
			if len(stacks) != 1 || len(stacks[0].List) != 1 || stacks[0].Operations != operations || (stacks[0].List[0].Time-cpu).Abs() > time.Microsecond {
				t.Errorf("stacks of %s: %+v, want one of %v in %d operations", arm, stacks, cpu, operations)
			}
		}
		trials := Trials{Arms: []string{"A", "B"}, Design: Design{Levels: []int{4}, Confidence: 0.95}, Why: d}
		trials.Derive()
		if len(d.Explanations) != 1 {
			t.Fatalf("%d explanations", len(d.Explanations))
		}
		e := d.Explanations[0]
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 0.05*want {
				t.Errorf("%s: %.4g ns, want %.4g", what, got, want)
			}
		}
		near("CPU time of A", e.CPU.BaselineValue, 4e6)
		near("more of B", e.CPU.Value, 2e6)
		near("waiting", e.Wait.Value, 6.25e6)
		if len(e.Blocked) != 1 || e.Blocked[0].Name != "fsync" {
			t.Fatalf("blocked: %+v", e.Blocked)
		}
		// One of A's threads and two of B's wait all the time: 12.5 ÷ 4 and 2 · 25 ÷ 4 ms an answer.
		near("fsync of A", e.Blocked[0].BaselineValue, 12.5e6/4)
		near("fsync of B", e.Blocked[0].CandidateValue, 2*25e6/4)
	})
	if opened.Load() != 0 {
		t.Errorf("%d samplers are still open", opened.Load())
	}
}

// Where the least rounds name no function, and nothing waits, there are further ones, as many as three minutes have room for:
// after a warm-up of 10 s each arm takes a good 11 s of a round.
func TestFurtherRounds(t *testing.T) {
	for warmup, want := range map[time.Duration]int{0: why.FurtherRounds, 10 * time.Second: why.LeastRounds + 7} {
		furtherRounds(t, warmup, want)
	}
}

func furtherRounds(t *testing.T, warmup time.Duration, want int) {
	synctest.Test(t, func(t *testing.T) {
		arms := []Arm{workingArm("A", 10*time.Millisecond, 4*time.Millisecond, new(atomic.Int64), asItIs),
			workingArm("B", 10*time.Millisecond, 4*time.Millisecond, new(atomic.Int64), asItIs)}
		design := design()
		design.Warmup = warmup
		d, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, design, nil, nil, nil)
		if err != nil || len(d.Profiles) != 2*want {
			t.Errorf("after a warm-up of %v %d profiles in %v, %v, want %d", warmup, len(d.Profiles), d.Elapsed, err, 2*want)
		}
	})
}

// naming is a fake sampler of a program in which one function works for 3 ms, and another for the rest.
type naming struct{ *sampling }

func (n naming) Stop(r *symbol.Resolver) (*why.Samples, error) {
	s, err := n.sampling.Stop(r)
	all := s.Stacks[0].Samples
	of := func(function string, samples int64) why.Stack {
		return why.Stack{Frames: []symbol.Frame{{Function: function, Package: "main", File: "/src/main.go"}}, Samples: samples}
	}
	other := all * int64(3*time.Millisecond) / int64(n.each)
	s.Stacks = []why.Stack{of("main.serve", other), of("main.add", all-other)}
	return s, err
}

// Where samples name no function, or one that differs by less than a hundredth, instructions are counted: if these differ, or are the same, there are
// no further rounds.
func TestDiagnoseCounts(t *testing.T) {
	add := func(more float64) why.Executed {
		return why.Executed{Function: "main.add", Baseline: 1000, Candidate: 1000 + more}
	}
	for _, c := range []struct {
		name   string
		works  time.Duration // of B, for an answer; 4 ms of A
		counts why.Instructions
		err    error
		called int
		rounds int
		root   float64 // instructions of main.add
	}{
		{"they differ", 4 * time.Millisecond, why.Instructions{Baseline: 1000, Candidate: 1020, Differ: []why.Executed{add(20)}}, nil, 1, why.LeastRounds, 20},
		{"they are the same", 4 * time.Millisecond, why.Instructions{Baseline: 1000, Candidate: 1000, Same: true}, nil, 1, why.LeastRounds, 0},
		{"they tell nothing", 4 * time.Millisecond, why.Instructions{Baseline: 1000, Candidate: 1020}, nil, 1, why.FurtherRounds, 0},
		{"they cannot be counted", 4 * time.Millisecond, why.Instructions{}, errors.New("no simulator"), 1, why.FurtherRounds, 0},
		{"samples name it", 6 * time.Millisecond, why.Instructions{}, nil, 0, why.LeastRounds, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			named := func(l *Live) {
				open := l.Profile
				l.Profile = func() (Profiler, error) {
					p, err := open()
					return naming{p.(*sampling)}, err
				}
			}
			arms := []Arm{workingArm("A", 10*time.Millisecond, 4*time.Millisecond, new(atomic.Int64), named), workingArm("B", 10*time.Millisecond, c.works, new(atomic.Int64), named)}
			called := 0
			d, err := Diagnose(t.Context(), arms, load.Plan{VUs: 4}, design(), nil, func(context.Context) ([]why.Instructions, error) {
				called++
				c.counts.Arm = "B"
				return []why.Instructions{c.counts}, c.err
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			trials := Trials{Arms: []string{"A", "B"}, Design: Design{Levels: []int{4}, Confidence: 0.95}, Why: d}
			trials.Derive()
			root := 0.0
			for _, r := range d.Explanations[0].Roots {
				root += r.Instructions
			}
			if called != c.called || len(d.Profiles) != 2*c.rounds || root != c.root || (d.Uncounted != "") != (c.err != nil) {
				t.Errorf("%s: counted %d times, %d profiles, %v more instructions, uncounted %q", c.name, called, len(d.Profiles), root, d.Uncounted)
			}
		})
	}
}

// In some rounds B gives no right answer while it is sampled, or while it is traced: each is driven again, up to
// 15 in all. 12 of 15 are left if 3 were empty, and at most 11 once 4 were, which is too few except for traces. B takes longer,
// so that there are no further rounds.
func TestDiagnoseDrivesEmptyRoundsAgain(t *testing.T) {
	body := aTrace(t)
	for _, c := range []struct {
		name         string
		empty        []int64 // rounds
		untold       bool    // while it is traced, not while it is sampled
		rounds       int
		explained    bool
		lastProgress string
	}{
		{"none", nil, false, 12, true, "round 12 of at most 12"},
		{"one", []int64{12}, false, 13, true, "round 13 of at most 13"},
		{"three, the last of them in a further round", []int64{1, 5, 13}, false, 15, true, "round 15 of at most 15"},
		{"one in which it is traced", []int64{3}, true, 13, true, "round 13 of at most 13"},
		{"four in which it is traced", []int64{1, 2, 3, 4}, true, 15, true, "round 15 of at most 15"},
		{"four, the last of them at the end", []int64{1, 2, 3, 15}, false, 15, false, "round 15 of at most 15"},
		{"four, after which no others help", []int64{1, 2, 4, 5}, false, 5, false, "round 5 of at most 15"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened, started atomic.Int64
			arm := func(name string, after time.Duration, change func(*Live)) Arm {
				return workingArm(name, after, 4*time.Millisecond, &opened, func(l *Live) {
					l.Inspect = inspected{new(snapping), body, nil, new(atomic.Int64), new(atomic.Int64)}
					change(l)
				})
			}
			b := arm("B", 12*time.Millisecond, func(l *Live) {
				if !slices.Contains(c.empty, started.Add(1)) {
					return
				}
				m := &muted{Target: l.Target}
				l.Target = m
				inspect, open := l.Inspect, l.Profile
				if c.untold {
					l.Inspect = muting{inspect, m}
				} else {
					l.Profile = func() (Profiler, error) { m.mute.Store(true); return open() }
				}
			})
			last := ""
			d, err := Diagnose(t.Context(), []Arm{arm("A", 10*time.Millisecond, asItIs), b}, load.Plan{VUs: 4}, design(), nil, nil, func(p Progress) {
				if last = p.Label; p.Done < 0 || p.Done > 1 {
					t.Errorf("%s: %+v", c.name, p)
				}
			})
			if err != nil || d.Failed != "" || len(d.Profiles) != 2*c.rounds || !strings.HasPrefix(last, c.lastProgress) {
				t.Fatalf("%s: %d profiles, %q, %v, the last was %q", c.name, len(d.Profiles), d.Failed, err, last)
			}
			trials := Trials{Arms: []string{"A", "B"}, Design: Design{Levels: []int{4}, Confidence: 0.95}, Why: d}
			trials.Derive()
			if explained := len(d.Explanations) == 1; explained != c.explained || trials.Undiagnosed() == explained {
				t.Errorf("%s: %d explanations, undiagnosed %v", c.name, len(d.Explanations), trials.Undiagnosed())
			}
			if c.explained && d.Explanations[0].Processors[1] == 0 {
				t.Errorf("%s: %+v", c.name, d.Explanations[0].Processors)
			}
		})
	}
}

// muted gives wrong answers from a time on.
type muted struct {
	load.Target
	mute atomic.Bool
}

func (m *muted) NewVU(ctx context.Context, n int) (load.VU, error) {
	vu, err := m.Target.NewVU(ctx, n)
	return mutedVU{vu, m}, err
}

type mutedVU struct {
	load.VU
	of *muted
}

func (v mutedVU) Do(ctx context.Context) (load.Outcome, error) {
	o, err := v.VU.Do(ctx)
	o.Failed = o.Failed || v.of.mute.Load()
	return o, err
}

// muting has wrong answers given while a trace is taken.
type muting struct {
	Inspector
	of *muted
}

func (m muting) Find(ctx context.Context) error {
	m.of.mute.Store(true)
	return m.Inspector.Find(ctx)
}

func (m muting) Snapshot(ctx context.Context) (*pprof.Snapshot, error) {
	m.of.mute.Store(false)
	return m.Inspector.Snapshot(ctx)
}

// At a rate response times do not grow in proportion to the work, so they say nothing of
// waiting.
func TestDiagnoseAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		live, err := workingArm("A", time.Millisecond, time.Millisecond, &opened, asItIs).Launch(t.Context(), Setup{})
		if err != nil {
			t.Fatal(err)
		}
		session, err := live.Open(t.Context(), 4)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for _, c := range []struct {
			pacer      *pace.Pacer
			operations int64
			known      bool
		}{{nil, 4 * 80, true}, {pace.Constant(500), 50, false}} { // in 1.25 ms each, or as many as are due
			_, p, err := live.sample(t.Context(), session, load.Plan{VUs: 4, Pacer: c.pacer, Duration: 100 * time.Millisecond}, new(symbol.Resolver), new(Diagnosis))
			if err != nil || p.Operations < c.operations-4 || p.Operations > c.operations || (p.Response > 0) != c.known {
				t.Errorf("%v: %+v, %v; want %d operations", c.pacer, p, err, c.operations)
			}
		}
	})
}

// none opens no sampler, and returns what perf.Sample returns then.
func none(err error) func() (Profiler, error) {
	return func() (Profiler, error) { return nil, err }
}

// unclocked is a subject whose clocks cannot be read.
type unclocked struct{ Subject }

func (unclocked) Clocks() (subject.Sample, error) { return subject.Sample{}, errors.New("no clock") }

// dead is a subject that has ended.
type dead struct {
	Subject
	ended chan struct{}
}

func (d dead) Done() <-chan struct{} { return d.ended }
func (d dead) Err() error            { return errors.New("exit status 7") }

// Of one that is interrupted in round 14 the thirteen before are explained.
func TestDiagnoseInterruptedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		arms := []Arm{workingArm("A", 10*time.Millisecond, 4*time.Millisecond, new(atomic.Int64), asItIs),
			workingArm("B", 10*time.Millisecond, 4*time.Millisecond, new(atomic.Int64), asItIs)}
		d, err := Diagnose(ctx, arms, load.Plan{VUs: 4}, design(), nil, nil, func(p Progress) {
			if strings.Contains(p.Label, "round 14 ") {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || d.Failed != "" || len(d.Profiles) != 2*13 {
			t.Errorf("%d profiles, %q, %v", len(d.Profiles), d.Failed, err)
		}
	})
}

func TestDiagnoseInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		arms := []Arm{workingArm("A", 10*time.Millisecond, 4*time.Millisecond, &opened, asItIs),
			workingArm("B", 10*time.Millisecond, 4*time.Millisecond, &opened, asItIs)}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		d, err := Diagnose(ctx, arms, load.Plan{VUs: 4}, design(), nil, nil, nil)
		if !errors.Is(err, ctx.Err()) || d == nil || d.Failed != "it was interrupted" || d.Profiles != nil || opened.Load() != 0 {
			t.Errorf("%+v, %v; %d samplers are still open", d, err, opened.Load())
		}
	})
}

func TestDiagnoseSaysWhatCannotBeSeen(t *testing.T) {
	refused := &perf.UnavailableError{Event: "cpu", Reason: "it is not allowed", Advice: "allow it"}
	for _, c := range []struct {
		name          string
		change        func(*Live)
		missing, fail string
	}{
		{"not at all", func(l *Live) { l.Profile = none(refused) }, "it is not allowed: allow it", ""},
		{"not in the kernel", func(l *Live) {
			open := l.Profile
			l.Profile = func() (Profiler, error) {
				p, err := open()
				p.(*sampling).missing = refused
				return p, err
			}
		}, "what the kernel did was not sampled: it is not allowed: allow it", ""},
		{"no server", func(l *Live) { l.Profile = nil }, "no process is known that is measured: compare servers", ""},
		{"a server on another machine", func(l *Live) {
			l.Subject, l.Profile, l.Counters = nil, nil, nil
			l.Find(t.Context(), "192.0.2.1:80") // of RFC 5737
		}, "192.0.2.1 is no address of this machine: measure on the machine", ""},
		{"CPU time that is not told", func(l *Live) { l.Subject = unclocked{l.Subject} }, "no clock: see `contend explain not_sampled`", ""},
		{"clocks of somebody else's server", func(l *Live) {
			l.foreign, l.Subject = unclocked{l.Subject}, nil
		}, "a process of the server ended or began meanwhile: keep it running", ""},
		{"an error", func(l *Live) { l.Profile = none(errors.New("no files")) }, "", "no files"},
		{"an end", func(l *Live) {
			ended := make(chan struct{})
			close(ended)
			l.Subject = dead{l.Subject, ended}
			l.Profile = none(os.ErrProcessDone)
		}, "", "its process died: exit status 7"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened atomic.Int64
			a := workingArm("A", 10*time.Millisecond, 4*time.Millisecond, &opened, c.change)
			b := workingArm("B", 10*time.Millisecond, 4*time.Millisecond, &opened, c.change)
			d, err := Diagnose(t.Context(), []Arm{a, b}, load.Plan{VUs: 4}, design(), nil, nil, nil)
			if c.fail != "" {
				if err != nil || d.Profiles != nil || !strings.Contains(d.Failed, ": "+c.fail) {
					t.Errorf("%s: %+v, %v", c.name, d, err)
				}
			} else if err != nil || len(d.Missing) != 1 || !strings.Contains(d.Missing[0], c.missing) {
				t.Errorf("%s: %+v, %v", c.name, d, err)
			}
			if opened.Load() != 0 {
				t.Errorf("%s: %d samplers are still open", c.name, opened.Load())
			}
		})
	}
}

// slowToLook takes 40 ms for a look at what its threads wait in.
type slowToLook struct {
	working
	looks *atomic.Int64
}

func (s slowToLook) Blocked() []subject.Blocked {
	time.Sleep(40 * time.Millisecond)
	s.looks.Add(1)
	return nil
}

// Looks at 10 and at 10 + 40 + 20·40 = 850 ms in a second.
func TestLooksRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowToLook{looks: new(atomic.Int64)}
		stop := watchBlocked(s, new(symbol.Resolver))
		time.Sleep(time.Second)
		stop()
		if n := s.looks.Load(); n != 2 {
			t.Errorf("%d looks, want 2", n)
		}
	})
}
