package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

const (
	// scriptBeat writes what an instance says of itself, unless another process
	// has taken its name.
	scriptBeat = `
local v = redis.call('GET', KEYS[1])
if v and ARGV[3] == 'again' and string.sub(v, 1, string.len(ARGV[1])) ~= ARGV[1] then return 0 end
redis.call('PERSIST', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[4], 'PX', ARGV[2])
return 1`
)

// A presence is what an instance says of itself, after its nonce.
type presence struct {
	Reads bool     `json:"reads"` // it wants partitions
	Alone bool     `json:"alone,omitempty"`
	Holds []string `json:"holds,omitempty"`
	// Has are the partitions that it reads, or has yet to give up. Nobody else takes them, also if the server of a lease lost it.
	Has []int `json:"has,omitempty"`
	// Leaves are the customers that it does not hold any more, and of whose streams it still has what it passed on
	// to nobody.
	Leaves []string `json:"leaves,omitempty"`
	Beat   uint64   `json:"beat"` // how often it said so
}

// beat says that we live; again: and that we should be known. Where a server of a cluster is silent the others know it all the same.
func (in *Intake) beat(ctx context.Context, again string) error {
	in.beats++
	holds := in.holder.own()
	is := presence{Reads: in.owned.isReading(), Alone: in.cfg.Alone, Holds: holds, Leaves: in.leaves(holds), Beat: in.beats}
	for s := range in.held() {
		is.Has = append(is.Has, s.index)
	}
	text, err := json.Marshal(is)
	if err != nil {
		return err
	}
	r := in.redis
	replies := r.client.DoMulti(ctx,
		r.script(scriptBeat, keyInstance+in.cfg.Instance, in.nonce, in.milliseconds(), again, string(text)),
		r.evenFull("SADD", keyInstances, in.cfg.Instance),
		r.cmd("SET", keyPartitions, strconv.Itoa(len(in.parts)), "NX"))
	mine, err := replies[0].AsInt64()
	if err == nil && mine == 0 {
		return ErrNameTaken
	}
	if err == nil {
		in.saidHolds.Store(int64(len(holds)))
		in.said.send()
	}
	return errors.Join(err, replies[1].Error())
}

// announce hints at a change; without it the others find out later.
func (in *Intake) announce(ctx context.Context) {
	if err := in.redis.do(ctx, "PUBLISH", channel, in.cfg.Instance).Error(); err != nil {
		in.failed("announcing", err)
	}
}

// beat is the time between two heartbeats.
func (c *IntakeConfig) beat() time.Duration { return max(c.Lease/6, time.Millisecond) }

func (in *Intake) wakeKeeper() { wake(in.beatNow) }

// live says again and again that this instance lives and what it holds, and has the keeper look then. It waits for nothing
// else: a server of a cluster may be silent, and who says nothing for a lease is taken for dead.
func (in *Intake) live() {
	ticker := time.NewTicker(in.cfg.beat())
	defer ticker.Stop()
	for {
		err := in.tell(in.ctx)
		if errors.Is(err, ErrNameTaken) {
			in.mu.Lock()
			in.cause = err
			in.mu.Unlock()
			in.redis.log.Error("another process runs under our name", "instance", in.cfg.Instance)
			in.stop()
		}
		if in.ctx.Err() != nil {
			return
		}
		pause := in.cfg.beat()
		if err != nil {
			in.failed("heartbeat", err)
			pause /= 3
		}
		wake(in.lookNow)
		ticker.Reset(max(pause, time.Millisecond))
		wait(in.ctx, 10*time.Millisecond) // many hints are one
		select {
		case <-ticker.C:
		case <-in.beatNow:
		case <-in.ctx.Done():
			return
		}
	}
}

// tell says that we live and, if it changed, hints at what we hold.
func (in *Intake) tell(ctx context.Context) error {
	if !in.redis.single {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(silentFor, max(in.cfg.beat(), 100*time.Millisecond)))
		defer cancel()
	}
	changed := in.changed.Swap(false)
	err := in.beat(ctx, "again")
	if err == nil && changed {
		in.announce(ctx)
	}
	if err != nil && changed {
		in.changed.Store(true)
	}
	return err
}

// keep shares the partitions with the other instances that live, and looks after the dead, until the intake is closed.
func (in *Intake) keep() {
	ticker := time.NewTicker(in.cfg.beat())
	defer ticker.Stop()
	for {
		err := in.keepOnce(in.ctx)
		if in.ctx.Err() != nil {
			return
		}
		pause := in.cfg.beat()
		switch {
		case err != nil:
			in.failed("sharing partitions", err)
			in.touch, pause = time.Time{}, pause/3
		case in.touch.IsZero():
			in.touch = time.Now()
		}
		pause = min(pause, in.doubt)
		if err == nil && len(in.arrivals()) > 0 {
			pause = min(pause, arriveEvery)
		}
		ticker.Reset(max(pause, time.Millisecond))
		select {
		case <-ticker.C:
		case <-in.lookNow:
		case <-in.ctx.Done():
			return
		}
	}
}

func (in *Intake) keepOnce(ctx context.Context) error {
	in.doubt = in.cfg.beat()
	readers, err := in.look(ctx)
	switch {
	case err == nil:
		in.readers = readers
	case in.redis.single || in.readers == nil:
		return err
	} // else the server that knows them is away, and the others are shared as before
	return errors.Join(err, in.share(ctx, in.readers), in.inspect(ctx))
}

// listen takes the hints of other instances until the intake is closed.
func (in *Intake) listen() {
	var pause backoff
	for in.ctx.Err() == nil {
		client := in.redis.client
		err := client.Receive(in.ctx, client.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) {
			pause = 0
			if m.Message != in.cfg.Instance {
				in.wakeKeeper()
			}
		})
		if in.ctx.Err() == nil {
			in.failed("listening", err)
			pause.wait(in.ctx)
		}
	}
}
