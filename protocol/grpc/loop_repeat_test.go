package grpc

import (
	"testing"

	"golang.org/x/net/http2"

	"contend/load"
	"contend/protocol/wire"
)

// A call that a server says it did not process is made again. (grpc-go does so
// as well, except for a call that it begins while the connection ends: it is
// not asked here.)
func TestAServerThatLeavesCostsNoCall(t *testing.T) {
	t.Parallel()
	const last = 2*50 - 1 // stream of the fiftieth call
	address := hostile(t, func(p peer) {
		if p.ID > last {
			return
		}
		p.right()
		if p.ID == last {
			p.WriteGoAway(last, http2.ErrCodeNo, nil)
		}
	})
	for _, mode := range []wire.Sharing{wire.PerVU, wire.Shared} {
		if got := runOver(t, config(address, mode), load.EventLoop, iterations(10, 1000)); got.Completed != 1000 {
			t.Errorf("%v: %+v", mode, accountOf(got))
		} else if got.Parted == 0 || got.PartedLeast != 50 || got.PartedMost != 50 {
			t.Errorf("%v: %d connections ended after %d to %d calls, want 50", mode, got.Parted, got.PartedLeast, got.PartedMost)
		}
	}
}

// A connection for each call was not to be kept.
func TestAServerThatEndsConnectionsOfOneCall(t *testing.T) {
	t.Parallel()
	address := hostile(t, func(p peer) {
		p.WriteGoAway(p.ID, http2.ErrCodeNo, nil)
		p.right()
	})
	for mode, parted := range map[wire.Sharing]int64{wire.PerVU: 19, wire.PerIteration: 0} {
		got := runOver(t, config(address, mode), load.EventLoop, iterations(1, 20))
		if got.Completed != 20 || got.Parted != parted {
			t.Errorf("%v: the server ended %d connections that were to be kept, want %d: %+v", mode, got.Parted, parted, accountOf(got))
		}
	}
}
