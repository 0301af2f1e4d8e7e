package load_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/errkind"
	"contend/finding"
	"contend/load"
	"contend/pace"
)

// A server that answers in 2 ms and stops at the end of each period, for so long.
func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name          string
		period, still time.Duration
		rate          string
		run           time.Duration
		want          string
	}{
		{"never", time.Hour, 0, "", 10 * time.Second, ""},
		{"regularly", 2 * time.Second, 400 * time.Millisecond, "", 10 * time.Second, "no response for 400 ms every 2.00 s, 5 times, from "},
		{"regularly, at a rate", 2 * time.Second, 400 * time.Millisecond, "constant:500", 10 * time.Second, "no response for 400 ms every 2.00 s, 5 times, from "},
		{"for longer, in wider intervals", 5 * time.Second, time.Second, "", time.Minute, "no response for 1.00 s every 5.00 s, 12 times, from "},
		{"once", 6 * time.Second, 700 * time.Millisecond, "", 10 * time.Second, "no response for 700 ms, from 5.3"},
		{"too short to tell", 2 * time.Second, 60 * time.Millisecond, "", 10 * time.Second, ""},
		{"slow responses in bursts", time.Hour, 0, "slow", 10 * time.Second, ""},
		{"a rate that pauses by plan", time.Hour, 0, "steps:500/4s,0/2s,500/4s", 10 * time.Second, ""},
		{"callers who think in step", time.Hour, 0, "think", 10 * time.Second, ""},
		{"few responses", time.Hour, 0, "constant:20", 10 * time.Second, ""}, // one or two in an interval
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			plan := load.Plan{VUs: 10, Duration: tt.run, Grace: time.Second}
			answers := 2 * time.Millisecond
			switch tt.rate {
			case "":
			case "think":
				plan.VUs, plan.Think = 100, 400*time.Millisecond
			case "slow":
				plan.VUs, answers = 100, 200*time.Millisecond
			default:
				plan.VUs, plan.Pacer, plan.Timer = 500, new(pace.Pacer), pace.Runtime
				if err := plan.Pacer.UnmarshalText([]byte(tt.rate)); err != nil {
					t.Fatal(err)
				}
			}
			r, err := load.Run(t.Context(), "", load.Func(func(context.Context) (load.Outcome, error) {
				if left := tt.period - time.Since(began)%tt.period; left <= tt.still {
					time.Sleep(left)
				}
				time.Sleep(answers)
				return load.Outcome{}, nil
			}), plan)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, w := range r.Changes {
				if w.Is(finding.Stalled) {
					text = w.Text
				}
				if w.Is(finding.NotSteady) && tt.want != "" {
					t.Errorf("%s: also %v", tt.name, w)
				}
			}
			if !strings.HasPrefix(text, tt.want) || (text == "") != (tt.want == "") {
				t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
			}
		})
	}
}

// A server that is gone for 1 s, as nobody listens, has stood still as well: for the whole intervals of 1/16 s in it.
func TestStallOfAServerThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r, err := load.Run(t.Context(), "", load.Func(func(context.Context) (load.Outcome, error) {
			if at := time.Since(began); at >= 3*time.Second && at < 4*time.Second {
				return load.Outcome{}, &errkind.Error{Kind: errkind.Refused, Err: errors.New("nobody")}
			}
			time.Sleep(2 * time.Millisecond)
			return load.Outcome{}, nil
		}), load.Plan{VUs: 10, Duration: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Changes) != 1 || r.Changes[0].Text != "no response for 940 ms, from 3.06 s on" {
			t.Errorf("%v", r.Changes)
		}
	})
}

// Nobody listens: callers that are refused at once wait before they try again, up to a hundred of them a thousand times a second together.
func TestRefusedCallersWait(t *testing.T) {
	for vus, want := range map[int]int64{1: 100, 4: 400, 10: 1000, 100: 1000, 1000: 10_000} {
		synctest.Test(t, func(t *testing.T) {
			r, err := load.Run(t.Context(), "", load.Func(func(context.Context) (load.Outcome, error) {
				return load.Outcome{}, &errkind.Error{Kind: errkind.Refused, Err: errors.New("nobody")}
			}), load.Plan{VUs: vus, Duration: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Errored[errkind.Refused]; got != want || r.Planned != want || r.Idle < 900*time.Millisecond*time.Duration(vus) {
				t.Errorf("%d callers: %d refused of %d in a second, want %d; idle %v", vus, got, r.Planned, want, r.Idle)
			}
		})
	}
}
