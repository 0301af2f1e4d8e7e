package router

import (
	"log/slog"
	"math"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

const (
	// clockWindow is how long the quickest entry of a gateway says how its clock is set. One that was set back
	// is known after two of them.
	clockWindow = 10 * time.Second
	// clockTolerance is by how much a clock may be off before a warning is logged.
	clockTolerance = 2 * time.Second
	// clockWarnings bounds the lines in the log of a clockWindow.
	clockWarnings = 10
	// clocksMost bounds the gateways that are remembered, and clocksFor is how long one is that is not heard.
	clocksMost = 1 << 15
	clocksFor  = 10 * time.Minute
)

// clocks compare the clocks of gateways with the moments at which their entries arrived. No frame arrives before it
// was received, and mostly one arrives at once: so what is least between both moments is what the clock is off by,
// and an entry that took longer was delayed by the rest. Safe for concurrent use.
type clocks struct {
	log *slog.Logger

	mu sync.Mutex
	// recent are those heard since the last turn, older those before.
	recent, older map[lorawan.EUI]*clock
	turned        time.Time
	warned        int // lines in the log since
	warnedAt      time.Time
}

// A clock is that of one gateway.
type clock struct {
	began time.Time // of the window
	// least is the least time from reception to arrival in this window, and before that of the one before.
	least, before time.Duration
	off           bool
}

func newClocks(log *slog.Logger) *clocks {
	return &clocks{log: log, recent: map[lorawan.EUI]*clock{}}
}

// date notes by how much uplinks were delayed on their way to the intake.
func (c *clocks) date(uplinks []*message.Uplink, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range uplinks {
		if u.Arrived.After(now) {
			u.Arrived = now
		}
		took := u.Arrived.Sub(u.Received)
		one := c.find(u.Gateway, now)
		if one.note(took, now) || took < -clockTolerance {
			c.judge(u.Gateway, one, now)
		}
		u.Delay = took - one.lead()
	}
}

// lead is by how much a clock is slow, as far as is known; less than 0: it is fast.
func (c *clock) lead() time.Duration { return min(c.least, c.before) }

// note reports whether a window has ended. What was least in it is in before then.
func (c *clock) note(took time.Duration, now time.Time) (ended bool) {
	age := now.Sub(c.began)
	if age < clockWindow {
		c.least = min(c.least, took)
		return false
	}
	if c.before = c.least; age >= 2*clockWindow {
		c.before = math.MaxInt64
	}
	ended = !c.began.IsZero()
	c.began, c.least = now, took
	return ended
}

// judge tells the log when a clock begins to be off, and when it is right again.
func (c *clocks) judge(gateway lorawan.EUI, one *clock, now time.Time) {
	lead := one.lead()
	off := lead.Abs() > clockTolerance
	if off == one.off {
		return
	}
	one.off = off
	if now.Sub(c.warnedAt) >= clockWindow {
		c.warnedAt, c.warned = now, 0
	}
	if c.warned++; c.warned > clockWarnings {
		return // the metric has their number
	}
	switch {
	case !off:
		c.log.Info("a gateway's clock is right again", "gateway", gateway)
	case lead < 0:
		c.log.Warn("a gateway's clock is fast", "gateway", gateway, "by", -lead)
	default:
		c.log.Warn("a gateway's clock is slow, or its entries come late", "gateway", gateway, "by", lead)
	}
}

func (c *clocks) find(gateway lorawan.EUI, now time.Time) *clock {
	if now.Sub(c.turned) > clocksFor || len(c.recent) >= clocksMost {
		c.older, c.recent, c.turned = c.recent, map[lorawan.EUI]*clock{}, now
	}
	one := c.recent[gateway]
	if one == nil {
		if one = c.older[gateway]; one == nil {
			one = &clock{least: math.MaxInt64, before: math.MaxInt64}
		}
		delete(c.older, gateway)
		c.recent[gateway] = one
	}
	return one
}

// off is how many clocks are off.
func (c *clocks) off() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gateways := range []map[lorawan.EUI]*clock{c.recent, c.older} {
		for _, one := range gateways {
			if one.off {
				n++
			}
		}
	}
	return n
}
