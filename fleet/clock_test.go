package fleet

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The drift of a clock during a run is within the bound.
func TestClockDrift(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, tt := range []struct{ before, after, want clock }{
		{clock{100 * ms, ms}, clock{100 * ms, 2 * ms}, clock{100 * ms, 2 * ms}},
		{clock{100 * ms, ms}, clock{95 * ms, ms}, clock{100 * ms, 6 * ms}}, // 5 ms slower, and 1 ms not known
		{clock{-100 * ms, 3 * ms}, clock{-99 * ms, ms}, clock{-100 * ms, 4 * ms}},
	} {
		if got := tt.before.until(tt.after); got != tt.want {
			t.Errorf("%v until %v is %v, want %v", tt.before, tt.after, got, tt.want)
		}
	}
}

// The bound of a clock holds, however late messages are and in whichever direction they are later: the true offset is
// within the bound, even while the clock drifts between two looks at it.
func TestClockIsWithinItsBound(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for name, tt := range map[string]struct {
		there, back time.Duration
		ahead       time.Duration
		drift       float64
	}{
		"quick":                   {ahead: 100 * time.Hour},
		"slow, and uneven":        {there: 20 * ms, back: 20 * ms, ahead: -100 * time.Hour},
		"one way slower":          {there: 2 * ms, back: 60 * ms},
		"the other way slower":    {there: 60 * ms, back: 2 * ms},
		"drifting":                {drift: 0.01},
		"drifting, slow, one way": {there: 60 * ms, back: 2 * ms, drift: -0.01},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := engine(t)
			f, err := Gather(t.Context(), at, "v1", nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.Close)
			far := at
			if tt.there > 0 {
				far = newLink(t, at, around(tt.there, tt.back)).at
			}
			ahead := func(now time.Duration) time.Duration { return tt.ahead + time.Duration(tt.drift*float64(now)) }
			fakeAt(t, far, func(m *nats.Msg, _ func()) {
				got, sent := f.now(), f.now()
				_ = m.Respond(encode(reply{Got: got + ahead(got), Sent: sent + ahead(sent)}))
			})
			gatherNow(t, f, 1)
			before, err := f.clockOf(t.Context(), "fake", mostExchanges)
			if err != nil {
				t.Fatal(err)
			}
			if tt.there > 0 && before.bound < (tt.there+tt.back)/4 {
				t.Errorf("known to ±%v, and there and back takes %v at least", before.bound, (tt.there+tt.back)/2)
			}
			offsets := []time.Duration{ahead(f.now())}
			for range 5 {
				time.Sleep(20 * ms)
				offsets = append(offsets, ahead(f.now()))
			}
			after, err := f.clockOf(t.Context(), "fake", mostExchanges)
			if err != nil {
				t.Fatal(err)
			}
			whole := before.until(after)
			for i, offset := range offsets {
				if off := (whole.ahead - offset).Abs(); off > whole.bound+time.Microsecond { // cut to nanoseconds
					t.Errorf("look %d: off by %v, and said to be within ±%v", i, off, whole.bound)
				}
			}
		})
	}
}
