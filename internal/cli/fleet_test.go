package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeFleet starts replicas that live as long as they are told.
type fakeFleet struct {
	mu     sync.Mutex
	starts []time.Duration // since the beginning
	lives  []time.Duration // of each start in order; what is missing lives until it is asked to end
	mute   bool            // never serves
	broken error           // of every start
	deaf   bool            // has to be killed
	killed int
}

func (f *fakeFleet) fleet(n int) (*fleet, time.Time) {
	began := time.Now()
	return &fleet{n: n, patience: 15 * time.Second, log: slog.New(slog.DiscardHandler), start: func(int) (*replica, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starts = append(f.starts, time.Since(began))
		if f.broken != nil {
			return nil, f.broken
		}
		ready, ended := make(chan struct{}), make(chan struct{})
		r := &replica{ready: ready, ended: ended}
		var once sync.Once
		end := func(err error) {
			once.Do(func() {
				r.err = err
				close(ended)
			})
		}
		r.stop = func() {
			if !f.deaf {
				end(nil)
			}
		}
		r.kill = func() {
			f.mu.Lock()
			f.killed++
			f.mu.Unlock()
			end(errors.New("killed"))
		}
		if !f.mute {
			close(ready)
		}
		if i := len(f.starts) - 1; i < len(f.lives) {
			time.AfterFunc(f.lives[i], func() { end(errors.New("died")) })
		}
		return r, nil
	}}, began
}

func TestFleetStartsAgainWhatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ms := time.Second, time.Millisecond
		// Pauses of 100, 200 and 400 ms, then 100 ms again, because that one lived
		// for long; the fifth lives on.
		f := &fakeFleet{lives: []time.Duration{s, s, s, 20 * s}}
		fleet, _ := f.fleet(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		served, closed := 0, 0
		if err := fleet.run(ctx, func() { served++ }, func() { closed++ }); err != nil {
			t.Error(err)
		}
		want := []time.Duration{0, 1100 * ms, 2300 * ms, 3700 * ms, 23_800 * ms}
		if len(f.starts) != len(want) {
			t.Fatalf("started at %v, want %v", f.starts, want)
		}
		for i, at := range f.starts {
			if at != want[i] {
				t.Errorf("start %d at %v, want %v", i+1, at, want[i])
			}
		}
		if served != 1 || closed != 1 {
			t.Errorf("served %d times, closed %d times", served, closed)
		}
	})
}

func TestFleetFailsIfOneDoesNotServe(t *testing.T) {
	for name, f := range map[string]*fakeFleet{
		"it dies at once":    {mute: true, lives: []time.Duration{time.Second, time.Hour, time.Hour}},
		"it cannot be begun": {broken: errors.New("died")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet, _ := f.fleet(3)
				err := fleet.run(t.Context(), func() { t.Error("it says that it serves") }, func() {})
				if err == nil || !strings.Contains(err.Error(), "ended before it served: died") {
					t.Errorf("error %v", err)
				}
				if len(f.starts) > 3 {
					t.Errorf("started %d times", len(f.starts))
				}
			})
		})
	}
}

func TestFleetIsStoppedWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFleet{mute: true}
		fleet, _ := f.fleet(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := fleet.run(ctx, func() { t.Error("it says that it serves") }, func() {}); err != nil {
			t.Error(err)
		}
	})
}

func TestFleetKillsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeFleet{deaf: true}
		fleet, began := f.fleet(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := fleet.run(ctx, func() {}, func() {})
		if err == nil || !strings.Contains(err.Error(), "replica 1 did not end within 15s") || f.killed != 2 {
			t.Errorf("error %v, %d killed", err, f.killed)
		}
		if took := time.Since(began); took != 16*time.Second { // 1 s and the patience
			t.Errorf("it took %v", took)
		}
	})
}
