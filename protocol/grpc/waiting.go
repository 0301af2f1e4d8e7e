package grpc

import (
	"context"

	"google.golang.org/grpc"
)

// An opener makes a unary call and returns no stream, or opens one. A patient attempt waits for
// a connection.
type opener interface {
	attempt(ctx context.Context, l *channel, patient bool) (grpc.ClientStream, error)
}

// open has o make an attempt; while the connection is down, when it is back.
func (l *channel) open(ctx context.Context, o opener) (stream grpc.ClientStream, err error) {
	wait := l.down.Load()
	if !wait {
		stream, err = o.attempt(ctx, l, false)
		// grpc-go repeats the last refusal until it has taken note that the
		// connection is back. Nothing was sent then.
		wait = isRefusal(err) && !l.down.Load()
	}
	if wait {
		return l.awaitConnection(ctx, o)
	}
	return stream, err
}

// awaitConnection has o make an attempt when l is connected and gives up when the
// next attempt to connect fails.
func (l *channel) awaitConnection(ctx context.Context, o opener) (grpc.ClientStream, error) {
	next := l.nextFailure()
	waiting, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(next.ctx, cancel)
	stream, err := o.attempt(waiting, l, true)
	if stop() && stream != nil {
		return stream, nil
	}
	cancel()
	if stream == nil && err == nil {
		return nil, nil
	}
	if ctx.Err() == nil && next.ctx.Err() != nil {
		return nil, l.refused(err)
	}
	return nil, err
}
