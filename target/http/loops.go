package http

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"strings"

	"contend/load"
	"contend/loop"
)

var _ load.LoopTarget = (*Target)(nil)

// Loops returns how many event loops would drive the virtual users: one per
// core, but half as many where the server is on this machine and needs the
// others. None can drive TLS or connections that Dial opens. A name that does
// not resolve is left to the portable engine, which counts that.
func (t *Target) Loops(vus int) (int, string) {
	if ok, why := loop.Supported(); !ok {
		return 0, why
	}
	switch {
	case t.tls != nil:
		return 0, "TLS"
	case t.ownDial:
		return 0, "a dial function of one's own"
	case !t.origin.resolves():
		return 0, "a name that does not resolve"
	}
	loops := runtime.GOMAXPROCS(0)
	if t.origin.near() {
		loops = max(1, loops/2)
	}
	if t.shared > 0 {
		loops = min(loops, t.shared)
	}
	return min(loops, vus), ""
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

// near reports whether the address is on this machine for certain.
func (o origin) near() bool {
	if o.network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(o.address)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host == "localhost" || strings.HasSuffix(host, ".localhost") // RFC 6761, section 6.3
	}
	return ip.IsLoopback()
}

// resolves reports whether the address can be found.
func (o origin) resolves() bool {
	if o.network == "unix" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), earlyDialTimeout)
	defer cancel()
	host, _, _ := net.SplitHostPort(o.address)
	_, err := net.DefaultResolver.LookupHost(ctx, host)
	return err == nil
}
