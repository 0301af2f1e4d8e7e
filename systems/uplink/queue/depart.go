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
	if err := in.redis.doAll(ctx, cmds); err != nil {
		return err
	}
	in.mu.Lock()
	for _, s := range gone {
		delete(in.leaving, s)
	}
	in.mu.Unlock()
	in.announce(ctx)
	return nil
}

// departed tells whether a partition's lease is to be given up now, and sees to it that it will be.
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
			s.rest()
			in.cfg.HandOver()
			in.mu.Lock()
			d.done = true
			in.mu.Unlock()
			in.wakeKeeper()
		})
	}
	return d.done
}
