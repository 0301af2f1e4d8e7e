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
// Those that were passed on to nobody were not delivered before, either.
const scriptLeave = `
for i = 6, #ARGV do
  local p = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1, ARGV[2])
  if #p > 0 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[i], 'IDLE', ARGV[4], 'RETRYCOUNT', math.max(0, p[1][4] - ARGV[5]), 'JUSTID')
  end
end
return 1`

// giveAway is what gives entries of a source to leftBehind.
func (in *Intake) giveAway(s *source, all []entryID, undelivered int) (cmds []rueidis.Completed) {
	for ids := range slices.Chunk(all, maxAcks) {
		e := encoder{args: []string{group, in.cfg.Instance, leftBehind, strconv.FormatInt(leftIdle.Milliseconds(), 10), strconv.Itoa(undelivered)}}
		for _, id := range ids {
			e.id(id)
		}
		cmds = append(cmds, in.redis.script(scriptLeave, s.key, e.args...))
	}
	return cmds
}

// leaveBehind gives what is in flight here to leftBehind. An embedded Redis ends with its instance.
func (in *Intake) leaveBehind(ctx context.Context) error {
	if in.redis.Embedded() {
		return nil
	}
	var cmds []rueidis.Completed
	for _, s := range in.all() {
		cmds = append(cmds, in.giveAway(s, s.pendingIDs(), 0)...)
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
	failed = in.receiveArrivals(ctx)
	for _, set := range []*sourceSet{in.owned, in.forwarded} {
		for _, s := range set.list() {
			dead, err := in.inspectSource(ctx, s, nil)
			if err != nil {
				failed = err
			}
			s.mu.Lock()
			s.dead = dead
			s.mu.Unlock()
		}
	}
	in.watchClock()
	return failed
}

// inspectSource returns the consumers of a stream whose entries are to be claimed. Where there is nothing to look at,
// nothing is pending.
func (in *Intake) inspectSource(ctx context.Context, s *source, a *arrival) (dead []string, err error) {
	dead, err = in.consumers(ctx, s, a)
	if err == nil || isSpoilt(err) || strings.Contains(err.Error(), "no such key") || strings.Contains(err.Error(), "NOGROUP") {
		return dead, nil
	}
	return nil, err
}

func (in *Intake) consumers(ctx context.Context, s *source, a *arrival) (dead []string, err error) {
	r := in.redis
	asked := time.Now()
	replies := r.client.DoMulti(ctx, r.script(scriptTime, s.key),
		r.cmd("XINFO", "CONSUMERS", s.key, group), r.cmd("XLEN", s.key), r.cmd("XINFO", "GROUPS", s.key))
	s.compare(asked, replies[0])
	replies = replies[1:]
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
		case n > 0:
			dead = append(dead, name)
		case number(about["idle"]) > forgetAfter.Milliseconds():
			if err := r.client.Do(ctx, r.script(scriptForget, s.key, group, name)).Error(); err != nil {
				return nil, err
			}
		}
	}
	length, err := replies[1].AsInt64()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending, s.lag = pending, max(0, length-pending)
	if lag, ok := lagOf(replies[2]); ok && !r.Embedded() { // which counts wrongly
		s.lag = lag
	}
	return dead, err
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
func lagOf(reply rueidis.RedisResult) (int64, bool) {
	ours, _ := ourGroup(reply)
	lag, ok := ours["lag"]
	n, err := lag.AsInt64()
	return n, ok && err == nil
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

func (f *fetcher) reclaimSource(ctx context.Context, s *source) (err error) {
	s.mu.Lock()
	own, fresh, dead := s.recover, s.fresh, s.dead
	if fresh {
		dead = s.left
	}
	s.recover, s.fresh, s.dead = false, false, nil
	s.mu.Unlock()
	if !own && dead == nil {
		return nil
	}
	defer func() {
		if err != nil {
			s.mu.Lock()
			s.recover, s.fresh = s.recover || own, s.fresh || fresh
			s.mu.Unlock()
		}
	}()
	idle := map[string]time.Duration{}
	if own {
		idle[f.in.cfg.Instance] = 0
		if err := f.in.createGroups(ctx, []*source{s}); err != nil {
			return err
		}
	}
	for _, name := range dead {
		switch {
		case name == leftBehind:
			idle[name] = leftIdle
		case !fresh:
			idle[name] = f.in.cfg.Lease
		default:
			idle[name] = 0
		}
	}
	if fresh && s.index >= 0 {
		f.in.cfg.HandOver()
	}
	return f.claim(ctx, s, idle)
}

// claim takes over the entries of consumers, in their order: of each those to which nothing happened for so long.
func (f *fetcher) claim(ctx context.Context, s *source, idle map[string]time.Duration) error {
	from := "-"
	for f.room(ctx) {
		reply := f.in.redis.do(ctx, "XPENDING", s.key, group, from, "+", strconv.Itoa(claimAtOnce))
		items, err := reply.ToArray()
		if err != nil || len(items) == 0 {
			return err
		}
		batches, last := f.unknown(s, items, idle)
		for _, batch := range batches {
			if err := f.claimBatch(ctx, s, batch); err != nil {
				return err
			}
		}
		if len(items) < claimAtOnce {
			return nil
		}
		var e encoder
		e.id(last.next())
		from = e.args[0]
	}
	return nil
}

// A claimBatch is what to claim next, if nothing happened to it for so long: how often each entry was delivered, the
// coming time included.
type claimBatch struct {
	idle       time.Duration
	deliveries map[entryID]int
	ids        []string
}

// unknown leaves out the entries that are in flight here, and those of other consumers. It returns the last that it saw, too.
func (f *fetcher) unknown(s *source, items []rueidis.RedisMessage, idle map[string]time.Duration) (batches []claimBatch, last entryID) {
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
		last = id
		enough, wanted := idle[text(item[1])]
		if !wanted || number(item[2]) < enough.Milliseconds() || s.flies(id) {
			continue
		}
		if n := len(batches); n == 0 || batches[n-1].idle != enough {
			batches = append(batches, claimBatch{enough, map[entryID]int{}, nil})
		}
		batch := &batches[len(batches)-1]
		batch.deliveries[id] = int(number(item[3])) + 1
		batch.ids = append(batch.ids, name)
	}
	return batches, last
}

func (f *fetcher) claimBatch(ctx context.Context, s *source, batch claimBatch) error {
	f.sources, f.deliveries = []*source{s}, batch.deliveries
	cmd := append([]string{"XCLAIM", s.key, group, f.in.cfg.Instance,
		strconv.FormatInt(batch.idle.Milliseconds(), 10)}, batch.ids...)
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
