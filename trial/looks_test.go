package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/metric"
	"contend/setting"
	"contend/stat"
)

// noisy answers after about a time, more or less by up to a share that each process has of
// its own.
func noisy(name string, about time.Duration, share float64, seed uint64) Arm {
	random := rand.New(rand.NewPCG(seed, seed))
	return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
		took := time.Duration((1 + share*(2*random.Float64()-1)) * float64(about))
		return &Live{Address: name, Target: load.Func(func(context.Context) (load.Outcome, error) {
			time.Sleep(took)
			return load.Outcome{}, nil
		})}, nil
	}}
}

// A clear comparison ends at the first look, after 7 rounds, with a part of the level;
// one that never becomes clear, after as many as there may be, with all that is left.
func TestTrialEndsWhenDecided(t *testing.T) {
	for _, tt := range []struct {
		b       Arm
		rounds  int
		verdict stat.Verdict
	}{
		{sleeping("b", 12500*time.Microsecond), 7, stat.Slower},
		{sleeping("b", 10*time.Millisecond), 7, stat.Equivalent},
		{noisy("b", 10*time.Millisecond, 0.3, 3), 40, stat.Inconclusive},
	} {
		d := design()
		d.Rounds, d.Block = 40, 50*time.Millisecond
		trials := compareInBubble(t, d, sleeping("a", 10*time.Millisecond), tt.b)
		c := trials.Comparisons[0]
		if trials.roundsDone() != tt.rounds || c.Verdict != tt.verdict {
			t.Errorf("%s after %d rounds, want %s after %d", c.Verdict, trials.roundsDone(), tt.verdict, tt.rounds)
		}
		last := trials.Looks[len(trials.Looks)-1]
		want := spent(tt.rounds)
		if tt.rounds == 40 {
			want = 1
		}
		if last.Rounds != tt.rounds || last.Spent != want || c.Level != last.Level || last.Level > 0.05*want*1.2 {
			t.Errorf("the last look is %+v, the level of the comparison %v; want it after %d rounds, %v spent", last, c.Level, tt.rounds, want)
		}
	}
}

// A comparison with several named requests continues until a verdict on each is possible. Seven have a seventh of
// the level each: at the second look, after 8 rounds, at most 0.05/7·(8/100)^⅓ = 0.0031, and no P is below
// 2/2⁸ = 0.0078; at the third, after 10, 0.0033 and 0.0020.
func TestTrialTellsRequests(t *testing.T) {
	arm := func(name string, last time.Duration) Arm {
		var requests []load.Request
		for i := range 7 {
			requests = append(requests, load.Request{Name: fmt.Sprint("request ", i), Status: 200, Service: time.Millisecond})
		}
		requests[6].Service = last
		return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
			return &Live{Address: name, Target: load.Func(func(context.Context) (load.Outcome, error) {
				time.Sleep(6*time.Millisecond + last)
				return load.Outcome{Flow: &load.Flow{Requests: requests}}, nil
			})}, nil
		}}
	}
	d := design()
	d.Rounds, d.Block = 0, 50*time.Millisecond
	trials := compareInBubble(t, d, arm("a", time.Millisecond), arm("b", 2*time.Millisecond))
	if n, c := trials.roundsDone(), trials.Comparisons[0]; n != 10 || c.Verdict != stat.Slower || len(c.Requests) != 7 || c.Requests[0].Name != "request 6" || !c.Requests[0].Differs() {
		t.Errorf("%s after %d rounds: %+v", c.Verdict, n, c.Requests)
	}
}

