package search

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/load"
	"contend/pace"
	"contend/trial/trialtest"
)

func TestAttemptIsChosen(t *testing.T) {
	for _, tt := range []struct {
		most      time.Duration
		precision float64
		want      time.Duration
	}{
		{0, 0.05, 3 * time.Second},
		{time.Minute, 0.05, 2400 * time.Millisecond},      // 60 ÷ 25
		{time.Hour, 0.05, 3 * time.Second},                // no longer
		{30 * time.Second, 0.05, 1200 * time.Millisecond}, // 30 ÷ 25
		{10 * time.Second, 0.05, time.Second},             // 50 ms ÷ 5%
		{time.Minute, 0.005, 10 * time.Second},            // 50 ms ÷ 0.5%
	} {
		if got := (Design{Duration: tt.most, Precision: tt.precision}).attempt(); got != tt.want {
			t.Errorf("of %v within %v: %v, want %v", tt.most, tt.precision, got, tt.want)
		}
	}
	if got := (Design{Attempt: time.Minute, Duration: time.Second, Precision: 0.05}).attempt(); got != time.Minute {
		t.Errorf("an attempt that is given is %v", got)
	}
}

func TestHalvings(t *testing.T) {
	for _, tt := range []struct {
		ratio, precision float64
		want             int
	}{
		{2, 0.05, 4},   // 2^(1/8) is 1.091, 2^(1/16) 1.044
		{2, 0.1, 3},    // 1.091
		{2, 1, 0},      //
		{1.02, 0.1, 0}, //
	} {
		if got := (Design{Precision: tt.precision}).halvings(tt.ratio); got != tt.want {
			t.Errorf("from %v to within %v: %d, want %d", tt.ratio, tt.precision, got, tt.want)
		}
	}
}

// One VU for 1 s, and 9 attempts of 500 ms and 2 s: 23.5 s, which is typed as 25.
func TestSearchIsTooShort(t *testing.T) {
	d := design()
	for most, least := range map[time.Duration]string{0: "", 23500 * time.Millisecond: "", 23 * time.Second: "25s or more: there are 9 attempts of at least 2.00 s"} {
		d.Duration = most
		if err := d.Validate(); least == "" && err != nil || least != "" && (err == nil || !strings.Contains(err.Error(), least)) {
			t.Errorf("%v: %v, want %q", most, err, least)
		}
	}
}

// A search whose time is up has the rates so far, and does not begin an attempt that cannot end. The rates begin far
// below what the server sustains: after one VU and 9 attempts 24 s have no room for another.
func TestSearchRunsOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := design()
		d.Duration = 24 * time.Second
		begun := time.Now()
		s, err := Rate(t.Context(), trialtest.Sleeping("s", 10*time.Millisecond), load.Plan{Timer: pace.Runtime}, d, nil)
		if err != nil || time.Since(begun) > d.Duration {
			t.Fatalf("%v after %v", err, time.Since(begun))
		}
		if s.Verdict != RateUnsettled || len(s.Attempts) != 9 || s.HeldPerSec == 0 {
			t.Errorf("%s after %d attempts, held %v", s.Verdict, len(s.Attempts), s.HeldPerSec)
		}
		if s.TimeUp == nil || s.TimeUp.Needs <= d.Duration || s.TimeUp.Lacks == "" {
			t.Errorf("time up %+v", s.TimeUp)
		}
	})
}
