package grpc

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
)

// A server that is killed and comes back in mid-run: every iteration is
// accounted for, and there are right answers before and after.
func TestRestartInRun(t *testing.T) {
	t.Parallel()
	for _, call := range []struct {
		name, method string
		modes        []wire.Sharing
	}{
		{"unary", "", modes()},
		{"Collect", "Collect", []wire.Sharing{wire.Shared}},
		{"List", "List", []wire.Sharing{wire.PerVU}},
		{"Talk", "Talk", modes()},
		{"held", "Talk", []wire.Sharing{wire.Shared, wire.PerVU}},
	} {
		for _, mode := range call.modes {
			t.Run(call.name+"/"+wire.Connections{Sharing: mode}.String(), func(t *testing.T) {
				t.Parallel()
				address, stop, restart := restartable(t, call.method)
				cfg := config(address, mode)
				if call.method != "" {
					cfg = chat(address, call.method, `{"value": 1}`)
					cfg.Connections.Sharing, cfg.Stream = mode, streamFor(call.name == "held")
				}
				runThroughRestart(t, open(t, cfg), stop, restart)
			})
		}
	}
}

// restartable starts the server that has the method and returns how to stop it
// and to start it again.
func restartable(t *testing.T, method string) (address string, stop, restart func()) {
	t.Helper()
	if method == "" {
		server := newCounterServer(t)
		address, running := server.start(t, testenv.HeldAddress(t), noReflection)
		return address, running.Stop, func() { server.start(t, address, noReflection) }
	}
	server := newChatServer(t)
	address, running := server.start(t, testenv.HeldAddress(t), noReflection)
	return address, running.Stop, func() { server.start(t, address, noReflection) }
}

func runThroughRestart(t *testing.T, target *Target, stop, restart func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	vus := &noted{byCalls: byCalls{target}}
	var stages sync.WaitGroup
	stages.Go(func() {
		defer cancel()
		waitFor(ctx, &vus.right)
		stop()
		waitFor(ctx, &vus.errored)
		restart()
		vus.returned.Store(true)
		waitFor(ctx, &vus.after)
	})
	plan := load.Plan{VUs: 2, Duration: time.Minute, Timeout: testenv.Patience, Think: 5 * time.Millisecond}
	result, err := load.Run(ctx, "restart", vus, plan)
	stages.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if result.Completed == 0 || result.ErroredTotal() == 0 || vus.after.Load() == 0 {
		t.Errorf("completed %d, %d after the return, errored %v", result.Completed, vus.after.Load(), result.Errored)
	}
	for kind := range result.Errored {
		if kind != errkind.Refused && kind != errkind.Closed && kind != errkind.Reset {
			t.Errorf("errored: %v: %s", kind, result.Examples[kind])
		}
	}
	if sum := result.Completed + result.Failed + result.ErroredTotal() + result.Dropped + result.Unfinished; sum != result.Planned || result.Failed != 0 {
		t.Errorf("planned %d, accounted for %d, failed %d", result.Planned, sum, result.Failed)
	}
}

// waitFor waits until something was counted.
func waitFor(ctx context.Context, count *atomic.Int64) {
	for count.Load() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// noted counts what its VUs get: right answers, also those to iterations begun
// after the server's return, and errors.
type noted struct {
	byCalls
	returned              atomic.Bool
	right, after, errored atomic.Int64
}

func (n *noted) NewVU(ctx context.Context, id int) (load.VU, error) {
	vu, err := n.byCalls.NewVU(ctx, id)
	return &notedVU{vu, n}, err
}

type notedVU struct {
	load.VU
	*noted
}

func (v *notedVU) SetTimeout(d time.Duration) { v.VU.(load.TimeoutSetter).SetTimeout(d) }

func (v *notedVU) Close() error {
	if c, ok := v.VU.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (v *notedVU) Do(ctx context.Context) (load.Outcome, error) {
	returned := v.returned.Load()
	out, err := v.VU.Do(ctx)
	switch {
	case err != nil:
		v.errored.Add(1)
	case !out.Failed:
		v.right.Add(1)
		if returned {
			v.after.Add(1)
		}
	}
	return out, err
}
