package grpc

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// sevenUnanswered starts a server that never answers its first seven calls.
func sevenUnanswered(t *testing.T) string {
	var asked atomic.Int64
	address := counterAt(t, func(ctx context.Context) error {
		if asked.Add(1) <= 7 {
			<-ctx.Done()
		}
		return nil
	})
	return address
}

// Seven calls are never answered, each of another caller: of streams that share a connection, and of connections.
func TestCallersThatAreNotServed(t *testing.T) {
	t.Parallel()
	for mode, streams := range map[wire.Sharing]bool{wire.Shared: true, wire.PerVU: false} {
		for _, calls := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/calls=%t", mode, calls), func(t *testing.T) {
				t.Parallel()
				var r *load.Result
				for length := time.Second / 4; ; length *= 4 { // until the others have responses enough
					target := load.Target(open(t, config(sevenUnanswered(t), mode)))
					if calls {
						target = wiretest.Calls{Target: target}
					}
					r = wiretest.Run(t, target, load.Plan{VUs: 10, Duration: length})
					if r.Shares.Answered > 100 && r.Shares.Unheard <= 7 || length > time.Minute {
						break
					}
				}
				if r.Starved != 7 || !finding.Starved.In(r.Warnings) || r.Shares.Streams != (streams && !calls) {
					t.Errorf("by %s: %d starved, shares %+v, %v", r.Engine, r.Starved, r.Shares, r.Warnings)
				}
			})
		}
	}
}
