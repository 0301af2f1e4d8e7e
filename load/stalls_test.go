package load_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"contend/finding"
	"contend/load"
	"contend/pace"
)

// A server that answers in 2 ms and stands still from the end of each period on, for so long.
func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name          string
		period, still time.Duration
		rate          string
		run           time.Duration
		want          string
	}{
		{"never", time.Hour, 0, "", 10 * time.Second, ""},
		{"regularly", 2 * time.Second, 400 * time.Millisecond, "", 10 * time.Second, "no response for 400ms every 2s, 5 times, from "},
		{"regularly, at a rate", 2 * time.Second, 400 * time.Millisecond, "constant:500", 10 * time.Second, "no response for 400ms every 2s, 5 times, from "},
		{"for longer, in wider intervals", 5 * time.Second, time.Second, "", time.Minute, "no response for 1s every 5s, 12 times, from "},
		{"once", 6 * time.Second, 700 * time.Millisecond, "", 10 * time.Second, "no response for 700ms, from 5.3"},
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
			for _, w := range r.Warnings {
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
