package http

import (
	"context"
	"net"
	"time"

	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
)

var _ load.LoopTarget = (*Target)(nil)

// Loops returns how many event loops would drive the virtual users (wire.Loops).
// None can drive connections that Dial opens, and a handshake of TLS for each
// iteration waits better in a goroutine of its own. A name that does
// not resolve is left to the portable engine, which counts that.
func (t *Target) Loops(vus int) (int, string) {
	if ok, why := loop.Supported(); !ok {
		return 0, why
	}
	switch {
	case t.engine.NoLoops():
		return 0, ""
	case t.tls != nil && !t.keepAlive && !t.http2:
		return 0, "TLS with a connection for each iteration"
	case t.ownDial != "":
		return 0, t.ownDial
	case !t.origin.resolves():
		return 0, "a name that does not resolve"
	}
	near := !t.ownCores && wire.IsNear(t.origin.network, t.origin.address)
	return wire.Loops(near, vus, t.shared), ""
}

// NewLoop makes an event loop. Its connections are opened when they are first
// needed.
func (t *Target) NewLoop(ctx context.Context, part load.LoopPart) (load.Loop, error) {
	ids := make([]int, 0, part.Len(part.VUs))
	senders := make(map[int]*sender, cap(ids))
	for id := part.Index; id < part.VUs; id += part.Of {
		s, err := t.newSender(id)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
		senders[id] = s
	}
	c := loop.Config{
		Network:       t.origin.network,
		Address:       t.origin.address,
		TLS:           t.tls,
		VUs:           ids,
		New:           func(vus []int) loop.Conversation { return newConversation(t, senders[vus[0]]) },
		CloseEach:     !t.keepAlive,
		SendBuffer:    t.buffer,
		ReceiveBuffer: t.buffer,
		Local:         t.local,
	}
	if t.http2 {
		c.New = func(vus []int) loop.Conversation {
			list := make([]*sender, len(vus))
			for i, vu := range vus {
				list[i] = senders[vu]
			}
			return newStreams(t, list)
		}
		if t.shared > 0 {
			c.Connections = part.Len(t.shared)
		}
	}
	return loop.New(ctx, c)
}

// resolves reports whether the address can be found.
func (o origin) resolves() bool {
	if o.network == "unix" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	host, _, _ := net.SplitHostPort(o.address)
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err == nil
}

// lookupTimeout bounds the look whether a name resolves.
const lookupTimeout = time.Second
