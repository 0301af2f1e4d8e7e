package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"contend/internal/perf"
	"contend/load"
	"contend/stat"
	"contend/trial"
)

// How row k drives its servers.
const (
	timedPairs  = 20
	timedBlock  = 50 * time.Millisecond
	timedWarmup = 200 * time.Millisecond
	// mostLost is the share of the throughput that counting may take from the blocks
	// in which time is taken.
	mostLost = 0.005
)

// undisturbed shows what counting does to the blocks in which time is taken: the
// throughput of a server whose events are counted after each block, relative to
// one just like it that is driven in the same way and never counted.
func undisturbed(ctx context.Context, b *bench) error {
	if err := canCount(); err != nil {
		return err
	}
	var logs []float64
	for n := 0; n < b.rounds && ctx.Err() == nil; n++ {
		seed := b.seed + uint64(5000+n)
		s := b.iterating(0)
		pairs, err := withAndWithoutCounting(ctx, s.arm(baseline, seed), s.arm(candidate, seed), rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			b.note("round %d of %d: failed: %v", n+1, b.rounds, err)
			continue
		}
		logs = append(logs, stat.Center(pairs))
		b.note("round %d of %d: ratio %.4f", n+1, b.rounds, math.Exp(stat.Center(pairs)))
	}
	e, err := stat.Paired(logs, 0.95)
	if err != nil {
		return err
	}
	b.show("k", figure{"throughput beside counting ÷ without", fmt.Sprintf("≥ %.3f", 1-mostLost),
		fmt.Sprintf("%s, %d of %d rounds", interval(e), e.Rounds, b.rounds), e.Bounded() && e.Low >= 1-mostLost})
	return ctx.Err()
}

// withAndWithoutCounting drives two arms by turns, in blocks in which time is taken and after
// each of them one in which events of the counted arm are counted. It returns the
// log-ratios of the throughput, counted ÷ uncounted, one for each pair.
func withAndWithoutCounting(ctx context.Context, never, always trial.Arm, random *rand.Rand) (logs []float64, err error) {
	err = trial.Alive(ctx, []trial.Arm{uncounted(never), always}, random, func(running []trial.Arm) error {
		var driven [2]timed
		for i, arm := range running {
			if driven[i], err = openTimed(ctx, arm); err != nil {
				return err
			}
			defer driven[i].session.Close()
		}
		order := random.Perm(len(driven))
		for range timedPairs {
			var perSec [2]float64
			for _, i := range order {
				if perSec[i], err = driven[i].block(ctx); err != nil {
					return err
				}
			}
			logs = append(logs, math.Log(perSec[1]/perSec[0]))
			slices.Reverse(order)
		}
		return nil
	})
	return logs, err
}

// uncounted is the arm with counters that count nothing.
func uncounted(arm trial.Arm) trial.Arm {
	start := arm.Start
	arm.Start = func(ctx context.Context, s trial.Setup) (*trial.Live, error) {
		live, err := start(ctx, s)
		if err == nil {
			live.Counters = func(...perf.Event) (trial.Counters, error) { return noCounters{}, nil }
		}
		return live, err
	}
	return arm
}

type noCounters struct{}

func (noCounters) Start() error               { return nil }
func (noCounters) Stop() (perf.Counts, error) { return perf.Counts{}, nil }
func (noCounters) Close() error               { return nil }

// A timed arm is alive and warm.
type timed struct {
	live    *trial.Live
	session *load.Session
}

func openTimed(ctx context.Context, arm trial.Arm) (t timed, err error) {
	if t.live, err = arm.Launch(ctx, trial.Setup{}); err != nil {
		return t, err
	}
	if t.session, err = t.live.Open(ctx, countedVUs); err != nil {
		return t, err
	}
	if _, err = t.live.Drive(ctx, t.session, timedPlan(timedWarmup)); err != nil {
		t.session.Close()
	}
	return t, err
}

func timedPlan(length time.Duration) load.Plan {
	return load.Plan{VUs: countedVUs, Duration: length, Grace: trial.Grace, Timeout: 5 * time.Second}
}

// block returns the throughput while time was taken.
func (t timed) block(ctx context.Context) (perSec float64, err error) {
	cell, err := t.live.Settled(ctx, t.session, timedPlan(timedBlock))
	switch {
	case err != nil:
		return 0, err
	case cell.Completed == 0 || cell.Wrong() > 0:
		return 0, fmt.Errorf("%d right and %d wrong answers", cell.Completed, cell.Wrong())
	case cell.Uncounted != "":
		return 0, fmt.Errorf("nothing was counted: %s", cell.Uncounted)
	}
	return cell.ThroughputPerSec, nil
}
