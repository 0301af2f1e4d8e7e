package simulate

import (
	"math/rand/v2"
	"testing"

	"contend/history/change"
)

// scattered are log-ratios of rounds, with the mean 0.
func scattered(spread float64) []float64 {
	random := rand.New(rand.NewPCG(1, 1))
	var all []float64
	for range 100 {
		r := spread * random.NormFloat64()
		all = append(all, r, -r)
	}
	return all
}

// 64 rounds that differ by 2% have a standard error of 0.25%. The command shows 1,000 histories of each kind.
func TestHistories(t *testing.T) {
	times := History{Commits: 40, Rounds: scattered(0.02), PerCommit: 64, Build: [2]float64{0.002, 0.004}, Drift: 0.01, Options: change.Times()}
	counts := History{Commits: 40, Build: [2]float64{0.0001, 0.0003}, Jitter: 0.05, Options: change.Counts()}
	jittering := counts
	jittering.Build = [2]float64{0.0005, 0.0005}
	with := func(h History, moved, step float64) History {
		h.Moved, h.Step, h.At = moved, step, 30
		return h
	}
	const histories = 50
	for _, tt := range []struct {
		name             string
		History          History
		within           int // commits in which a step is found
		least, mostFalse int
	}{
		{"times", with(times, 0, 0), 1, 0, 4},
		{"times, another machine", with(times, 0.01, 0), 1, 0, 4},
		{"times, a step of 2%", with(times, 0, 0.02), 3, 45, 4},
		{"times, 2% less", with(times, 0, -0.02), 3, 45, 4},
		{"counts", with(counts, 0, 0), 1, 0, 4},
		{"counts, a step of 0.5%", with(counts, 0, 0.005), 1, 48, 4},
		{"counts that jitter", with(jittering, 0, 0), 1, 0, 4},
		{"counts that jitter, a step of 0.5%", with(jittering, 0, 0.005), 1, 45, 4},
	} {
		told := Histories(tt.History, histories, 1)
		t.Logf("%s: %+v", tt.name, told)
		if got := told.Within[tt.within-1]; got < tt.least || got > histories || told.False > tt.mostFalse {
			t.Errorf("%s: found in %d of %d, at least %d wanted; %d false alerts, at most %d", tt.name, got, histories, tt.least, told.False, tt.mostFalse)
		}
	}
}
