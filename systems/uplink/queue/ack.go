package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"contend/systems/uplink/message"
)

const (
	// gather is how long acknowledgements are collected before they are sent.
	gather = 2 * time.Millisecond
	// maxAcks is how many go in one command.
	maxAcks = 1000
	// trimEvery is how often what all have acknowledged is cut off.
	trimEvery = 250 * time.Millisecond
	// heldAfter is how much older than the newest entry read the oldest one in
	// flight may be before acknowledged ones after it are deleted one by one.
	heldAfter = 2 * time.Second
)

// Ack says that entries are settled: they need not come again. The acknowledgements
// are sent in the background; until then a crash brings the entries again. An Origin
// that is not in flight, or was settled before, is counted and ignored.
func (in *Intake) Ack(origins []message.Origin) {
	for len(origins) > 0 {
		n := 1
		for n < len(origins) && origins[n].Partition == origins[0].Partition {
			n++
		}
		unknown := n
		if s := in.source(origins[0].Partition); s != nil {
			var landed int
			unknown, landed = s.settle(origins[:n])
			in.land(landed)
		}
		in.count.unknown.Add(uint64(unknown))
		origins = origins[n:]
	}
	wake(in.acksWait)
}

// land counts entries that are no longer in flight, and wakes those that wait for room.
func (in *Intake) land(n int) {
	if n > 0 {
		in.flying.Add(-int64(n))
		in.landed.send()
	}
}

