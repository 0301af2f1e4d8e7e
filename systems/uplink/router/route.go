package router

import (
	"context"
	"errors"
	"slices"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/table"
)

// A fate is what the router itself decides about an uplink.
type fate int

const (
	routed      fate = iota // given to one customer, or more
	duplicate               // a copy of one that was passed on
	malformed               // no frame of LoRaWAN
	notAnUplink             // a downlink's type, or a proprietary one
	unroutable              // of no device that is known
	suspended               // devices suspended after too many wrong answers to a challenge
	fateCount
)

func (f fate) String() string {
	return [fateCount]string{"routed", "duplicate", "malformed", "not_an_uplink", "unroutable", "suspended"}[f]
}

// handle takes what the intake read. It is called by several goroutines.
func (r *Router) handle(batch []*message.Uplink) {
	now := time.Now()
	r.clocks.date(batch, now)
	first, copies := r.dedup.sort(batch, now)
	r.done(copies, duplicate)
	r.pass(first)
}

// collect passes on the best copies of frames when they have been waited for.
func (r *Router) collect(ctx context.Context) error {
	for ctx.Err() == nil {
		sleep(ctx, r.passDue())
	}
	return nil
}

// passDue passes on those that are due, and returns when to ask again.
func (r *Router) passDue() (next time.Duration) {
	r.passing.Lock()
	defer r.passing.Unlock()
	ready, next := r.dedup.due(time.Now())
	r.pass(ready)
	return next
}

// pass gives uplinks to the customers whose devices may have sent them.
func (r *Router) pass(uplinks []*message.Uplink) {
	var room [8]table.Row
	lots := map[table.Customer][]outbox.Message{}
	var ends [fateCount][]*message.Uplink
	r.warm(uplinks)
	for _, u := range uplinks {
		rows, what := r.rows(room[:0], u)
		if what != routed {
			ends[what] = append(ends[what], u)
			continue
		}
		share(lots, u, rows)
		r.fates[routed].Add(1)
	}
	for what, list := range ends {
		if fate(what) != malformed {
			r.done(list, fate(what))
		} else if len(list) > 0 {
			r.fates[malformed].Add(int64(len(list)))
			r.intake.Reject(list, whyMalformed)
		}
	}
	for customer, messages := range lots {
		r.deliver(string(customer), messages)
	}
}

// warm prepares the look-ups of a batch.
func (r *Router) warm(uplinks []*message.Uplink) {
	var room [256]lorawan.DevAddr
	addrs := room[:0]
	for _, u := range uplinks[:min(len(uplinks), len(room))] {
		if addr, ok := lorawan.AddrOf(u.PHY); ok {
			addrs = append(addrs, addr)
		}
	}
	r.config.Table.Warm(addrs)
}

// rows returns the devices that may have sent an uplink.
func (r *Router) rows(dst []table.Row, u *message.Uplink) ([]table.Row, fate) {
	f, err := lorawan.Parse(u.PHY)
	if err != nil {
		return nil, malformed
	}
	switch f.Type {
	case lorawan.UnconfirmedUp, lorawan.ConfirmedUp:
		dst = r.config.Table.ByAddr(dst, f.DevAddr)
	case lorawan.JoinRequest, lorawan.RejoinRequest:
		row, ok := r.config.Table.ByDevEUI(f.DevEUI)
		joins := f.Type == lorawan.JoinRequest || f.RejoinType == 1
		if ok && (!joins || row.Joins(f.JoinEUI)) {
			dst = append(dst, row)
		}
	default:
		return nil, notAnUplink
	}
	if len(dst) == 0 {
		return nil, unroutable
	}
	if dst = slices.DeleteFunc(dst, func(row table.Row) bool { return row.Suspended }); len(dst) == 0 {
		return nil, suspended
	}
	return dst, routed
}

// share adds one message for each customer to the lots, with that customer's
// devices only.
func share(lots map[table.Customer][]outbox.Message, u *message.Uplink, rows []table.Row) {
	for _, row := range rows {
		lot := lots[row.Customer]
		if n := len(lot); n == 0 || lot[n-1].Uplink != u {
			lot = append(lot, newMessage(u))
			u.Recipients.Add(1)
		}
		addCandidate(&lot[len(lot)-1], &row)
		lots[row.Customer] = lot
	}
}

// newMessage is an uplink for a customer, as yet without a device.
func newMessage(u *message.Uplink) outbox.Message {
	m := outbox.Message{Uplink: u}
	m.Addr, m.HasAddr = lorawan.AddrOf(u.PHY)
	return m
}

// addCandidate adds one of the customer's devices that may have sent the uplink.
func addCandidate(m *outbox.Message, row *table.Row) {
	m.Candidates = append(m.Candidates, outbox.Candidate{DevEUI: row.DevEUI, Created: row.Created})
	m.Proven = m.Proven || row.ProvenAt(m.Addr)
}

// whyMalformed says what is wrong with a frame.
func whyMalformed(u *message.Uplink) (kind, reason string) {
	_, err := lorawan.Parse(u.PHY)
	for _, k := range []struct {
		kind string
		err  error
	}{{"frame_size", lorawan.ErrSize}, {"frame_version", lorawan.ErrVersion}, {"frame_options", lorawan.ErrOptions}, {"frame_rejoin", lorawan.ErrRejoinType}} {
		if errors.Is(err, k.err) {
			kind = k.kind
		}
	}
	return kind, err.Error()
}

// done ends uplinks that are passed on to nobody.
func (r *Router) done(uplinks []*message.Uplink, what fate) {
	if len(uplinks) == 0 {
		return
	}
	r.fates[what].Add(int64(len(uplinks)))
	r.intake.Ack(message.Origins(uplinks))
}

// settled lets go of uplinks that one more customer is done with.
func (r *Router) settled(uplinks []*message.Uplink) {
	origins := make([]message.Origin, 0, len(uplinks))
	for _, u := range uplinks {
		if u.Recipients.Add(-1) == 0 {
			origins = append(origins, u.Origin)
		}
	}
	r.intake.Ack(origins)
}
