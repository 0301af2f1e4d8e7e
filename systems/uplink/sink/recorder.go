package sink

import (
	"time"

	"contend/hist"
	"contend/load"
	"contend/systems/uplink/message"
)

// A recorder counts messages while they come in. Its times are offsets from the
// creation of the first uplink.
type recorder struct {
	Result
	counts  load.Counts // of the uplinks; an iteration is a distinct one
	done    load.Outcome
	entries int64 // of all challenges
	hasLag  bool

	received       time.Time // the first uplink
	response       time.Duration
	earliest, last time.Duration // creation, reception
}

func newRecorder() recorder {
	t := recorder{counts: load.NewCounts(), Result: Result{copies: hist.New()}}
	t.counts.Course = load.NewCourse(0)
	return t
}

// note counts a message of so many bytes.
func (t *recorder) note(s solution, u *message.Upstream, size int, at time.Time) {
	t.counts.BytesIn += int64(size)
	t.entries += int64(len(u.Challenge))
	t.LongestChallenge = max(t.LongestChallenge, len(u.Challenge))
	if t.FirstChallenge == 0 {
		t.FirstChallenge = len(u.Challenge)
	}
	if u.Outdated {
		t.Outdated++
	}
	switch s.finding {
	case foreign:
		t.Foreign++
	case unsolved:
		t.Unsolved++
	case other:
		t.Other++
	case join:
		t.Joins++
	case endMarker:
		t.Markers++
	case stamped:
		t.uplink(s, size, at)
	}
}

// uplink counts a solved uplink of the generator. Clocks that disagree move
// neither the beginning nor the end of the test.
func (t *recorder) uplink(s solution, size int, at time.Time) {
	response := at.Sub(s.stamp.At)
	plausible := response >= 0 && response < hist.Highest
	if t.Uplinks == 0 {
		t.received = at
		if plausible {
			t.response = response
		}
	}
	end := at.Sub(t.received) + t.response
	due := end - response
	if plausible {
		t.earliest = min(t.earliest, due)
	}
	t.last = end
	t.Uplinks++
	t.Bytes += int64(size)
	if s.arrival == duplicated {
		t.Duplicated++
		t.copies.Record(response)
		return
	}
	if s.arrival == reordered {
		t.Reordered++
	}
	t.Distinct++
	t.counts.Course.At(due).Planned++
	t.counts.Record(load.Iteration{Due: due, Start: due + s.stamp.Lag}, end, &t.done, nil)
	t.hasLag = t.hasLag || s.stamp.HasLag
}
