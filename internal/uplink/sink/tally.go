package sink

import (
	"time"

	"contend/hist"
	"contend/internal/uplink/message"
	"contend/load"
)

const (
	// maxSamples bounds the latencies that are kept one by one for the published
	// form: 64 MB. With more it is made of the histogram.
	maxSamples = 8 << 20
	// maxSeconds bounds the course of a run.
	maxSeconds = 24 * 3600
)

// A tally is what was counted while messages came in.
type tally struct {
	messages, malformed, foreign, unsolved, other, joins, markers int64
	uplinks, distinct, duplicated, reordered                      int64

	bytes, allBytes, bytesOut int64 // bytes are those of the uplinks
	entries                   int64 // of all challenges
	firstEntries, mostEntries int
	outdated                  int64

	began, ended time.Time // creation of the first uplink, reception of the last
	firstAt      time.Time // reception of the first
	latencies    []time.Duration
	allLatencies *hist.Histogram // with duplicates
	response     *hist.Histogram // of first copies
	service      *hist.Histogram
	lag          *hist.Histogram
	hasLag       bool
	series       []load.Second

	connections int
	lastError   string
}

func newTally() tally {
	return tally{allLatencies: hist.New(), response: hist.New(), service: hist.New(), lag: hist.New()}
}

// note books a message.
func (t *tally) note(s solution, u *message.Upstream, size int, at time.Time) {
	t.allBytes += int64(size)
	t.entries += int64(len(u.Challenge))
	t.mostEntries = max(t.mostEntries, len(u.Challenge))
	if t.firstEntries == 0 {
		t.firstEntries = len(u.Challenge)
	}
	if u.Outdated {
		t.outdated++
	}
	switch s.finding {
	case foreign:
		t.foreign++
	case unsolved:
		t.unsolved++
	case other:
		t.other++
	case join:
		t.joins++
	case endMarker:
		t.markers++
	case stamped:
		t.uplink(s, size, at)
	}
}

// uplink books a solved uplink of the generator.
func (t *tally) uplink(s solution, size int, at time.Time) {
	response := at.Sub(s.stamp.At)
	t.uplinks++
	t.bytes += int64(size)
	t.ended = at
	if t.uplinks == 1 {
		t.firstAt = at
	}
	if plausible := response >= 0 && response < hist.Highest; plausible && (t.began.IsZero() || s.stamp.At.Before(t.began)) {
		t.began = s.stamp.At
	}
	t.allLatencies.Record(response)
	if len(t.latencies) < maxSamples {
		t.latencies = append(t.latencies, response)
	}
	if s.arrival == duplicated {
		t.duplicated++
		return
	}
	if s.arrival == reordered {
		t.reordered++
	}
	t.distinct++
	t.response.Record(response)
	t.service.Record(response - s.stamp.Lag)
	t.lag.Record(s.stamp.Lag)
	t.hasLag = t.hasLag || s.stamp.HasLag
	t.second(at).Completed++
	t.second(at).ResponseSum += response
}

// second returns the entry of the course for a reception.
func (t *tally) second(at time.Time) *load.Second {
	i := min(max(0, int(at.Sub(t.start())/time.Second)), maxSeconds-1)
	for len(t.series) <= i {
		t.series = append(t.series, load.Second{})
	}
	return &t.series[i]
}

// start returns when the test began.
func (t *tally) start() time.Time {
	if t.began.IsZero() {
		return t.firstAt
	}
	return t.began
}

// total returns how long the test took: from the creation of the first uplink to
// the reception of the last.
func (t *tally) total() time.Duration {
	if t.uplinks == 0 {
		return 0
	}
	return t.ended.Sub(t.start())
}
