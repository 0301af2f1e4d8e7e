package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// claimAtOnce is how many entries are claimed with one command.
const claimAtOnce = 500

// forgetAfter is how long a consumer without entries must have been silent
// before it is removed from the group.
const forgetAfter = time.Hour

// leftBehind is the consumer of what instances that left had in hand, which whoever reads the source next takes
// over at once. No instance can have that name.
const leftBehind = "(left)"

// leftIdle is how long nothing has happened to such entries, as they say: who claims first resets that, so that a
// second one gets nothing.
const leftIdle = time.Hour

// scriptLeave gives entries to leftBehind that are still pending with a consumer. That is no delivery; the next one is.
const scriptLeave = `
for i = 5, #ARGV do
  if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2]) > 0 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[i], 'IDLE', ARGV[4], 'JUSTID')
  end
end
return 1`

// leaveBehind gives what is in flight here to leftBehind. An embedded Redis ends with its instance.
func (in *Intake) leaveBehind(ctx context.Context) error {
	if in.redis.Embedded() {
		return nil
	}
	var cmds []rueidis.Completed
	for _, s := range in.all() {
		for ids := range slices.Chunk(s.pendingIDs(), maxAcks) {
			var e encoder
			for _, id := range ids {
				e.id(id)
			}
			args := append([]string{group, in.cfg.Instance, leftBehind, strconv.FormatInt(leftIdle.Milliseconds(), 10)}, e.args...)
			cmds = append(cmds, in.redis.script(scriptLeave, s.key, args...))
		}
	}
	return in.redis.doAll(ctx, cmds)
}

// createGroups makes the consumer groups of sources, from the beginning of the streams.
func (in *Intake) createGroups(ctx context.Context, sources []*source) error {
	var failed error
	for _, s := range sources {
		err := in.redis.client.Do(ctx, in.redis.evenFull("XGROUP", "CREATE", s.key, group, "0", "MKSTREAM")).Error()
		if err == nil {
			s.mu.Lock()
			s.newest = entryID{} // nothing is delivered yet, and nothing may be cut off
			s.mu.Unlock()
			continue
		}
		if !strings.Contains(err.Error(), "BUSYGROUP") {
			failed = err
		}
	}
	return failed
}

// scriptTime asks the server that has a key for its time.
const scriptTime = `return redis.call('TIME')`

// inspect counts what is pending in the streams that we read, by consumer, and
// notes for the readers whose entries to claim.
func (in *Intake) inspect(ctx context.Context) (failed error) {
	for _, set := range []*sourceSet{in.owned, in.forwarded} {
		for _, s := range set.list() {
			if err := in.inspectSource(ctx, s); err != nil && !isSpoilt(err) && !strings.Contains(err.Error(), "NOGROUP") {
				failed = err
			}
		}
	}
	in.watchClock()
	return failed
}

func (in *Intake) inspectSource(ctx context.Context, s *source) error {
	r := in.redis
	asked := time.Now()
	replies := r.client.DoMulti(ctx, r.script(scriptTime, s.key),
		r.cmd("XINFO", "CONSUMERS", s.key, group), r.cmd("XLEN", s.key), r.cmd("XINFO", "GROUPS", s.key))
	s.compare(asked, replies[0])
	replies = replies[1:]
	consumers, err := replies[0].ToArray()
	if err != nil {
		if strings.Contains(err.Error(), "no such key") {
			return nil
		}
		return err
	}
	var (
		dead    []string
		pending int64
	)
	for i := range consumers {
		about, err := consumers[i].AsMap()
		if err != nil {
			return err
		}
		name, n := text(about["name"]), number(about["pending"])
		pending += n
		switch {
		case name == leftBehind && n > 0:
			dead = append(dead, name)
		case !in.dead(name):
		case n > 0:
			dead = append(dead, name)
		case number(about["idle"]) > forgetAfter.Milliseconds():
			if err := r.client.Do(ctx, r.script(scriptForget, s.key, group, name)).Error(); err != nil {
				return err
			}
		}
	}
	length, err := replies[1].AsInt64()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead, s.pending, s.lag = dead, pending, max(0, length-pending)
	if lag, ok := lagOf(replies[2]); ok && !r.Embedded() { // which counts wrongly
		s.lag = lag
	}
	return err
}

// lagOf finds how many entries were not delivered yet; Redis 7 tells, mostly.
func lagOf(reply rueidis.RedisResult) (int64, bool) {
	groups, err := reply.ToArray()
	if err != nil {
		return 0, false
	}
	for i := range groups {
		about, err := groups[i].AsMap()
		if err != nil || text(about["name"]) != group {
			continue
		}
		lag, ok := about["lag"]
		if n, err := lag.AsInt64(); ok && err == nil {
			return n, true
		}
	}
	return 0, false
}

