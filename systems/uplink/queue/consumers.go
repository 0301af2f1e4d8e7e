package queue

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"
)

// forgetAfter is how long a consumer without entries must have been silent
// before it is removed from the group.
const forgetAfter = time.Hour

// scriptTime asks the server that has a key for its time.
const scriptTime = `return redis.call('TIME')`

// inspect counts what is pending in the streams that we read, by consumer, and
// notes for the readers whose entries to claim.
func (in *Intake) inspect(ctx context.Context) error {
	failed := in.receiveArrivals(ctx)
	sources := slices.Concat(in.owned.list(), in.forwarded.list())
	dead, err := in.inspectSources(ctx, sources, func(*source) *arrival { return nil })
	for _, s := range sources {
		if left, known := dead[s]; known {
			s.mu.Lock()
			s.dead = left
			s.mu.Unlock()
		}
	}
	in.watchClock()
	return cmp.Or(err, failed)
}

// inspectSources returns the consumers of streams whose entries are to be claimed, and asks for all streams at once. It
// leaves out a stream whose server does not answer. Where there is nothing to look at, nothing is pending.
func (in *Intake) inspectSources(ctx context.Context, sources []*source, arrivalOf func(*source) *arrival) (dead map[*source][]string, failed error) {
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	var cmds []rueidis.Completed
	const each = 4
	for _, s := range sources {
		cmds = append(cmds, in.redis.script(scriptTime, s.key), in.redis.cmd("XINFO", "CONSUMERS", s.key, group),
			in.redis.cmd("XLEN", s.key), in.redis.cmd("XINFO", "GROUPS", s.key))
	}
	asked := time.Now()
	replies := in.redis.client.DoMulti(ctx, cmds...)
	dead = map[*source][]string{}
	for i, s := range sources {
		mine := replies[each*i : each*(i+1)]
		s.compare(asked, mine[0])
		left, err := in.consumers(ctx, s, arrivalOf(s), mine[1:])
		if err == nil || isSpoilt(err) || hasNoGroup(err) {
			dead[s] = left
		} else {
			failed = err
		}
	}
	return dead, failed
}

func (in *Intake) consumers(ctx context.Context, s *source, a *arrival, replies []rueidis.RedisResult) (dead []string, err error) {
	consumers, err := replies[0].ToArray()
	if err != nil {
		return nil, err
	}
	var pending int64
	for i := range consumers {
		about, err := consumers[i].AsMap()
		if err != nil {
			return nil, err
		}
		name, n := text(about["name"]), number(about["pending"])
		pending += n
		switch {
		case name == leftBehind && n > 0:
			dead = append(dead, name)
		case n > 0 && a != nil && in.silent(s, a, name):
			dead = append(dead, name)
		case !in.dead(name):
			if n > 0 && a == nil && in.disowns(s, name) {
				dead = append(dead, name)
			}
		case n > 0:
			dead = append(dead, name)
		case number(about["idle"]) > forgetAfter.Milliseconds():
			if err := in.redis.client.Do(ctx, in.redis.script(scriptForget, s.key, group, name)).Error(); err != nil {
				in.failed("forgetting a consumer of "+s.key, err)
			}
		}
	}
	return dead, in.measure(ctx, s, pending, replies[1], replies[2])
}

// disowns reports whether another live instance names a customer's stream neither as held nor as left. Unless it has just
// read them, the entries in its name are those of an earlier process, which was killed.
func (in *Intake) disowns(s *source, name string) bool {
	said, ok := in.holder.view.Load().said[name]
	return ok && s.index < 0 && name != in.cfg.Instance && !slices.Contains(said.Holds, s.customer()) && !slices.Contains(said.Leaves, s.customer())
}

// measure notes how much of a stream is pending and how much was not delivered, and whether it takes no more.
func (in *Intake) measure(ctx context.Context, s *source, pending int64, length, groups rueidis.RedisResult) error {
	entries, err := length.AsInt64()
	ours, _ := ourGroup(groups)
	newest, _ := parseID(text(ours["last-delivered-id"]))
	if entries == 0 && err == nil && !in.redis.Embedded() { // what was the last one may be deleted, so that nobody reads it
		about, _ := in.redis.do(ctx, "XINFO", "STREAM", s.key).AsMap()
		newest, _ = parseID(text(about["last-generated-id"]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest == lastID {
		s.newest, s.dirty = newest, true // trim renews the stream
	}
	s.pending, s.lag = pending, max(0, entries-pending)
	if lag, err := lagOf(ours); err == nil && !in.redis.Embedded() { // which counts wrongly
		s.lag = lag
	}
	return err
}

// undead are the others that live or, silent as they are, may do so.
func (in *Intake) undead() (names []string) {
	for name := range in.holder.view.Load().live {
		names = append(names, name)
	}
	for name := range in.absent {
		if !in.dead(name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == in.cfg.Instance })
}

// lagOf finds how many entries were not delivered yet; Redis 7 tells, mostly.
func lagOf(ours map[string]rueidis.RedisMessage) (int64, error) {
	lag := ours["lag"]
	return lag.AsInt64()
}

// ourGroup is what a reply to XINFO GROUPS says of the group of the routers; nil: nothing.
func ourGroup(reply rueidis.RedisResult) (map[string]rueidis.RedisMessage, error) {
	groups, err := reply.ToArray()
	for i := range groups {
		if about, err := groups[i].AsMap(); err == nil && text(about["name"]) == group {
			return about, nil
		}
	}
	return nil, err
}

// dead reports whether nothing was heard of an instance for so long that a live one would have said something:
// for a moment, and for a lease since we found Redis again, or first, as after an outage of Redis, or of the way
// to it, all heartbeats are missing. It notes when that will be.
func (in *Intake) dead(instance string) bool {
	if in.holder.lives(instance) {
		delete(in.absent, instance)
		return false
	}
	since, ok := in.absent[instance]
	if !ok {
		since = time.Now()
		in.absent[instance] = since
	}
	found := in.touch
	if found.IsZero() {
		found = since
	}
	left := max(in.cfg.beat()/2-time.Since(since), in.cfg.Lease-time.Since(found))
	if left > 0 {
		in.doubt = min(in.doubt, left)
	}
	return left <= 0
}

func text(m rueidis.RedisMessage) string {
	s, _ := m.ToString()
	return s
}

func number(m rueidis.RedisMessage) int64 {
	n, _ := m.AsInt64()
	return n
}
