package queue

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// A departure is how far a partition is that is given up: from a version of owned on nothing is read of it, and then
// what was read of it is handed over.
type departure struct {
	version     uint64
	begun, done bool
}

// release gives up the leases of partitions that the reader reads no more, when what was read of them is out of the way.
func (in *Intake) release(ctx context.Context, others []*source) error {
	var cmds []rueidis.Completed
	var gone []*source
	for _, s := range others {
		if in.departed(s) {
			cmds = append(cmds, in.redis.script(scriptDelete, keyLease+strconv.Itoa(s.index), in.owner()))
			gone = append(gone, s)
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	if err := in.redis.doAll(ctx, cmds); err != nil {
		return err
	}
	in.mu.Lock()
	for _, s := range gone {
		delete(in.leaving, s)
	}
	in.mu.Unlock()
	in.tellHolders()
	return nil
}

// departed reports whether a partition's lease is to be given up now, and sees to it that it will be.
func (in *Intake) departed(s *source) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	d := in.leaving[s]
	if d == nil {
		return false
	}
	if passed, _ := in.owned.hasPassed(d.version); !passed {
		time.AfterFunc(blockFor/5, in.wakeKeeper)
		return false
	}
	if !d.begun {
		d.begun = true
		in.routines.Go(func() {
			done := in.depart(s)
			in.mu.Lock()
			d.begun, d.done = done, done
			in.mu.Unlock()
			if done {
				in.wakeKeeper()
			}
		})
	}
	return d.done
}

// depart gets out of the way what was read of a partition, and reports whether its lease may be given up.
func (in *Intake) depart(s *source) bool {
	s.rest()
	in.cfg.HandOver()
	if !in.flush(in.ctx) {
		in.wakeKeeper() // it is read again until all is written
		return false
	}
	if err := in.leaveUnknown(in.ctx, s); err != nil {
		in.failed("giving back entries of "+s.key, err)
		return false
	}
	return true
}

// leaveUnknown gives to leftBehind the entries of a source that are pending with this instance and that it knows
// nothing of, as the reply that had them was lost: while it is alive nobody else would claim them. Nothing reads the
// source during the call.
func (in *Intake) leaveUnknown(ctx context.Context, s *source) error {
	s.mu.Lock()
	unknown := s.recover
	s.mu.Unlock()
	if !unknown || in.redis.Embedded() {
		return nil
	}
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	var ids []entryID
	for from := "-"; from != ""; {
		items, err := in.redis.do(ctx, "XPENDING", s.key, group, from, "+", strconv.Itoa(claimAtOnce), in.cfg.Instance).ToArray()
		if hasNoGroup(err) {
			return nil
		} else if err != nil {
			return err
		}
		from = ""
		for i := range items {
			item, err := items[i].ToArray()
			if err != nil || len(item) == 0 {
				continue
			}
			id, ok := parseID(text(item[0]))
			if ok && !s.flies(id) {
				ids = append(ids, id)
			}
			if ok && len(items) == claimAtOnce {
				from = id.after()
			}
		}
	}
	return in.redis.doAll(ctx, in.giveAway(s, ids, 1))
}