// dead tells whether nothing was heard of an instance for so long that a live one would have said something:
// for a moment, and for a lease since we found Redis again, or first, as after an outage of Redis, or of the way
// to it, nobody's heartbeat is there. It notes when that will be.
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

// reclaim reads what has to be read again: our own entries that we know nothing of,
// since their reply was lost or we are a successor; and what the dead left.
func (f *fetcher) reclaim(ctx context.Context, sources []*source) error {
	for _, s := range sources {
		if f.isAway(s) {
			continue
		}
		if err := f.reclaimSource(ctx, s); err != nil {
			if f.in.redis.single && !isSpoilt(err) {
				return err
			}
			f.lost(s, err)
		}
	}
	return nil
}

func (f *fetcher) reclaimSource(ctx context.Context, s *source) error {
	s.mu.Lock()
	own, dead := s.recover, s.dead
	s.recover, s.dead = false, nil
	s.mu.Unlock()
	if own {
		if err := f.in.createGroups(ctx, []*source{s}); err != nil {
			return err
		}
		if err := f.claim(ctx, s, f.in.cfg.Instance, 0); err != nil {
			return err
		}
	}
	for _, name := range dead {
		idle := f.in.cfg.Lease
		if name == leftBehind {
			idle = leftIdle
		}
		if err := f.claim(ctx, s, name, idle); err != nil {
			return err
		}
	}
	return nil
}

// claim takes over the entries of a consumer to which nothing happened for so long.
func (f *fetcher) claim(ctx context.Context, s *source, consumer string, idle time.Duration) error {
	millis := strconv.FormatInt(idle.Milliseconds(), 10)
	from := "-"
	for f.room(ctx) {
		reply := f.in.redis.do(ctx, "XPENDING", s.key, group, "IDLE", millis, from, "+",
			strconv.Itoa(claimAtOnce), consumer)
		items, err := reply.ToArray()
		if err != nil || len(items) == 0 {
			return err
		}
		batch := f.unknown(s, items)
		if err := f.claimBatch(ctx, s, batch, millis); err != nil {
			return err
		}
		if len(items) < claimAtOnce {
			return nil
		}
		var e encoder
		e.id(batch.last.next())
		from = e.args[0]
	}
	return nil
}

// A claimBatch is what to claim next: how often each entry was delivered, the
// coming time included.
type claimBatch struct {
	deliveries map[entryID]int
	ids        []string
	last       entryID // seen
}

// unknown leaves out the entries that are in flight here.
func (f *fetcher) unknown(s *source, items []rueidis.RedisMessage) claimBatch {
	batch := claimBatch{deliveries: map[entryID]int{}}
	for i := range items {
		item, err := items[i].ToArray()
		if err != nil || len(item) < 4 {
			continue
		}
		name := text(item[0])
		id, ok := parseID(name)
		if !ok {
			continue
		}
		batch.last = id
		if !s.flies(id) {
			batch.deliveries[id] = int(number(item[3])) + 1
			batch.ids = append(batch.ids, name)
		}
	}
	return batch
}

func (f *fetcher) claimBatch(ctx context.Context, s *source, batch claimBatch, millis string) error {
	if len(batch.ids) == 0 {
		return nil
	}
	f.sources, f.deliveries = []*source{s}, batch.deliveries
	cmd := append([]string{"XCLAIM", s.key, group, f.in.cfg.Instance, millis}, batch.ids...)
	f.begin(s.key)
	var err error
	if f.in.redis.single {
		err = f.ask(ctx, cmd, func() error { return f.conn.entries(f) })
	} else {
		err = f.entries(f.in.redis.do(ctx, cmd...).ToArray())
	}
	f.end()
	if err != nil {
		return err
	}
	f.in.count.claimed.Add(uint64(len(f.ids)))
	if len(f.ids) == len(batch.ids) {
		return nil
	}
	return f.forget(ctx, s, batch)
}

// forget acknowledges what could not be claimed because the stream holds it no
// more: somebody cut it off.
func (f *fetcher) forget(ctx context.Context, s *source, batch claimBatch) error {
	for _, name := range batch.ids {
		if id, _ := parseID(name); slices.Contains(f.ids, id) {
			continue
		}
		entries, err := f.in.redis.do(ctx, "XRANGE", s.key, name, name).ToArray()
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			continue // another was faster
		}
		n, err := f.in.redis.do(ctx, "XACK", s.key, group, name).AsInt64()
		if err != nil {
			return err
		}
		f.in.count.lost.Add(uint64(max(0, n))) // 0: it was acknowledged in between
	}
	return nil
}
