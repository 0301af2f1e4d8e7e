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
		}
	}
}
