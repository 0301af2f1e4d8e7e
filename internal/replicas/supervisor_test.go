package replicas

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

// A fake starts replicas that live for a given time.
type fake struct {
	mu     sync.Mutex
	starts []time.Duration // since the beginning
	lives  []time.Duration // of each start in order; what is missing lives until it is asked to end
	mute   bool            // never serves
	broken error           // of every start
	deaf   bool            // has to be killed
	killed int
}

func (f *fake) supervisor(n int) (*Supervisor, time.Time) {
	began := time.Now()
	return &Supervisor{N: n, Patience: 15 * time.Second, Log: slog.New(slog.DiscardHandler), Start: func(int) (*Replica, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starts = append(f.starts, time.Since(began))
		if f.broken != nil {
			return nil, f.broken
		}
		ready, ended := make(chan struct{}), make(chan struct{})
		r := &Replica{ready: ready, ended: ended}
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

func TestSupervisorStartsAgainWhatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sec, ms := time.Second, time.Millisecond
		// Pauses of 100, 200 and 400 ms, then 100 ms again, because that one lived
		// for long; the fifth lives on.
		f := &fake{lives: []time.Duration{sec, sec, sec, 20 * sec}}
		s, _ := f.supervisor(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		served, closed := 0, 0
		if err := s.Run(ctx, func() { served++ }, func() { closed++ }); err != nil {
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

func TestSupervisorFailsIfOneDoesNotServe(t *testing.T) {
	for name, f := range map[string]*fake{
		"it dies at once":    {mute: true, lives: []time.Duration{time.Second, time.Hour, time.Hour}},
		"it cannot be begun": {broken: errors.New("died")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := f.supervisor(3)
				err := s.Run(t.Context(), func() { t.Error("it says that it serves") }, func() {})
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

func TestSupervisorIsStoppedWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{mute: true}
		s, _ := f.supervisor(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Run(ctx, func() { t.Error("it says that it serves") }, func() {}); err != nil {
			t.Error(err)
		}
	})
}

func TestSupervisorKillsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{deaf: true}
		s, began := f.supervisor(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Run(ctx, func() {}, func() {})
		if err == nil || !strings.Contains(err.Error(), "replica 1 did not end within 15s") || f.killed != 2 {
			t.Errorf("error %v, %d killed", err, f.killed)
		}
		if took := time.Since(began); took != 16*time.Second { // 1 s and the patience
			t.Errorf("it took %v", took)
		}
	})
}
