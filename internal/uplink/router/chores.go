package router

import (
	"context"
	"errors"
	"maps"
	"time"

	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/message"
	"contend/internal/uplink/outbox"
	"contend/internal/uplink/table"
)

const (
	// choresMost bounds what waits to be written to the database. More is
	// forgotten: a device that keeps failing, or sending, brings it up again.
	choresMost = 4096
	trustEvery = 5 * time.Second
)

// A chore is a change of the routing table that follows from traffic. It is
// done beside the way of the uplinks, which waits for no database.
type chore interface {
	do(ctx context.Context, t *table.Table) error
}

// A suspension ends the routing of a device until it gets another row.
type suspension outbox.Candidate

func (s suspension) do(ctx context.Context, t *table.Table) error {
	return t.Suspend(ctx, s.DevEUI, s.Created)
}

// A promotion makes a device's target address the active one.
type promotion struct {
	eui  lorawan.EUI
	addr lorawan.DevAddr
}

func (p promotion) do(ctx context.Context, t *table.Table) error {
	return t.Promote(ctx, p.eui, p.addr)
}

func (r *Router) later(c chore) {
	select {
	case r.chores <- c:
	default:
	}
}

// solved notes which device sent an uplink.
func (r *Router) solved(eui lorawan.EUI, u *message.Uplink) {
	r.downlinks.solved(eui, u)
	row, ok := r.config.Table.ByDevEUI(eui)
	if !ok || !row.HasTarget {
		return
	}
	if f, err := lorawan.Parse(u.PHY); err == nil && f.DevAddr == row.Target && f.Type != lorawan.JoinRequest && f.Type != lorawan.RejoinRequest {
		r.later(promotion{eui, row.Target})
	}
}

// doChores writes to the database what follows from traffic.
func (r *Router) doChores(ctx context.Context) error {
	tick := time.NewTicker(trustEvery)
	defer tick.Stop()
	for {
		select {
		case c := <-r.chores:
			if err := c.do(ctx, r.config.Table); err != nil && !errors.Is(err, table.ErrDeviceNotFound) && ctx.Err() == nil {
				r.config.Log.Warn("the routing table was not changed", "error", err)
			}
		case <-tick.C:
			r.saveTrust(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			r.saveTrust(last)
			return nil
		}
	}
}

// saveTrust stores the lengths of challenges that changed.
func (r *Router) saveTrust(ctx context.Context) {
	for _, c := range r.all() {
		maps.Copy(c.unsaved, c.box.Trust())
		if len(c.unsaved) == 0 {
			continue
		}
		var sizes []table.Trust
		for row, size := range c.unsaved {
			sizes = append(sizes, table.Trust{DevEUI: row.DevEUI, Created: row.Created, Size: size})
		}
		if err := r.config.Table.SaveTrust(ctx, sizes); err != nil {
			r.config.Log.Warn("trust was not saved", "devices", len(c.unsaved), "error", err)
			continue
		}
		clear(c.unsaved)
	}
}