// Rounds of 2·2·(50+2.5) ms: in 5 s fit 23 of 210 ms, and the last look, at no planned
// number, spends what is left. An hour is for 1000 at most.
func TestDurationBoundsATrial(t *testing.T) {
	d := design()
	d.Rounds, d.Block, d.Duration = 0, 50*time.Millisecond, 5*time.Second
	a := sleeping("a", 10*time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		trials, err := Compare(t.Context(), []Arm{a, noisy("b", 10*time.Millisecond, 0.3, 3)}, load.Plan{VUs: 4}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if took, done := time.Since(began), trials.roundsDone(); took > d.Duration || done < 18 || done > 23 {
			t.Errorf("%d rounds in %v", done, took)
		}
		if last := trials.Looks[len(trials.Looks)-1]; last.Rounds != trials.roundsDone() || last.Spent != 1 {
			t.Errorf("the last look is %+v", last)
		}
	})
	d.Duration = time.Second
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		trials, err := Compare(t.Context(), []Arm{a, noisy("b", 10*time.Millisecond, 0.3, 3)}, load.Plan{VUs: 4}, d, nil)
		mistake := (*setting.Mistake)(nil)
		if !errors.As(err, &mistake) || trials != nil || time.Since(began) > d.Duration {
			t.Fatalf("%v after %v, %+v", err, time.Since(began), trials)
		}
		if text := mistake.Error(); !strings.Contains(text, "duration is 1s; expected at least 2s: 6 rounds or more, of 200 ms each here, with a tenth to spare, rounded up") {
			t.Error(text)
		}
	})
}

// A time that is too short for a verdict does not matter if no verdict is possible: with its warm-ups a round takes
// over 0.6 s, and six do not fit into 1.5 s.
func TestNothingRightInAnyTime(t *testing.T) {
	d := design()
	d.Rounds, d.Block, d.Warmup, d.Duration = 0, 50*time.Millisecond, 200*time.Millisecond, 5*time.Second
	wrong := funcArm("b", func(context.Context) (load.Outcome, error) {
		time.Sleep(10 * time.Millisecond)
		return load.Outcome{Failed: true, Status: 404}, nil
	})
	trials := compareInBubble(t, d, sleeping("a", 10*time.Millisecond), wrong)
	if c := trials.Comparisons[0]; trials.roundsDone() != 1 || !c.Reason.Is(finding.Errors) {
		t.Errorf("%v after %d rounds", c.Reason, trials.roundsDone())
	}
}

// The first warm-up shows that answers of 6 s take rounds of minutes; some end within what is then allowed.
func TestTooShortForSlowAnswers(t *testing.T) {
	d := NewDesign()
	d.Metrics, d.Duration = []metric.Name{metric.Throughput}, 10*time.Second
	arms := []Arm{sleeping("a", 6*time.Second), sleeping("b", 6*time.Second)}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		trials, err := Compare(t.Context(), arms, load.Plan{VUs: 10}, d, nil)
		if err != nil || trials.TimeUp == nil {
			t.Fatalf("%+v, %v", trials, err)
		}
		c := trials.Comparisons[0]
		if took := time.Since(began); took > 20*time.Second || c.Verdict != stat.Inconclusive || !strings.HasPrefix(c.Reason.Text, "responses take 6.00 s: 10s has no room for 6 rounds or more, of ") || c.TimeNeeded != trials.TimeUp.Needs {
			t.Errorf("%+v after %v", c, took)
		}
		d.Duration = trials.TimeUp.Needs
		if trials, err = Compare(t.Context(), arms, load.Plan{VUs: 10}, d, nil); err != nil || trials.roundsDone() < d.leastRounds() {
			t.Errorf("within %v: %v", d.Duration, err)
		}
	})
}

// A server that serves one connection leaves the others in flight until the timeout, so no round fits into the time. The reason is the
// starved connections, which more time does not help.
func TestStarvedInAnyTime(t *testing.T) {
	one := func(name string) Arm {
		var serves atomic.Bool
		return funcArm(name, func(ctx context.Context) (load.Outcome, error) {
			if !serves.CompareAndSwap(false, true) {
				<-ctx.Done()
				return load.Outcome{}, ctx.Err()
			}
			defer serves.Store(false)
			time.Sleep(time.Millisecond)
			return load.Outcome{}, nil
		})
	}
	d := NewDesign()
	d.Metrics, d.Duration = []metric.Name{metric.Throughput}, 20*time.Second
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		trials, err := Compare(t.Context(), []Arm{one("a"), one("b")}, load.Plan{VUs: 10, Timeout: 10 * time.Second}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c := trials.Comparisons[0]; c.Verdict != stat.Invalid || !c.Reason.Is(finding.Starved) || c.TimeNeeded != 0 || time.Since(began) > 12*time.Second {
			t.Errorf("%s, %v, after %v", c.Verdict, c.Reason, time.Since(began))
		}
	})
}

