package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/queue"
	"contend/systems/uplink/table"
)

const (
	// classC is how far ahead a deadline may be, and is the default: facts of the
	// published specification.
	classC = 512 * time.Second
	// gatewayTime is how long gateways have, after a downlink's time, to tell what
	// became of it: a convention of this project.
	gatewayTime = 10 * time.Second
	// gpsEpoch is when GPS time began. It does not count leap seconds: there
	// were 18 by 2017, and none since (IERS Bulletin C).
	gpsLeap = 18 * time.Second
)

var gpsEpoch = time.Date(1980, 1, 6, 0, 0, 0, 0, time.UTC)

// A replier gets what became of a downlink: first Ack, then Result.
type replier interface {
	Ack(message.DownstreamAck) error
	Result(message.DownstreamResult) error
}

// downlinks keeps track of what was handed to gateways. How many that may be is counted
// in Redis, for all instances. Its methods may be called concurrently.
type downlinks struct {
	mu      sync.Mutex
	last    uint64 // mailbox given last
	pending map[uint64]*pendingDownlink
	heard   map[lorawan.EUI]hearing // each device's last acknowledged uplink
	before  map[lorawan.EUI]hearing // that of devices that were not heard since the last turn
	turned  time.Time
	counts  map[message.ResultCode]int64
	// abandoned counts those whose connection was closed before their result.
	abandoned int64
}

type pendingDownlink struct {
	customer    string
	transaction uint64
	reply       replier     // nil: its connection is closed
	unwatch     func() bool // its connection
	timer       *time.Timer
	name        string // in Redis; "": it is not in Redis, or that is not known yet
}

func newDownlinks() *downlinks {
	return &downlinks{last: uint64(time.Now().UnixMicro()), pending: map[uint64]*pendingDownlink{},
		heard: map[lorawan.EUI]hearing{}, counts: map[message.ResultCode]int64{}}
}

// A hearing is when, and by which gateway, an uplink was. Gateways know only their own clocks: at is when the uplink
// arrived, which bounds what they may say.
type hearing struct {
	at time.Time
	queue.Heard
}

// heardFor is how long a hearing is kept at least. A window is 15 s after the uplink at most.
const heardFor = time.Minute

// solved notes when a device was heard.
func (d *downlinks) solved(eui lorawan.EUI, u *message.Uplink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := time.Now(); now.Sub(d.turned) > heardFor {
		d.before, d.heard, d.turned = d.heard, map[lorawan.EUI]hearing{}, now
	}
	d.heard[eui] = hearing{u.Arrived, queue.Heard{Gateway: u.Gateway, Received: u.Received.UnixNano()}}
}

// lastHeard returns when a device was heard last; the zero value: nothing is known of it.
func (d *downlinks) lastHeard(eui lorawan.EUI) hearing {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.heard[eui]; ok {
		return h
	}
	return d.before[eui]
}

// accept gives a downlink its mailbox. The result follows, unless ctx, that of the
// connection, ends before.
func (d *downlinks) accept(ctx context.Context, customer string, m *message.Downstream, reply replier) (mailbox uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	mailbox = d.last
	d.pending[mailbox] = &pendingDownlink{customer: customer, transaction: m.Transaction, reply: reply,
		unwatch: context.AfterFunc(ctx, func() { d.abandon(mailbox) })}
	return mailbox
}

// expect has a downlink without a result end with NoAck.
func (d *downlinks) expect(mailbox uint64, in time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.pending[mailbox]; p != nil {
		p.timer = time.AfterFunc(in, func() {
			d.result(mailbox, message.NoAck, "no gateway told what became of it")
		})
	}
}

// sent notes the name that a downlink has in Redis. It returns false if the downlink has ended.
func (d *downlinks) sent(mailbox uint64, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pending[mailbox]
	if p != nil {
		p.name = name
	}
	return p != nil
}

// heardBack ends a downlink by what a gateway tells of it, and returns as result does. Two instances may give
// the same mailbox.
func (d *downlinks) heardBack(r *queue.DownlinkResult) (name string) {
	d.mu.Lock()
	p := d.pending[r.Mailbox]
	ours := p != nil && p.customer == r.Customer && p.transaction == r.Transaction
	d.mu.Unlock()
	if !ours {
		return ""
	}
	return d.result(r.Mailbox, r.Code, r.Text)
}

// result ends a downlink, once, and returns the name that it has in Redis, if it has one; others are ignored.
func (d *downlinks) result(mailbox uint64, code message.ResultCode, text string) (name string) {
	d.mu.Lock()
	p := d.pending[mailbox]
	if p == nil {
		d.mu.Unlock()
		return ""
	}
	delete(d.pending, mailbox)
	p.unwatch()
	if p.timer != nil {
		p.timer.Stop()
	}
	d.counts[code]++
	reply := p.reply
	d.mu.Unlock()
	if reply != nil {
		reply.Result(message.DownstreamResult{Transaction: p.transaction, Mailbox: mailbox, Code: code, Text: text})
	}
	return p.name
}

// abandon forgets the replier that waits for a result. The downlink keeps its place, as gateways may still send it.
func (d *downlinks) abandon(mailbox uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.pending[mailbox]; p != nil {
		p.reply = nil
		d.abandoned++
	}
}

