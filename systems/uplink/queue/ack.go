package queue

import (
	"context"
	"fmt"
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
	// flight may be before acknowledged ones behind it are deleted one by one.
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

// land counts entries that fly no more, and has who waits for room look.
func (in *Intake) land(n int) {
	if n > 0 {
		in.flying.Add(-int64(n))
		in.landed.send()
	}
}

// source finds the source of an Origin's partition; nil: there is none.
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

// trim cuts off what lies before the oldest entry that somebody has not
// acknowledged: of the sources that this instance reads, since no other does.
func (in *Intake) trim(ctx context.Context) error {
	var failed error
	for _, set := range []*sourceSet{in.owned, in.forwarded} {
		for _, s := range set.list() {
			if err := in.trimSource(ctx, s); err != nil && !isSpoilt(err) {
				failed = err
			}
		}
	}
	return failed
}

func (in *Intake) trimSource(ctx context.Context, s *source) error {
	s.mu.Lock()
	newest, dirty := s.newest, s.dirty
	s.dirty = false
	s.mu.Unlock()
	if !dirty {
		return nil
	}
	// What is read from here on is newer than newest, so that it cannot be cut off.
	oldest, ok, err := in.oldestPending(ctx, s)
	if err == nil {
		keep := newest.next()
		if ok && oldest.less(keep) {
			keep = oldest
		}
		var e encoder
		e.args = append(e.args, s.key, "MINID", "~")
		e.id(keep)
		var n int64
		n, err = in.redis.do(ctx, append([]string{"XTRIM"}, e.args...)...).AsInt64()
		in.count.trimmed.Add(uint64(max(0, n)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = s.dirty || err != nil && !isSpoilt(err)
	s.held = ok && newest.millis > oldest.millis+uint64(heldAfter.Milliseconds())
	return err
}

// oldestPending finds the oldest entry that was delivered to anybody and not
// acknowledged; false: there is none.
func (in *Intake) oldestPending(ctx context.Context, s *source) (entryID, bool, error) {
	items, err := in.redis.do(ctx, "XPENDING", s.key, group, "-", "+", "1").ToArray()
	if err != nil || len(items) == 0 {
		return entryID{}, false, err
	}
	item, err := items[0].ToArray()
	if err != nil || len(item) == 0 {
		return entryID{}, false, err
	}
	text, _ := item[0].ToString()
	id, ok := parseID(text)
	if !ok {
		return id, false, fmt.Errorf("%s: %.40q is no entry", s.key, text)
	}
	return id, true, nil
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