// The least duration of a comparison of two arms is known beforehand: 6 rounds of two
// blocks at each level in each pair, and a tenth.
func TestTooShortBeforeItBegins(t *testing.T) {
	d := NewDesign()
	for _, tt := range []struct {
		levels []int
		block  time.Duration
		short  time.Duration
		enough time.Duration
		want   string
	}{
		{[]int{1, 10}, time.Second, 40 * time.Second, 48 * time.Second, "at least 1m: 6 rounds or more, of 8.00 s each here, with a tenth to spare, rounded up"}, // 1.1·6·2·2·2·1 s = 52.8 s
		{[]int{1}, 550 * time.Millisecond, 13 * time.Second, 14 * time.Second, "at least 15s: 6 rounds or more, of 2.20 s each"},                                 // 6·2·2·0.55 s = 13.2 s; 1.1 · that = 14.52 s
	} {
		d.Levels, d.Block, d.Pairs, d.Duration = tt.levels, tt.block, 2, tt.short
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
		d.Duration = tt.enough
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// A comparison ends within its time, whatever its servers do. Where nothing else is asked that is a minute. Servers that
// wait most of a response are driven at once from the second round on: with responses of 1 s a round is 2 s of warm-ups and
// 1 + 4·1 + 1 s, and the first, one after the other, 14 s, so that six end in 54 s. Without knowing their CPU time
// they take 14 s each, which the first warm-up shows to be too long.
func TestComparisonEndsInTime(t *testing.T) {
	for _, tt := range []struct {
		response time.Duration
		sampled  bool
		least    int // rounds; 0: it is too short for any
	}{
		{10 * time.Millisecond, false, 6},
		{600 * time.Millisecond, true, 6},
		{600 * time.Millisecond, false, 6},
		{time.Second, true, 6},
		{time.Second, false, 0},
		{5 * time.Second, true, 0},
	} {
		d := design()
		d.Rounds, d.Block, d.Warmup, d.Precision, d.Pairs = 0, 50*time.Millisecond, 100*time.Millisecond, 1e-9, 2
		synctest.Test(t, func(t *testing.T) {
			arms := []Arm{noisy("a", tt.response, 0.01, 3), noisy("b", tt.response, 0.01, 4)}
			for i, start := range []func(context.Context, Setup) (*Live, error){arms[0].Start, arms[1].Start} {
				arms[i].Start = func(ctx context.Context, s Setup) (*Live, error) {
					live, err := start(ctx, s)
					if tt.sampled {
						live.Subject = &mortal{}
					}
					return live, err
				}
			}
			began := time.Now()
			trials, err := Compare(t.Context(), arms, load.Plan{VUs: 4}, d, nil)
			took := time.Since(began)
			if took > 66*time.Second+tt.response {
				t.Errorf("responses of %v took %v", tt.response, took)
			}
			if tt.least == 0 {
				if err != nil || trials.TimeUp == nil || took > 4*tt.response {
					t.Errorf("responses of %v: %v after %v", tt.response, err, took)
				}
				return
			}
			if err != nil {
				t.Fatalf("responses of %v: %v after %v", tt.response, err, took)
			}
			if trials.roundsDone() < tt.least {
				t.Errorf("responses of %v: %d rounds in %v (%v)", tt.response, trials.roundsDone(), took, err)
			}
		})
	}
}

// Whoever ends a trial may have seen its state: its last look spends no more than the
// share of its rounds.
func TestInterruptedTrialSpendsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := design()
		d.Rounds, d.Block = 20, 50*time.Millisecond
		rounds := 0
		b := sleeping("b", 12500*time.Microsecond)
		ends := Arm{Name: "b", Start: func(ctx context.Context, s Setup) (*Live, error) {
			if rounds++; rounds > 15 {
				cancel()
			}
			return b.Start(ctx, s)
		}}
		d.Precision = 1e-9 // it is never that narrow
		trials, err := Compare(ctx, []Arm{noisy("a", 10*time.Millisecond, 0.3, 1), ends}, load.Plan{VUs: 4}, d, nil)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		var at []int
		for _, look := range trials.Looks {
			at = append(at, look.Rounds)
		}
		done := trials.roundsDone()
		if last := trials.Looks[len(at)-1]; done < 15 || last.Rounds != done || last.Spent != spent(done) || !slices.IsSorted(at) {
			t.Errorf("%d rounds, looks %+v", done, trials.Looks)
		}
	})
}