// A refusedDownlink is why nothing was sent.
type refusedDownlink struct {
	code message.ResultCode
	text string
}

func (e *refusedDownlink) Error() string { return e.text }

func refuse(code message.ResultCode, format string, args ...any) error {
	return &refusedDownlink{code, fmt.Sprintf(format, args...)}
}

// downlink takes what a customer wants sent. The customer hears at once that it
// was accepted, and later what became of it.
func (r *Router) downlink(ctx context.Context, customer string, m *message.Downstream, reply replier) {
	d := r.downlinks
	mailbox := d.accept(ctx, customer, m, reply)
	reply.Ack(message.DownstreamAck{Transaction: m.Transaction, Mailbox: mailbox})
	until, last, err := r.permit(ctx, table.Customer(customer), m)
	if err == nil {
		open := min(time.Until(until), classC) + gatewayTime
		d.expect(mailbox, open)
		down := &queue.Downlink{Mailbox: mailbox, Customer: customer, Open: open, Downstream: *m}
		if m.Window.Delay > 0 {
			down.After = &last.Heard
		}
		var name string
		err = r.customer(customer).sending.Take(ctx, func() (err error) {
			name, err = r.config.Redis.SendDownlink(ctx, down)
			return err
		})
		if err == nil && !d.sent(mailbox, name) {
			r.endDownlinks(name)
		}
	}
	var refused *refusedDownlink
	switch {
	case errors.As(err, &refused):
		d.result(mailbox, refused.code, refused.text)
	case errors.Is(err, queue.ErrShare):
		d.result(mailbox, message.GatewayError, "this customer's share of the downlinks that may wait for gateways is used up")
	case err != nil:
		d.result(mailbox, message.GatewayError, "it could not be handed to the gateways")
		r.config.Log.Warn("downlink lost", "customer", customer, "mailbox", mailbox, "error", err)
	}
}

// permit says until when a downlink can be sent, and after which uplink of its device, and
// stores the target address that it offers.
func (r *Router) permit(ctx context.Context, c table.Customer, m *message.Downstream) (until time.Time, last hearing, err error) {
	if err := m.CheckFrame(); err != nil {
		return until, last, refuse(message.GatewayError, "%v", err)
	}
	if err := m.CheckWindow(); err != nil {
		return until, last, refuse(message.WindowNotFound, "%v", err)
	}
	if m.Multicast {
		if len(r.config.Table.Groups(c, []lorawan.DevAddr{m.Group})) == 0 {
			return until, last, refuse(message.GatewayNotFound, "no multicast group %v", m.Group)
		}
	} else {
		row, ok := r.config.Table.ByDevEUI(m.DevEUI)
		if !ok || row.Customer != c {
			return until, last, refuse(message.GatewayNotFound, "no subscription for device %v", m.DevEUI)
		}
		last = r.downlinks.lastHeard(m.DevEUI)
	}
	until, err = deadline(m, last.at, time.Now())
	if err == nil && m.Target != nil {
		err = r.customer(string(c)).storing.Take(ctx, func() error { return r.config.Table.SetTarget(ctx, c, m.DevEUI, *m.Target) })
		if err != nil {
			err = refuse(message.GatewayError, "the target address was not stored: %v", err)
		}
	}
	return until, last, err
}

// heardBack takes what gateways tell of downlinks, of this instance or another.
func (r *Router) heardBack(results []queue.DownlinkResult) {
	var ended []string
	for i := range results {
		if name := r.downlinks.heardBack(&results[i]); name != "" {
			ended = append(ended, name)
		}
	}
	if len(ended) > 0 {
		r.endDownlinks(ended...)
	}
}

// endDownlinks makes room for others. If Redis is away that is done when their time is up.
func (r *Router) endDownlinks(names ...string) {
	if err := r.config.Redis.EndDownlinks(r.working, names...); err != nil {
		r.config.Log.Warn("downlinks that have ended keep their places until their time is over", "downlinks", len(names), "error", err)
	}
}

// deadline returns the latest moment at which a downlink can be sent.
func deadline(m *message.Downstream, last, now time.Time) (time.Time, error) {
	w := m.Window
	until := now.Add(classC)
	switch {
	case w.Delay > 0:
		if last.IsZero() {
			return until, refuse(message.WindowNotFound, "no uplink of device %v was acknowledged here", m.DevEUI)
		}
		until = last.Add(time.Duration(w.Delay) * time.Second)
	case len(w.TMMS) > 0:
		until = gpsEpoch.Add(time.Duration(min(w.TMMS[len(w.TMMS)-1], 1<<43))*time.Millisecond - gpsLeap)
	case w.Deadline > uint64(classC.Seconds()): // up to it: at once
		if at := moment(w.Deadline); at.Before(until) {
			until = at
		}
	}
	if until.Before(now) {
		return until, refuse(message.TooLate, "its window closed %v ago", now.Sub(until).Round(time.Millisecond))
	}
	return until, nil
}

// moment reads a number of seconds or milliseconds since the epoch. Their
// size tells which: 10^11 is the year 5138 in seconds, and 1973 in milliseconds.
func moment(n uint64) time.Time {
	if n < 1e11 {
		return time.Unix(int64(n), 0)
	}
	return time.UnixMilli(int64(min(n, 1<<62)))
}
