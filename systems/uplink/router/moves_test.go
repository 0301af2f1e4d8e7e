package router

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/stream"
	"contend/systems/uplink/table/tabletest"
)

// Messages that a customer got and did not answer come again where it connects next: at another router at once, and
// at any after a while, when the router that sent them no longer holds them.
func TestCustomerMoves(t *testing.T) {
	t.Parallel()
	redis := openRedis(t, redistest.Start(t).URL())
	rows := openTable(t, tabletest.Shared(t).Fresh(t))
	routers := map[string]*service{}
	for _, name := range []string{"one", "two"} {
		s := startWith(t, redis, rows, func(c *Config) {
			c.Instance = name
			if name == "two" {
				c.Hold = time.Millisecond
			}
		})
		defer s.stopRouter()
		routers[name] = s
	}
	one, two := routers["one"], routers["two"]
	d := one.insert(acme, 0)
	one.until("both know the device", func() bool { _, ok := two.table.ByDevEUI(d.DevEUI); return ok })
	c := one.connect(acme, "upstream/")
	one.send(frame(d, 0), frame(d, 1), frame(d, 2))
	for range 3 {
		c.upstream()
	}
	c.Close()
	c = two.connect(acme, "upstream/") // within the hold of the first
	c.wantFrames(3)
	c.Close()
	one.until("it is held no more", func() bool { return two.customer("acme").box.Sent() == 0 })
	c = two.connect(acme, "upstream/")
	c.each(func(u *message.Upstream) { c.solve(u, d) })
	one.until("all is answered", func() bool {
		return one.intake.Stats().InFlight+two.intake.Stats().InFlight == 0 && two.boxStats().RightMIC >= 3
	})
}

// Whoever stays away before it has answered gets everything again, also if its stream is full of what it was sent.
func TestCustomerStaysAway(t *testing.T) {
	t.Parallel()
	const waited, straight = 10, 3
	s := start(t, redistest.Start(t).URL(), func(c *Config) { c.Hold, c.Backlog = time.Millisecond, waited+straight })
	d := s.insert(acme, 0)
	for i := range uint32(waited) {
		s.send(frame(d, i))
	}
	s.until("they wait in its stream", func() bool { return s.intake.Stats().Forwarded == waited })
	c := s.connect(acme, "upstream/")
	c.wantFrames(waited)
	box := s.customer("acme")
	s.until("uplinks go straight", func() bool {
		box.order.Lock()
		defer box.order.Unlock()
		return box.direct
	})
	for i := range uint32(straight) {
		s.send(frame(d, waited+i))
	}
	c.wantFrames(straight)
	c.Close()
	s.until("nothing of them is held", func() bool { return box.box.Sent() == 0 && s.intake.Stats().InFlight == 0 })
	if n := s.intake.Stats().Dropped; n > 0 {
		t.Errorf("%d are dropped", n)
	}
	c = s.connect(acme, "upstream/")
	c.wantFrames(waited + straight)
}

// Connections that come and go while the reading of a customer's stream cannot end leave nothing that waits for it.
func TestReconnectsWhileTheStreamIsStuck(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	c := s.customer("acme")
	c.order.Lock()
	for range 200 {
		s.opened("acme", stream.Upstream)
		s.closed("acme", stream.Upstream)
	}
	stacks := make([]byte, 16<<20)
	s.until("few wait", func() bool {
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "router.(*Router).opened.func1(") < 50
	})
	c.order.Unlock()
	s.opened("acme", stream.Upstream)
	defer s.closed("acme", stream.Upstream)
	s.until("the next one reads", func() bool {
		c.order.Lock()
		defer c.order.Unlock()
		return c.direct
	})
}

// wantFrames reads until so many frames of a device have come, in any order, and some perhaps twice.
func (c *client) wantFrames(n int) {
	c.t.Helper()
	for frames := map[uint16]bool{}; len(frames) < n; {
		f, err := lorawan.Parse(append(c.upstream().PHYNoMIC, 0, 0, 0, 0))
		if err != nil {
			c.t.Fatal(err)
		}
		frames[f.FCnt] = true
	}
}
