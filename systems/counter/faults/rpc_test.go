package faults_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"contend/systems/counter/counterpb"
)

// An rpcDoor calls over a connection that it shares with others.
type rpcDoor struct {
	client counterpb.IncrementCounterClient
}

func newRPCDoor(c *grpc.ClientConn) *rpcDoor {
	return &rpcDoor{counterpb.NewIncrementCounterClient(c)}
}

func (d *rpcDoor) increment(ctx context.Context, n int32, id string) answer {
	seen := new(sight)
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, sightKey{}, seen), patience)
	defer cancel()
	if id != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", id)
	}
	said, err := d.client.Increment(ctx, &counterpb.IncrementBy{Value: n})
	if err != nil {
		return seen.judge(err)
	}
	text, found := strings.CutPrefix(said.GetMessage(), "Incremented value is ")
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !found {
		return broken("message %q", said.GetMessage())
	}
	return answer{kind: acknowledged, value: value}
}

func (d *rpcDoor) close() {}

// A sight is what a call has seen of its replica. The status code alone does not
// tell an answer UNAVAILABLE from a connection that broke.
type sight struct {
	sent     atomic.Bool // the call left
	answered atomic.Bool // the status is the replica's
}

func (s *sight) judge(err error) answer {
	code := status.Code(err)
	switch {
	case !s.sent.Load() && code == codes.Unavailable:
		return notDone("not sent: %w", err)
	case !s.answered.Load() && code == codes.Unavailable:
		return unknown("the connection broke: %w", err)
	case !s.answered.Load():
		return broken("%w: %w", errNoAnswer, err)
	case code == codes.Unavailable:
		return notDone("%w", err)
	case code == codes.DeadlineExceeded:
		return unknown("%w", err)
	}
	return broken("status code %v: %w", code, err)
}

// A witness notes in the sight of a call's context what the call sees.
type witness struct{}

type sightKey struct{}

func (witness) HandleRPC(ctx context.Context, s stats.RPCStats) {
	seen, ok := ctx.Value(sightKey{}).(*sight)
	if !ok {
		return
	}
	switch s.(type) {
	case *stats.OutHeader:
		seen.sent.Store(true)
	case *stats.InTrailer:
		seen.answered.Store(true)
	}
}

func (witness) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (witness) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (witness) HandleConn(context.Context, stats.ConnStats)                       {}
