package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// claimAtOnce is how many entries are claimed with one command.
const claimAtOnce = 500

// leftBehind is the consumer of what instances that left had in hand, which whoever reads the source next takes
// over at once. No instance can have that name.
const leftBehind = "(left)"

// leftIdle is how long nothing has happened to such entries, as they say: who claims first resets that, so that a
// second one gets nothing.
const leftIdle = time.Hour

// scriptLeave gives entries to leftBehind that are still pending with a consumer. That does not count as a delivery;
// the next one does. Those that were passed on to nobody were not delivered before, either.
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

// reclaim reads what has to be read again: our own entries that we know nothing of,
// since their reply was lost or we are a successor; and what the dead left.
func (f *fetcher) reclaim(ctx context.Context, sources []*source) error {
	f.knock(ctx, sources)
	for _, s := range sources {
		if f.isAway(s) {
			continue
		}
		if err := f.reclaimSource(ctx, s); errors.Is(err, errChanged) {
			return err
		} else if err != nil {
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
	if !own && dead == nil {
		s.mu.Unlock()
		return nil
	}
	s.recover, s.fresh, s.dead = false, false, nil
	s.busy++ // also between the parts in which it is read
	s.mu.Unlock()
	defer s.end()
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
		asking, cancel := f.in.redis.promptly(ctx)
		defer cancel()
		if err := f.in.createGroups(asking, []*source{s}); err != nil {
			return err
		}
	}
	for _, name := range dead {
		switch {
		case name == leftBehind:
			idle[name] = leftIdle
		case !fresh && f.in.holder.lives(name): // what it said is at most one lease old, and has to be younger than the entries
			idle[name] = 2 * f.in.cfg.Lease
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
	for from := "-"; from != ""; {
		if err := f.roomFor(ctx); err != nil {
			return err
		}
		asking, cancel := f.in.redis.promptly(ctx)
		items, err := f.in.redis.do(asking, "XPENDING", s.key, group, from, "+", strconv.Itoa(claimAtOnce)).ToArray()
		cancel()
		if err != nil {
			return err
		}
		batches, last := f.unknown(s, items, idle)
		for _, batch := range batches {
			if err := f.claimBatch(ctx, s, batch); err != nil {
				return err
			}
		}
		if from = last.after(); len(items) < claimAtOnce {
			return nil
		}
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

// unknown leaves out the entries that are in flight here, and those of other consumers. It sets aside those that
// could not even be read in order to be set aside. It also returns the last that it saw.
func (f *fetcher) unknown(s *source, items []rueidis.RedisMessage, idle map[string]time.Duration) (batches []claimBatch, last entryID) {
	var unread []entryID
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
		deliveries := int(number(item[3])) + 1
		if deliveries > maxDeliveries+1 {
			unread = append(unread, id)
			continue
		}
		if n := len(batches); n == 0 || batches[n-1].idle != enough {
			batches = append(batches, claimBatch{enough, map[entryID]int{}, nil})
		}
		batch := &batches[len(batches)-1]
		batch.deliveries[id] = deliveries
		batch.ids = append(batch.ids, name)
	}
	f.in.setAsideUnread(s, unread)
	return batches, last
}

// claimBatch claims entries together. If that fails it claims them one by one the next time: one of them may be
// such that its reply never comes, and no other may be taken for a poison message for that.
func (f *fetcher) claimBatch(ctx context.Context, s *source, batch claimBatch) error {
	for ids := batch.ids; len(ids) > 0; {
		n := len(ids)
		if f.careful > 0 {
			f.careful, n = f.careful-1, 1
		}
		if err := f.claimNow(ctx, s, batch, ids[:n]); err != nil {
			if !f.in.redis.refused(err) {
				f.careful = claimAtOnce
			}
			return err
		}
		ids = ids[n:]
	}
	return nil
}

func (f *fetcher) claimNow(ctx context.Context, s *source, batch claimBatch, ids []string) error {
	f.sources, f.deliveries = []*source{s}, batch.deliveries
	cmd := append([]string{"XCLAIM", s.key, group, f.in.cfg.Instance, strconv.FormatInt(batch.idle.Milliseconds(), 10)}, ids...)
	f.begin(s.key)
	var err error
	if f.in.redis.single {
		err = f.ask(ctx, cmd, func() error { return f.conn.entries(f) })
	} else {
		asking, cancel := f.in.redis.promptly(context.WithoutCancel(ctx)) // a reply that nobody waits for is lost
		err = f.entries(f.in.redis.do(asking, cmd...).ToArray())
		cancel()
	}
	f.end()
	if err != nil {
		return err
	}
	f.in.count.claimed.Add(uint64(len(f.ids)))
	if len(f.ids) == len(ids) {
		return nil
	}
	return f.forget(ctx, s, ids)
}

// forget acknowledges what could not be claimed because the stream holds it no
// more: somebody cut it off.
func (f *fetcher) forget(ctx context.Context, s *source, ids []string) error {
	ctx, cancel := f.in.redis.promptly(ctx)
	defer cancel()
	for _, name := range ids {
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
