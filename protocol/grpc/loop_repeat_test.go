package grpc

import (
	"testing"

	"golang.org/x/net/http2"

	"contend/load"
	"contend/protocol/wire"
)

// A call that a server says it did not process is made again. (By grpc-go, too,
// but for one that it begins while the connection ends: it is not asked here.)
func TestAServerThatLeavesCostsNoCall(t *testing.T) {
	t.Parallel()
	const last = 2*50 - 1 // stream of the fiftieth call
	address := hostile(t, func(p peer) {
		if p.stream > last {
			return
		}
		p.begin()
		p.message(0, 2, "\x08\x01")
		p.headers(true, "grpc-status", "0")
		if p.stream == last {
			p.WriteGoAway(last, http2.ErrCodeNo, nil)
		}
	})
	for _, mode := range []wire.Sharing{wire.PerVU, wire.Shared} {
		if got := runOver(t, config(address, mode), load.EventLoop, iterations(10, 1000)); got.Completed != 1000 {
			t.Errorf("%v: %+v", mode, accountOf(got))
		}
	}
}