// Arms that do different work are not driven on: no further round makes them equal. If a quarter of ten answers a
// round are of another kind that may be chance, which is known at the first look.
func TestTrialEndsWhereAnswersDiffer(t *testing.T) {
	d := design()
	d.Rounds, d.Metrics = 0, []metric.Name{metric.Throughput}
	d.Block = 50 * time.Millisecond
	short := page
	short.length = 13
	failing := answer{status: 500, media: "text/plain", length: 2000}
	for _, tt := range []struct {
		name   string
		others [][]answer // of the candidates
		rounds int
	}{
		{"shorter", [][]answer{{short}}, 1},
		{"of another kind", [][]answer{{failing}}, 1},
		{"a quarter of another kind", [][]answer{append(repeated(3, page), failing)}, 7},
		{"one of two", [][]answer{{short}, {page}}, 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			arms := []Arm{answering("baseline", 10*time.Millisecond, []answer{page})}
			for i, answers := range tt.others {
				arms = append(arms, answering(string(rune('A'+i)), 10*time.Millisecond, answers))
			}
			trials, err := Compare(t.Context(), arms, load.Plan{VUs: 1}, d, nil)
			if err != nil || trials.roundsDone() != tt.rounds || trials.Comparisons[0].Verdict != stat.Invalid || !trials.Comparisons[0].Reason.Is(finding.AnswersDiffer) {
				t.Errorf("%s: %v after %d rounds, want %d: %v", tt.name, trials.Comparisons[0].Reason, trials.roundsDone(), tt.rounds, err)
			}
		})
	}
}

// A pair ends after the first round if one fails so often that no further rounds make up for it, unless another pair can
// still be decided.
func TestTrialEndsWhereOneFails(t *testing.T) {
	d := design()
	d.Rounds, d.Metrics, d.MaxErrors, d.Block = 7, []metric.Name{metric.Throughput}, 0.02, 50*time.Millisecond
	for _, tt := range []struct {
		name   string
		shares []float64 // of errors, one for each candidate
		rounds int
	}{
		{"most", []float64{0.7}, 1},
		{"a fifth, all rounds at most 2%", []float64{0.2}, 1},
		{"a tenth, which six rounds may make up for", []float64{0.1}, 7},
		{"one of two", []float64{0.7, 0}, 7},
		{"both", []float64{0.7, 0.7}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			arms := []Arm{sleeping("baseline", time.Millisecond)}
			for i, share := range tt.shares {
				failed := 0.0
				arms = append(arms, funcArm(string(rune('A'+i)), func(context.Context) (load.Outcome, error) {
					time.Sleep(time.Millisecond)
					before := math.Floor(failed)
					failed += share
					return load.Outcome{Failed: math.Floor(failed) > before}, nil
				}))
			}
			trials, err := Compare(t.Context(), arms, load.Plan{VUs: 1}, d, nil)
			if c := trials.Comparisons[0]; err != nil || trials.roundsDone() != tt.rounds || c.Verdict != stat.Invalid || !c.Reason.Is(finding.Errors) {
				t.Errorf("%s: %v after %d rounds, want %d: %v", tt.name, c.Reason, trials.roundsDone(), tt.rounds, err)
			}
		})
	}
}

