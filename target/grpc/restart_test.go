package grpc

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"contend/load"
)

// A server that is killed and comes back in mid-run: every iteration is
// accounted for, and there are right answers before and after.
func TestRestartInRun(t *testing.T) {
	for _, call := range []struct{ name, method string }{{"unary", ""}, {"Collect", "Collect"}, {"List", "List"}, {"Talk", "Talk"}, {"held", "Talk"}} {
		for _, mode := range modes() {
			if call.name == "held" && mode == PerIteration {
				continue
			}
			t.Run(call.name+"/"+Connections{Mode: mode}.String(), func(t *testing.T) {
				t.Parallel()
				address, stop, restart := restartable(t, call.method)
				cfg := config(address, mode)
				if call.method != "" {
					cfg = chat(address, call.method, `{"value": 1}`)
					cfg.Connections.Mode, cfg.StreamPerVU = mode, call.name == "held"
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
		address, running := server.start(t, "127.0.0.1:0", noReflection)
		return address, running.Stop, func() { server.start(t, address, noReflection) }
	}
	server := newChatServer(t)
	address, running := server.start(t, "127.0.0.1:0", noReflection)
	return address, running.Stop, func() { server.start(t, address, noReflection) }
}

func runThroughRestart(t *testing.T, target *Target, stop, restart func()) {
	t.Helper()
	const away, back = 50 * time.Millisecond, 250 * time.Millisecond
	vus := &noted{byCalls: byCalls{target}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(away)
		stop()
		time.Sleep(back - away)
		restart()
		vus.returned.Store(true)
	}()
	plan := load.Plan{VUs: 4, Duration: 600 * time.Millisecond, Timeout: 2 * time.Second, Think: time.Millisecond}
	result, err := load.Run(t.Context(), "restart", vus, plan)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	if result.Completed == 0 || result.ErroredTotal() == 0 || vus.after.Load() == 0 {
		t.Errorf("completed %d, %d after the return, errored %v", result.Completed, vus.after.Load(), result.Errored)
	}
	for kind := range result.Errored {
		if kind != load.Refused && kind != load.Closed && kind != load.Reset {
			t.Errorf("errored: %v: %s", kind, result.Examples[kind])
		}
	}
	if sum := result.Completed + result.Failed + result.ErroredTotal() + result.Dropped + result.Unfinished; sum != result.Planned || result.Failed != 0 {
		t.Errorf("planned %d, accounted for %d, failed %d", result.Planned, sum, result.Failed)
	}
}

// noted counts the right answers after the server's return.
type noted struct {
	byCalls
	returned atomic.Bool
	after    atomic.Int64
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
	if returned && err == nil && !out.Failed {
		v.after.Add(1)
	}
	return out, err
}
