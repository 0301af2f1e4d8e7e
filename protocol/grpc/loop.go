package grpc

import (
	"context"
	"time"

	"contend/h2"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
)

var _ load.LoopTarget = (*Target)(nil)

// Loops returns how many event loops would drive the VUs (wire.Loops). They drive
// unary calls without TLS.
func (t *Target) Loops(vus int) (int, string) {
	supported, why := loop.Supported()
	switch {
	case !supported:
		return 0, why
	case t.engine.NoLoops():
		return 0, ""
	case t.dialer.through != nil:
		return 0, "a tunnel through a proxy (HTTPS_PROXY)"
	case t.dialer.security.Info().SecurityProtocol == "tls":
		return 0, "TLS"
	case t.call.kind != unary:
		return 0, "streams"
	case t.call.deadline > 0:
		return 0, "a deadline other than the timeout"
	}
	near := !t.ownCores && wire.IsNear("tcp", t.dialer.hostPort)
	return wire.Loops(near, vus, t.sharing.Pool()), ""
}

// NewLoop makes an event loop. It has its part of shared connections, and its
// VUs share that part evenly.
func (t *Target) NewLoop(ctx context.Context, part load.LoopPart) (load.Loop, error) {
	ids := make([]int, 0, part.Len(part.VUs))
	for id := part.Index; id < part.VUs; id += part.Of {
		ids = append(ids, id)
	}
	l := &callLoop{call: loopCall{call: t.call, authority: t.dialer.hostPort, metadata: t.metadata, maxMessage: t.dialer.maxMessage,
		keeps: t.sharing.Sharing != wire.PerIteration}}
	l.call.build(0)
	var err error
	l.Loop, err = loop.New(ctx, loop.Config{
		Network:     "tcp",
		Address:     t.dialer.hostPort,
		VUs:         ids,
		Connections: part.Len(t.sharing.Pool()),
		New:         func(vus []int) loop.Conversation { return newConversation(&l.call, len(vus)) },
		CloseEach:   !l.call.keeps,
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// A callLoop tells the server of the run's timeout.
type callLoop struct {
	*loop.Loop
	call loopCall
}

func (l *callLoop) Drive(ctx context.Context, s *load.Shard) error {
	if timeout := s.Timeout(); timeout != l.call.timeout {
		l.call.build(timeout)
	}
	return l.Loop.Drive(ctx, s)
}

// A loopCall is what the conversations of one loop have in common.
type loopCall struct {
	call
	authority  string
	metadata   map[string][]string
	maxMessage int
	keeps      bool // connections, from call to call
	timeout    time.Duration
	request    *h2.Request
}

// build makes the request.
func (c *loopCall) build(timeout time.Duration) {
	c.timeout = timeout
	c.request = h2.NewRequest(fields(c.method, c.authority, timeout, c.metadata), body(c.call.request.buffers.Materialize()))
}
