package guardtest_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"contend/guard/guardtest"
)

// at is a call of caller that added n and got value between start and end.
func at(caller int, n, value int64, start, end time.Duration) guardtest.Call {
	return guardtest.Call{Caller: caller, N: n, Value: value, Start: start, End: end}
}

func lost(caller int, n int64, start time.Duration) guardtest.Call {
	return guardtest.Call{Caller: caller, N: n, Start: start, End: start + 1, Err: errors.New("no answer")}
}

func TestChecks(t *testing.T) {
	for _, test := range []struct {
		name                                         string
		h                                            guardtest.History
		after                                        int64
		total, dense, monotonic, realTime, linearize bool
	}{
		{name: "nothing", total: true, dense: true, monotonic: true, realTime: true, linearize: true},
		{name: "overlapping calls in either order", after: 2,
			h:     guardtest.History{at(0, 1, 2, 0, 9), at(1, 1, 1, 1, 8)},
			total: true, dense: true, monotonic: true, realTime: true, linearize: true},
		{name: "calls that touch overlap", after: 2,
			h:     guardtest.History{at(0, 1, 2, 0, 5), at(1, 1, 1, 5, 8)},
			total: true, dense: true, monotonic: true, realTime: true, linearize: true},
		{name: "the later call got the smaller value", after: 2,
			h:     guardtest.History{at(0, 1, 2, 0, 1), at(1, 1, 1, 2, 3)},
			total: true, dense: true, monotonic: true},
		{name: "one caller went backwards", after: 2,
			h:     guardtest.History{at(0, 1, 2, 0, 1), at(0, 1, 1, 2, 3)},
			total: true, dense: true},
		{name: "a load saw the past", after: 1,
			h:     guardtest.History{at(0, 1, 1, 0, 1), at(1, 0, 0, 2, 3)},
			total: true, dense: true, monotonic: true},
		{name: "a load saw the past of its own caller", after: 1,
			h:     guardtest.History{at(0, 1, 1, 0, 1), at(0, 0, 0, 2, 3)},
			total: true, dense: true},
		{name: "the same value twice", after: 2,
			h:     guardtest.History{at(0, 1, 2, 0, 9), at(1, 1, 2, 0, 9)},
			total: true, monotonic: true, realTime: true},
		{name: "a value left out", after: 3,
			h:         guardtest.History{at(0, 1, 1, 0, 1), at(0, 1, 3, 2, 3)},
			monotonic: true, realTime: true},
		{name: "a value left out that a failed call explains", after: 3,
			h:     guardtest.History{at(0, 1, 1, 0, 1), at(0, 1, 3, 2, 3), lost(1, 1, 0)},
			total: true, dense: true, monotonic: true, realTime: true, linearize: true},
		{name: "a failed call that did not happen", after: 1,
			h:     guardtest.History{at(0, 1, 1, 0, 1), lost(1, 1, 0)},
			total: true, dense: true, monotonic: true, realTime: true, linearize: true},
		{name: "a failed call cannot explain what came before it", after: 2,
			h:     guardtest.History{at(0, 1, 2, 0, 1), lost(1, 1, 5)},
			total: true, dense: true, monotonic: true, realTime: true},
		{name: "two missing, one failed", after: 3,
			h:         guardtest.History{at(0, 1, 3, 0, 1), lost(1, 1, 0)},
			monotonic: true, realTime: true},
		{name: "an update lost", after: 1,
			h:         guardtest.History{at(0, 1, 1, 0, 9), at(1, 1, 1, 0, 9)},
			monotonic: true, realTime: true},
		{name: "value below the start", after: 1,
			h:     guardtest.History{at(0, 1, 0, 0, 1)},
			total: true, monotonic: true, realTime: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, "CheckTotal", guardtest.CheckTotal(test.h, 0, test.after), test.total)
			expect(t, "CheckDense", guardtest.CheckDense(test.h, 0), test.dense)
			expect(t, "CheckMonotonic", guardtest.CheckMonotonic(test.h), test.monotonic)
			expect(t, "CheckRealTime", guardtest.CheckRealTime(test.h), test.realTime)
			expect(t, "CheckLinearizable", guardtest.CheckLinearizable(test.h, 0, 10*time.Second), test.linearize)
		})
	}
}

func TestCheckDenseRefusesOtherAdditions(t *testing.T) {
	expect(t, "CheckDense", guardtest.CheckDense(guardtest.History{at(0, 2, 2, 0, 1)}, 0), false)
}

// linearizableHistory lets callers take turns in a random order. A turn is at time
// 10·k; each call begins after the caller's previous end and before its turn.
func linearizableHistory(t *rapid.T) guardtest.History {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	free := make([]int, rapid.IntRange(1, 5).Draw(t, "callers")) // when each caller can call
	var (
		h     guardtest.History
		value int64
	)
	for turn := 10; turn < 10*rapid.IntRange(2, 40).Draw(t, "turns"); turn += 10 {
		caller := random.IntN(len(free))
		if free[caller] >= turn {
			continue
		}
		start := free[caller] + random.IntN(turn-free[caller])
		end := turn + random.IntN(40)
		n := int64(min(1, random.IntN(4)))
		value += n
		h = append(h, at(caller, n, value, time.Duration(start), time.Duration(end)))
		free[caller] = end + 1
	}
	random.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
	return h
}

func TestLinearizableHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := linearizableHistory(t)
		for name, err := range map[string]error{
			"dense":        guardtest.CheckDense(h, 0),
			"monotonic":    guardtest.CheckMonotonic(h),
			"real time":    guardtest.CheckRealTime(h),
			"linearizable": guardtest.CheckLinearizable(h, 0, 10*time.Second),
		} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestCheckRealTimeAgainstDefinition compares the sweep with the definition, pair
// by pair.
func TestCheckRealTimeAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := linearizableHistory(t)
		if len(h) > 0 && rapid.Bool().Draw(t, "damage") {
			h[rapid.IntRange(0, len(h)-1).Draw(t, "call")].Value += rapid.Int64Range(-3, 3).Draw(t, "by")
		}
		want := true
		for _, a := range h {
			for _, b := range h {
				if a.End < b.Start && b.Value < a.Value+b.N {
					want = false
				}
			}
		}
		if err := guardtest.CheckRealTime(h); (err == nil) != want {
			t.Errorf("CheckRealTime: error %v, want none: %v", err, want)
		}
	})
}
