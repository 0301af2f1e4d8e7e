package sink

import (
	"context"
	"testing"
	"testing/synctest"

	"contend/errkind"
	"contend/systems/uplink/gen"
	"contend/systems/uplink/message"
)

// Without Expect it is the end marker that says how many uplinks there were: all if it
// is that of the only device, else how many at least. Nine uplinks are sent, and not
// all get through.
func TestHowManyWereSent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		devices, more int // of the generator, and that only the sink knows
		expect        int64
		through       int  // of the nine
		marker        bool // it gets through as well
		planned, lost int64
		atLeast       bool
		silent        int
	}{
		"all":                             {1, 0, 0, 9, true, 9, 0, false, 0},
		"the last two are missing":        {1, 0, 0, 7, true, 9, 2, false, 0},
		"no marker":                       {1, 0, 0, 7, false, 7, 0, true, 0},
		"no marker, but expected":         {1, 0, 9, 7, false, 9, 2, false, 0},
		"all of three devices":            {3, 0, 0, 9, true, 9, 0, true, 0},
		"all of three, expected":          {3, 0, 9, 9, true, 9, 0, false, 0},
		"five of three devices":           {3, 0, 0, 5, true, 7, 2, true, 0}, // 3 + at least 2 + at least 2
		"five of three, no marker":        {3, 0, 0, 5, false, 5, 0, true, 0},
		"nothing but the marker of three": {3, 0, 0, 0, true, 7, 7, true, 3},
		"two devices too many":            {1, 2, 0, 9, true, 25, 16, true, 2}, // 9 + at least 8 + at least 8
	} {
		synctest.Test(t, func(t *testing.T) {
			router := newRouter(t, 8, tt.devices+tt.more)
			n := 0
			add := func(ctx context.Context, uplinks []*message.Uplink) error {
				for i := range uplinks {
					if n++; n <= tt.through || n == 10 && tt.marker {
						if err := router.add(ctx, uplinks[i:i+1]); err != nil {
							return err
						}
					}
				}
				return nil
			}
			generate(t, gen.Config{Mode: gen.Flat, N: 9, Seed: 8, Devices: tt.devices, Add: add})
			r := run(t.Context(), t, Config{URL: router.url, Dial: router.dial, Seed: 8, Devices: tt.devices + tt.more, Expect: tt.expect})
			if n != 10 || r.Distinct != int64(tt.through) || r.Load.Planned != tt.planned || r.Lost != tt.lost || r.AtLeast != tt.atLeast || r.Silent != tt.silent {
				t.Errorf("%s: %d of %d arrived, %d lost, at least: %v, %d silent; want %+v", name, r.Distinct, r.Load.Planned, r.Lost, r.AtLeast, r.Silent, tt)
			}
		})
	}
}

// Losses are reported by kind, as far as the messages that may have been lost allow.
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