// source finds the source of an Origin's partition; nil if this instance does not read it.
func (in *Intake) source(index int) *source {
	if index >= 0 {
		if index < len(in.parts) {
			return in.parts[index]
		}
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if i := -1 - index; i < len(in.byIndex) {
		return in.byIndex[i]
	}
	return nil
}

// all returns every source that may have entries in flight.
func (in *Intake) all() []*source {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append(in.parts[:len(in.parts):len(in.parts)], in.byIndex...)
}

// acknowledge sends what Ack collects, and trims, until the intake is closed.
func (in *Intake) acknowledge() {
	var (
		a     acker
		pause backoff
	)
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	for in.ctx.Err() == nil {
		var err error
		select {
		case <-in.ctx.Done():
		case <-ticker.C:
			err = in.trim(in.ctx)
		case <-in.acksWait:
			wait(in.ctx, gather)
			err = a.send(in.ctx, in)
		}
		if err == nil {
			pause = 0
			continue
		}
		if in.ctx.Err() == nil {
			in.failed("acknowledging", err)
		}
		a = acker{} // what was cut short may be sent later, with the text that it points to
		pause.wait(in.ctx)
		wake(in.acksWait)
	}
}

// flushAll sends the acknowledgements that are left, and trims.
func (in *Intake) flushAll(ctx context.Context) error {
	var a acker
	err := a.send(ctx, in)
	if err == nil {
		err = in.trim(ctx)
	}
	if err != nil {
		return fmt.Errorf("queue: acknowledging: %w", err)
	}
	return nil
}

// An acker sends acknowledgements.
type acker struct {
	enc   encoder
	cmds  []rueidis.Completed
	parts []ackPart
}

// An ackPart is what one command acknowledges.
type ackPart struct {
	source *source
	ids    []entryID
	del    bool // the command deletes what the one before it acknowledged
}

func (a *acker) send(ctx context.Context, in *Intake) error {
	a.enc.reset()
	a.cmds, a.parts = a.cmds[:0], a.parts[:0]
	for _, s := range in.all() {
		s.mu.Lock()
		ids, held := s.acks, s.held
		s.acks = nil
		s.mu.Unlock()
		for len(ids) > 0 {
			n := min(len(ids), maxAcks)
			a.add(in.redis, ackPart{source: s, ids: ids[:n]})
			if held {
				a.add(in.redis, ackPart{source: s, ids: ids[:n], del: true})
			}
			ids = ids[n:]
		}
	}
	if len(a.cmds) == 0 {
		return nil
	}
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	var failed error
	for i, reply := range in.redis.client.DoMulti(ctx, a.cmds...) {
		part, err := a.parts[i], reply.Error()
		switch {
		case isSpoilt(err): // what was there is gone
			if !part.del {
				in.land(part.source.acknowledged(part.ids))
				in.count.lost.Add(uint64(len(part.ids)))
			}
		case err != nil:
			failed = err
			part.failed()
		case part.del:
			in.count.trimmed.Add(uint64(len(part.ids)))
		default:
			in.land(part.source.acknowledged(part.ids))
			in.count.acked.Add(uint64(len(part.ids)))
		}
	}
	return failed
}

func (a *acker) add(r *Redis, part ackPart) {
	if a.enc.args = append(a.enc.args[:0], "XDEL", part.source.key); !part.del {
		a.enc.args = append(a.enc.args[:0], "XACK", part.source.key, group)
	}
	for _, id := range part.ids {
		a.enc.id(id)
	}
	a.cmds = append(a.cmds, r.cmd(a.enc.args...))
	a.parts = append(a.parts, part)
}

// failed puts acknowledgements back; a deletion that failed is left to trimming.
func (p ackPart) failed() {
	if p.del {
		return
	}
	p.source.mu.Lock()
	defer p.source.mu.Unlock()
	p.source.acks = append(p.source.acks, p.ids...)
}

// trim cuts off what is older than the oldest entry that has not been acknowledged, in the sources that this instance
// reads, since no other does. It asks all servers at once, and a silent one leaves time to cut off what is on the
// others.
func (in *Intake) trim(ctx context.Context) error {
	var list []trimming
	var asks, cuts []rueidis.Completed
	for _, s := range slices.Concat(in.owned.list(), in.forwarded.list()) {
		s.mu.Lock()
		if s.dirty {
			list = append(list, trimming{source: s, newest: s.newest})
			asks = append(asks, in.redis.cmd("XPENDING", s.key, group, "-", "+", "1"))
		}
		s.dirty = false
		s.mu.Unlock()
	}
	var failed error
	cutting := list[:0]
	asking, cancel := in.redis.promptly(ctx)
	defer cancel()
	for i, reply := range in.redis.client.DoMulti(asking, asks...) {
		t := list[i]
		if t.err = t.look(reply); t.err == nil {
			cuts = append(cuts, t.command(in.redis))
			cutting = append(cutting, t)
			continue
		}
		failed = cmp.Or(t.end(), failed)
	}
	cutOff, cancel := in.redis.promptly(ctx)
	defer cancel()
	for i, reply := range in.redis.client.DoMulti(cutOff, cuts...) {
		t := &cutting[i]
		var n int64
		if n, t.err = reply.AsInt64(); t.renews() {
			in.renewed(t, n)
		} else {
			in.count.trimmed.Add(uint64(max(0, n)))
		}
		failed = cmp.Or(t.end(), failed)
	}
	return failed
}

// A trimming is one of a source.
type trimming struct {
	source  *source
	newest  entryID // what is read later is newer, so that it cannot be cut off
	oldest  entryID // that was delivered to anybody and not acknowledged
	pending bool    // there is one
	err     error
}

func (t *trimming) look(reply rueidis.RedisResult) error {
	items, err := reply.ToArray()
	if err != nil || len(items) == 0 {
		return err
	}
	item, err := items[0].ToArray()
	if err != nil || len(item) == 0 {
		return err
	}
	t.oldest, t.pending = parseID(text(item[0]))
	if !t.pending {
		return fmt.Errorf("%s: %.40q is no entry", t.source.key, text(item[0]))
	}
	return nil
}

// renews says that nothing is pending in a stream that takes no more entries.
func (t *trimming) renews() bool { return t.newest == lastID && !t.pending }

func (t *trimming) command(r *Redis) rueidis.Completed {
	if t.renews() {
		return r.renewal(t.source.key, group)
	}
	keep := t.newest.next()
	if t.pending && (t.newest == lastID || t.oldest.less(keep)) {
		keep = t.oldest
	}
	e := encoder{args: []string{"XTRIM", t.source.key, "MINID", "~"}}
	e.id(keep)
	return r.cmd(append(e.args, "LIMIT", "0")...) // else 10,000 at a time, which a single device exceeds
}

// end notes what is to be done next time.
func (t *trimming) end() error {
	s := t.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if isSpoilt(t.err) {
		t.err = nil
	}
	s.dirty = s.dirty || t.err != nil || t.newest == lastID && s.newest == lastID
	s.held = t.pending && t.newest.millis > t.oldest.millis+uint64(heldAfter.Milliseconds())
	return t.err
}

// renewed notes that a stream begins anew: its IDs are lower than those before.
func (in *Intake) renewed(t *trimming, n int64) {
	if t.err != nil || n == 0 {
		return
	}
	t.source.mu.Lock()
	t.source.newest = entryID{}
	t.source.mu.Unlock()
	in.redis.log.Warn("somebody wrote an entry with the greatest ID, so the stream took no more; it begins anew", "stream", t.source.key)
}

// A broadcast wakes all that wait for it.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait returns a channel that the next send closes.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
