package sink

import (
	"testing"

	"contend/errkind"
)

// What was lost is told by kind, as far as the messages that may have been it go.
func TestLostByKind(t *testing.T) {
	for _, tt := range []struct {
		unsolved, malformed, lost   int64
		failed, errored, unfinished int64
	}{
		{0, 0, 0, 0, 0, 0},
		{0, 0, 5, 0, 0, 5},
		{2, 0, 5, 2, 0, 3},
		{2, 1, 5, 2, 1, 2},
		{2, 9, 5, 2, 3, 0},
		{7, 9, 5, 5, 0, 0}, // other copies of two were solved
		{7, 9, 0, 0, 0, 0},
	} {
		s := newRecorder()
		s.Unsolved, s.Malformed, s.LastError = tt.unsolved, tt.malformed, "not JSON"
		s.counts.Completed = 10
		s.account(10+tt.lost, tt.lost)
		c := &s.counts
		if c.Failed != tt.failed || c.Errored[errkind.Protocol] != tt.errored || c.Unfinished != tt.unfinished || c.Accounted() != c.Planned {
			t.Errorf("%+v: failed %d, errored %v, unfinished %d of %d", tt, c.Failed, c.Errored, c.Unfinished, c.Planned)
		}
		if (tt.errored > 0) != (c.Examples[errkind.Protocol] == "not JSON") {
			t.Errorf("%+v: example %q", tt, c.Examples)
		}
	}
}