func TestOutline(t *testing.T) {
	short := NewDesign()
	short.Duration = 20 * time.Second
	rounds := NewDesign()
	rounds.Rounds, rounds.Levels = 6, []int{1, 10}
	both := short
	both.Rounds, both.Precision = 8, 0.01
	for _, tt := range []struct {
		d          Design
		candidates int
		want       string
	}{
		{NewDesign(), 1, "until the two clearly differ or are equal within ±2%, at most 1m"},
		{NewDesign(), 3, "until every question is answered, at most 3m"},
		{short, 1, "until the two clearly differ or are equal within ±2%, at most 20s"},
		{rounds, 1, "until every question is answered, at most 6 rounds"},
		{both, 1, "until the difference is known to ±1%, at most 8 rounds or 20s"},
	} {
		if got := tt.d.Outline(tt.candidates); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// The observer is called before each block, and at other times, which are those between blocks, with
// rounds and levels that begin and with what the rounds that have ended show.
func TestProgressBetweenBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := design()
		d.Levels = []int{2, 4}
		var blocks, between int
		var rounds []int
		trials, err := Compare(t.Context(), []Arm{sleeping("a", 10*time.Millisecond), sleeping("b", 12500*time.Microsecond)}, load.Plan{}, d, func(p Progress) {
			switch {
			case !p.Between:
				blocks++
			case p.Trials == nil:
				between++
			default:
				c := p.Trials().Comparisons[0]
				rounds = append(rounds, c.Rounds)
				if math.Abs(c.Ratio-0.8) > 0.001 || p.Done <= 0 {
					t.Errorf("after %d rounds: ratio %v, done %v", c.Rounds, c.Ratio, p.Done)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if blocks != len(trials.Blocks) || between != 2*6 || !slices.Equal(rounds, []int{1, 2, 3, 4, 5}) { // the sixth decides
			t.Errorf("told of %d blocks of %d, %d levels that began, and of the rounds %v", blocks, len(trials.Blocks), between, rounds)
		}
	})
}

// How many responses of equal length a block holds is not a matter of luck: 600 and 720 ms differ by 1.2 times, and
// by so much in each round, although a block has room for four and a half and five of them.
func TestSlowResponsesDoNotComeInBursts(t *testing.T) {
	d := design()
	d.Block, d.Warmup = 50*time.Millisecond, 100*time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		trials, err := Compare(t.Context(), []Arm{sleeping("a", 720*time.Millisecond), sleeping("b", 600*time.Millisecond)}, load.Plan{VUs: 40}, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, log := range trials.Comparisons[0].RoundLogRatios {
			if ratio := math.Exp(log); math.Abs(ratio-1.2) > 0.04 {
				t.Errorf("round %d: %.3f times", i+1, ratio)
			}
		}
	})
}

// Variants that one server serves are never driven at once: each would have the CPU time of both.
func TestOneServerIsNotDrivenAtOnce(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"http://127.0.0.1:1/a", "http://127.0.0.1:1/b", false},
		{"http://127.0.0.1:1/a", "http://127.0.0.1:2/a", true},
	} {
		var atOnce, inFlight atomic.Int64
		arm := func(name, address string) Arm {
			return Arm{Name: name, Start: func(context.Context, Setup) (*Live, error) {
				return &Live{Address: address, Subject: &mortal{}, Target: load.Func(func(context.Context) (load.Outcome, error) {
					atOnce.Store(max(atOnce.Load(), inFlight.Add(1)))
					time.Sleep(time.Second)
					inFlight.Add(-1)
					return load.Outcome{}, nil
				})}, nil
			}}
		}
		synctest.Test(t, func(t *testing.T) {
			d := design()
			d.Rounds, d.Pairs, d.Warmup = 2, 1, 100*time.Millisecond
			if _, err := Compare(t.Context(), []Arm{arm("a", tt.a), arm("b", tt.b)}, load.Plan{VUs: 1}, d, nil); err != nil {
				t.Fatal(err)
			}
		})
		if both := atOnce.Load() > 1; both != tt.want {
			t.Errorf("%s and %s at once: %v", tt.a, tt.b, both)
		}
	}
}
