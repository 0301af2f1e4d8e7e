package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
)

// sends has a worker find that it can send at this rate.
func sends(perSec float64) func(context.Context) (float64, error) {
	return func(context.Context) (float64, error) { return perSec, nil }
}

// A check finds what each worker can do, and which are of another version, busy, or do not reach the target; a
// worker keeps reporting what it can send.
func TestCheck(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	work(t, at, Host{Name: "a", Limit: sends(100)})
	work(t, at, Host{Name: "b", Limit: func(context.Context) (float64, error) { return 0, errors.New("no server of its own") }})
	work(t, at, Host{Name: "old", Version: "v0"})
	work(t, at, Host{Name: "taken"})
	other, all := gather(t, at, 3)
	driven, err := other.Target(protocol.At(server.URL), 1, all[2:])
	if err != nil || all[2].Name != "taken" {
		t.Fatal(err, all)
	}
	held, err := driven.OpenRemote(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	f, _ := gather(t, at, 2)
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	list, err := f.All(ctx, 4, beat)
	if err != nil {
		t.Fatal(err)
	}
	found := f.Check(ctx, list, protocol.At(server.URL))
	a, b, old, taken := found[0], found[1], found[2], found[3]
	if a.Against != "" || a.LimitPerSec != 100 || a.ClockBound <= 0 || a.Reached <= 0 || a.Found.Elsewhere < 0 || a.Found.Elsewhere > 1 {
		t.Errorf("a: %+v", a)
	}
	if b.Against != "" || b.LimitPerSec != 0 || b.Found.Unmeasured != "no server of its own" {
		t.Errorf("b: %+v", b)
	}
	if old.Against != otherVersion || taken.Against != used || old.Reached+taken.Reached != 0 {
		t.Errorf("old: %+v; taken: %+v", old, taken)
	}
	nobody := protocol.At("http://" + testenv.HeldAddress(t))
	if again := f.Check(ctx, list[:1], nobody)[0]; again.Against != cut || !strings.Contains(again.Because, "refused") {
		t.Errorf("nobody answers a: %+v", again)
	}
	for f.Workers()[0].LimitPerSec != 100 || f.Workers()[0].Busy != "" {
		time.Sleep(beat / 10)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	fit := Checkup{Worker: Worker{Name: "a", LimitPerSec: 100}, ClockBound: 50 * time.Microsecond, Found: Measured{BeganLate: 100 * time.Microsecond}}
	with := func(change func(*Checkup)) Checkup {
		c := fit
		c.Name = "b"
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name          string
		other         Checkup
		answer, about string // parts of the answer and the remarks
	}{
		// From 100 − 50 µs to 300 + 50 µs.
		{"fit", with(func(c *Checkup) { c.Found.BeganLate = 300 * time.Microsecond }), "Fit to measure together: 2 workers begin within 300µs of each other", ""},
		{"unlike", with(func(c *Checkup) { c.LimitPerSec = 200 }), "Fit to", "divided by their weights"},
		{"a clock known to 2 ms", with(func(c *Checkup) { c.ClockBound = 2 * time.Millisecond }), "Fit to", "b is with a clock that is known to over 1 ms only"},
		{"a clock known to 60 ms", with(func(c *Checkup) { c.ClockBound = 60 * time.Millisecond }), "Not fit to measure together: b is with a clock that is not known well enough", "closer together"},
		{"600 ppm, known to 50 ppm", with(func(c *Checkup) { c.Drift, c.DriftBound = -600e-6, 50e-6 }), "Not fit to measure together: b is with a clock that runs too fast or too slow", "chrony"},
		{"600 ppm, known to 200 ppm", with(func(c *Checkup) { c.Drift, c.DriftBound = 600e-6, 200e-6 }), "Fit to", ""},
		{"others use 30%", with(func(c *Checkup) { c.Found.Elsewhere = 0.3 }), "Fit to", "b is on a machine that others use a little"},
		{"others use 60%", with(func(c *Checkup) { c.Found.Elsewhere = 0.6 }), "Not fit to measure together: b is on a machine that others use", "end the other programs"},
		{"not measured", with(func(c *Checkup) { c.LimitPerSec, c.Found.Unmeasured = 0, "no server" }), "Fit to", "b is not able to measure what it can send (no server)"},
		{"another version", with(func(c *Checkup) { c.Against, c.Because = otherVersion, "is version v0" }), "Not fit to measure together: b is of another version", "(is version v0): start the same build there"},
	} {
		got := Judge([]Checkup{fit, tt.other})
		remarks := strings.Join(got.Remarks, "\n")
		if !strings.HasPrefix(got.Answer, tt.answer) || got.Fit != strings.HasPrefix(tt.answer, "Fit") || !strings.Contains(remarks, tt.about) || (remarks == "") != (tt.about == "") {
			t.Errorf("%s: %q, %q", tt.name, got.Answer, remarks)
		}
	}
	if got := Judge([]Checkup{fit}); got.Answer != "Fit to measure together" || !slices.Equal(got.Weights, []int{1}) {
		t.Errorf("one worker: %+v", got)
	}
	many := slices.Repeat([]Checkup{with(func(c *Checkup) { c.Against, c.Because = silent, "gone" })}, 1000)
	if got := Judge(many); got.Answer != "Not fit to measure together: b, b, b, b and 996 more are silent" {
		t.Errorf("a thousand: %s", got.Answer)
	}
}

// Workers that differ do as much as they can: their callers and iterations are divided by weights. If there are
// few some workers get none, and if there are fewer callers than weights each gets the same. On one machine
// nothing is measured.
func TestWorkersOfDifferentStrength(t *testing.T) {
	t.Parallel()
	at, server := engine(t), serve(t)
	work(t, at, Host{Name: "a", Limit: sends(300)})
	work(t, at, Host{Name: "b", Limit: sends(100)})
	f, workers := gather(t, at, 2)
	if alike := f.Measured(t.Context(), workers); alike[0].LimitPerSec != 0 {
		t.Errorf("measured on one machine: %+v", alike)
	}
	workers[1].Machine = "another"
	workers = f.Measured(t.Context(), workers)
	if got := Weights(workers); !slices.Equal(got, []int{2, 1}) {
		t.Errorf("weights %v, want 2 and 1: 300 ÷ 2 is 1.5 times 100", got)
	}
	for _, tt := range []struct {
		vus        int
		iterations int64
		want       map[string][2]int64 // callers and completed
	}{
		{6, 100, map[string][2]int64{"a": {4, 67}, "b": {2, 33}}}, // in the order a b a
		{6, 1, map[string][2]int64{"a": {4, 1}}},
		{2, 10, map[string][2]int64{"a": {1, 5}, "b": {1, 5}}},
		{1, 10, map[string][2]int64{"a": {1, 10}}},
	} {
		session := open(t, f, workers, protocol.At(server.URL), tt.vus)
		r, err := session.Run(t.Context(), load.Plan{VUs: tt.vus, Iterations: tt.iterations, Grace: testenv.Patience})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][2]int64{}
		for _, g := range r.Generators {
			got[g.Name] = [2]int64{int64(g.VUs), g.Completed}
		}
		if r.Completed != tt.iterations || !maps.Equal(got, tt.want) {
			t.Errorf("%d callers, %d iterations: %v, want %v", tt.vus, tt.iterations, got, tt.want)
		}
		_ = session.Close()
	}
}
