package experiment

import (
	"strings"
	"testing"
	"time"

	"contend/load"
	"contend/stat"
	"contend/trial"
)

// A call costs the server 10 µs, and the candidate's guard 0.4 µs more than the
// baseline's: 4%. Anything measured beyond that must be reported.
func TestTheBoundSaysWhatWasMeasuredBeyondIt(t *testing.T) {
	busiest := trial.Cell{Result: &load.Result{Duration: time.Second, Counts: load.Counts{Ops: 100_000}, Cost: load.Cost{Server: &load.Usage{CPUSec: 1}}}}
	for _, c := range []struct {
		low, high float64
		beyond    bool
	}{{0.80, 0.95, true}, {0.80, 0.97, false}, {0.97, 1.03, false}, {1.05, 1.10, true}} {
		b := bound{
			base: GuardCost{CPU: 10, Call: 10, Wall: 10}, cand: GuardCost{CPU: 410, Call: 300, Wall: 300},
			GuardedCall: GuardedCall{Busy: busiest, Alone: 50 * time.Microsecond},
			measured:    stat.Effect{Ratio: (c.low + c.high) / 2, Low: c.low, High: c.high, Confidence: 0.95, Rounds: 8},
		}
		text := strings.Join(b.sentences("inputq", "mutex"), "\n")
		if !strings.Contains(text, "at most 4.0%, if it costs there") {
			t.Errorf("no bound of 4%% in\n%s", text)
		}
		if strings.Contains(text, "which is more") != c.beyond {
			t.Errorf("[%v, %v]: said to be beyond 4%%: %v\n%s", c.low, c.high, !c.beyond, text)
		}
	}
}
