package trial

import (
	"time"

	"contend/internal/perf"
	"contend/why"
)

// DiagnosisTakes is about how long the diagnosis of so many arms takes, where answers take much less than a
// block and programs tell of themselves, which those in Go do: where this process may not be sampled they
// profile themselves.
func DiagnosisTakes(arms int, d Design) time.Duration {
	s, err := perf.SampleOwn()
	if err == nil {
		_ = s.Close()
	}
	return diagnosisTakes(arms, d, err != nil)
}

// diagnosisTakes adds up that each arm is started and warmed up in each round, and driven in blocks after
// their lead-ins: one as it is, those that are sampled, one that is traced and one between snapshots.
func diagnosisTakes(arms int, d Design, byThemselves bool) time.Duration {
	const startAndStop, snapshots = 100 * time.Millisecond, 50 * time.Millisecond
	leadIn := lengthen(sampledBlock, 0, 1).leadIn
	sampled := sampledPairs * (leadIn + sampledBlock)
	if byThemselves {
		sampled = itsPairs * (leadIn + itsProfile*time.Second + itsMargin)
	}
	level := d.Warmup + sampled + 3*(leadIn+sampledBlock) + snapshots
	return why.LeastRounds * time.Duration(arms) * (startAndStop + time.Duration(max(1, len(d.Levels)))*level)
}

// foretold has progress say how long a diagnosis still takes: as expected until its first round is done, and then as
// long as before for each part of it, as nobody knows what thousands of threads or a slow start take.
func foretold(observe func(Progress), expected time.Duration) func(Progress) {
	if observe == nil {
		return nil
	}
	began := time.Now()
	return func(p Progress) {
		elapsed := time.Since(began)
		p.Left = max(time.Second, expected-elapsed)
		if p.Done >= 1./why.LeastRounds {
			p.Left = time.Duration(float64(elapsed) * (1 - p.Done) / p.Done)
		}
		observe(p)
	}
}
