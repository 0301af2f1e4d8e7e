package wiretest

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
)

// Restarted drives each way through the end of its server and its return. start serves right answers at an address;
// away are the kinds of error of a missing server. Every iteration is accounted for, and there are right answers
// before and after.
func (p Protocol) Restarted(t *testing.T, start func(t testing.TB, address string) (stop func()), away ...errkind.Kind) {
	for _, way := range p.Ways {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			way.restarted(t, start, away)
		})
	}
}

// OnTCP has Restarted serve on a listener at the address.
func OnTCP(serve func(l net.Listener) (stop func())) func(t testing.TB, address string) (stop func()) {
	return func(t testing.TB, address string) func() {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return func() {}
		}
		return serve(l)
	}
}

func (w Way) restarted(t *testing.T, start func(t testing.TB, address string) (stop func()), away []errkind.Kind) {
	const enough = 50
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	answered, lost := make(chan struct{}), make(chan struct{})
	var before, missed, after int
	var back atomic.Bool
	// The grace is part of how long a run goes on without a right answer.
	plan := load.Plan{VUs: 2, Duration: 2 * testenv.Patience, Timeout: testenv.Patience, Grace: testenv.Patience, Think: time.Millisecond,
		DespiteErrors: true}
	if slices.Contains(away, errkind.Timeout) {
		plan.Timeout = 5 * time.Second // what a handshake may take on a busy machine, and each that is lost has to wait for
	}
	count := func(n *int, least int, reached func()) {
		if *n++; *n == least {
			reached()
		}
	}
	plan.Sample = func(s load.Sample) {
		switch {
		case s.Err == nil && back.Load():
			count(&after, enough, cancel)
		case s.Err == nil:
			count(&before, enough, func() { close(answered) })
		case slices.Contains(away, errkind.Of(s.Err)):
			count(&missed, 1, func() { close(lost) })
		}
	}
	address := testenv.HeldAddress(t)
	stop := start(t, address)
	var stages sync.WaitGroup
	stages.Go(func() {
		await(ctx, answered)
		stop()
		await(ctx, lost)
		stop = start(t, address)
		back.Store(true)
	})
	r, err := load.Run(ctx, "restart", w.Open(t, Server{Address: address}), plan)
	cancel()
	stages.Wait()
	stop()
	testenv.Must(t, err)
	if r.Accounted() != r.Planned || r.Failed != 0 || after < enough || missed == 0 {
		t.Errorf("planned %d, accounted for %d, failed %d, %d right before, %d away, %d right after", r.Planned, r.Accounted(), r.Failed, before, missed, after)
	}
	for kind := range r.Errored { // the others are what was lost
		if !slices.Contains(append(away, errkind.Closed, errkind.Reset, errkind.Stale), kind) {
			t.Errorf("errored: %v: %s", kind, r.Examples[kind])
		}
	}
}

func await(ctx context.Context, event <-chan struct{}) {
	select {
	case <-event:
	case <-ctx.Done():
	}
}
