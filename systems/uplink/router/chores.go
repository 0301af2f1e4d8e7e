package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/table"
)

const (
	// trustEvery is how often it is saved what is known from challenges.
	trustEvery = 5 * time.Second
	// firstRetry and lastRetry are the times between attempts to reach a database that
	// is away: each is twice the one before.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	// lastTry is how long the database has at the end even if customers took all the
	// time that there was.
	lastTry = time.Second
)

// A store is what chores are written to: a *table.Table.
type store interface {
	Suspend(ctx context.Context, eui lorawan.EUI, created int64) error
	Promote(ctx context.Context, eui lorawan.EUI, addr lorawan.DevAddr) error
	SaveTrust(ctx context.Context, all []table.Trust) error
}

// A chore is a change of the routing table that follows from traffic. Chores that
// are equal are one.
type chore interface {
	do(ctx context.Context, s store) error
}

// A suspension ends the routing of a device until it gets another row.
type suspension outbox.Candidate

func (s suspension) do(ctx context.Context, to store) error {
	return to.Suspend(ctx, s.DevEUI, s.Created)
}

func (s suspension) String() string { return fmt.Sprintf("suspend %v", s.DevEUI) }

// A promotion makes a device's target address the active one.
type promotion struct {
	eui  lorawan.EUI
	addr lorawan.DevAddr
}

func (p promotion) do(ctx context.Context, to store) error {
	return to.Promote(ctx, p.eui, p.addr)
}

func (p promotion) String() string { return fmt.Sprintf("make %v the address of %v", p.addr, p.eui) }

// chores are done in the background, because uplinks wait for no database. While
// the database is away they wait, each once. Rows do not change until then, so a device
// has at most one suspension and one promotion.
type chores struct {
	store store
	trust func() map[outbox.Candidate]outbox.Trust // what changed since the last call
	log   *slog.Logger
	added chan struct{} // holds a token when there is something new

	mu      sync.Mutex
	list    []chore            // in the order of their arrival
	waiting map[chore]struct{} // those in list, except the first while it is done

	unsaved map[outbox.Candidate]outbox.Trust // of run only
}

func newChores(s store, trust func() map[outbox.Candidate]outbox.Trust, log *slog.Logger) *chores {
	return &chores{store: s, trust: trust, log: log, added: make(chan struct{}, 1),
		waiting: map[chore]struct{}{}, unsaved: map[outbox.Candidate]outbox.Trust{}}
}

// add leaves a chore to run.
func (c *chores) add(one chore) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiting[one]; ok {
		return
	}
	c.waiting[one] = struct{}{}
	c.list = append(c.list, one)
	select {
	case c.added <- struct{}{}:
	default:
	}
}

// begin returns the first chore. An equal one that is added after that counts as another.
func (c *chores) begin() (one chore, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		return nil, false
	}
	delete(c.waiting, c.list[0])
	return c.list[0], true
}

// end takes the first chore away if it is done.
func (c *chores) end(done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.waiting[c.list[0]]; !done && !again {
		c.waiting[c.list[0]] = struct{}{}
		return
	}
	c.list[0], c.list = nil, c.list[1:]
}

func (c *chores) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.list)
}

// run does chores as they come, and saves trust every few seconds, until ctx ends.
func (c *chores) run(ctx context.Context) {
	tick := time.NewTicker(trustEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-c.added:
		case <-tick.C:
			c.collect()
		case <-ctx.Done():
		}
		c.catchUp(ctx)
	}
}

// finish writes what is left after run, with attempts until the deadline, and for
// lastTry at least. What the database does not take by then is lost, and logged.
func (c *chores) finish(deadline time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), max(time.Until(deadline), lastTry))
	defer cancel()
	c.collect()
	c.catchUp(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.list {
		c.log.Warn("lost: the database did not come back in time", "change", one)
	}
	if n := len(c.unsaved); n > 0 {
		c.log.Warn("lost: the database did not come back in time", "challenges", n)
	}
}

func (c *chores) collect() {
	for row, is := range c.trust() {
		if !is.HasProven {
			is.Proven, is.HasProven = c.unsaved[row].Proven, c.unsaved[row].HasProven
		}
		c.unsaved[row] = is
	}
}

// catchUp writes all that waits, with as many attempts as it takes.
func (c *chores) catchUp(ctx context.Context) {
	for wait := time.Duration(0); ctx.Err() == nil; wait = min(max(2*wait, firstRetry), lastRetry) {
		if sleep(ctx, wait); ctx.Err() != nil {
			return
		}
		switch err := c.write(ctx); {
		case err == nil && wait > 0:
			c.log.Info("the routing table has what followed from traffic while the database was away")
			return
		case err == nil:
			return
		case wait == 0:
			c.log.Warn("the database is away: what follows from traffic is written when it is back", "error", err)
		}
	}
}

// write does the chores in their order and saves the lengths of challenges. An error
// means that the rest waits.
func (c *chores) write(ctx context.Context) error {
	for one, ok := c.begin(); ok; one, ok = c.begin() {
		err := c.judge(ctx, one.do(ctx, c.store))
		c.end(err == nil)
		if err != nil {
			return err
		}
	}
	if len(c.unsaved) == 0 {
		return nil
	}
	all := make([]table.Trust, 0, len(c.unsaved))
	for row, is := range c.unsaved {
		all = append(all, table.Trust{DevEUI: row.DevEUI, Created: row.Created, Size: is.Size, Proven: is.Proven, HasProven: is.HasProven})
	}
	err := c.judge(ctx, c.store.SaveTrust(ctx, all))
	if err == nil {
		clear(c.unsaved)
	}
	return err
}

// judge returns the errors after which another attempt may succeed. A device that is
// gone needs nothing, and what the database refuses it would refuse again.
func (c *chores) judge(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, table.ErrDeviceNotFound):
		return nil
	case errors.Is(err, table.ErrUnavailable) || ctx.Err() != nil:
		return err
	}
	c.log.Error("the routing table was not changed", "error", err)
	return nil
}

// trust returns what the outboxes learnt of devices since the last call.
func (r *Router) trust() map[outbox.Candidate]outbox.Trust {
	all := map[outbox.Candidate]outbox.Trust{}
	for _, c := range r.all() {
		maps.Copy(all, c.box.Trust())
	}
	return all
}

// solved notes which device sent an uplink.
func (r *Router) solved(eui lorawan.EUI, u *message.Uplink) {
	r.downlinks.solved(eui, u)
	row, ok := r.config.Table.ByDevEUI(eui)
	if !ok || !row.HasTarget {
		return
	}
	if f, err := lorawan.Parse(u.PHY); err == nil && f.DevAddr == row.Target && f.Type != lorawan.JoinRequest && f.Type != lorawan.RejoinRequest {
		r.chores.add(promotion{eui, row.Target})
	}
}
