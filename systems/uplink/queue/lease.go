package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	keyInstances = "ran:instances"
	keyInstance  = "ran:instance:" // and its name
	keyLease     = "ran:lease:"    // and the partition's number
	channel      = "ran:changes"   // a hint that instances, leases or holders changed
)

// The scripts decide and act in one step. KEYS and ARGV as their callers say. PERSIST is as in scriptFull.
const (
	// scriptLease takes or renews a lease, unless it is of one of those who may live.
	scriptLease = `
local v = redis.call('GET', KEYS[1])
for i = 3, #ARGV do
  if v == ARGV[i] then return 0 end
end
redis.call('PERSIST', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`
	// scriptDelete deletes a key that still begins with what the caller wrote.
	scriptDelete = `
local v = redis.call('GET', KEYS[1])
if v and string.sub(v, 1, string.len(ARGV[1])) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`
	// scriptForget deletes a consumer that has nothing pending.
	scriptForget = `
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
return 1`
)

func (r *Redis) script(text, key string, args ...string) rueidis.Completed {
	return r.cmd(append([]string{"EVAL", text, "1", key}, args...)...)
}

// leases is for how many times Lease a lease stays without a word. It is of whoever took it until that one gives it up or is
// known to be dead: after an outage of Redis two could have a partition otherwise, and change the order of what is in it.
const leases = 4

func (in *Intake) milliseconds() string {
	return strconv.FormatInt(in.cfg.Lease.Milliseconds(), 10)
}

// owner is what a lease of ours says; no name is the beginning of another's.
func (in *Intake) owner() string { return in.cfg.Instance + " " }

func (in *Intake) join(ctx context.Context) error {
	if err := in.beat(ctx, "first"); err != nil {
		return in.redis.Explain(err)
	}
	if _, err := in.look(ctx); err != nil {
		return in.redis.Explain(err)
	}
	if err := in.refuse(); err != nil {
		return errors.Join(err, in.leave(ctx))
	}
	in.announce(ctx)
	return nil
}

// refuse reports whether an instance is alive that excludes this one. If two join at
// once, at least one sees the other.
func (in *Intake) refuse() error {
	for name, alone := range in.holder.view.Load().live {
		if name != in.cfg.Instance && (alone || in.cfg.Alone) {
			return fmt.Errorf("%w, and %q lives on this Redis, or died within %v", ErrAlone, name, in.cfg.Lease)
		}
	}
	return nil
}

func (in *Intake) leave(ctx context.Context) error {
	if in.cause != nil {
		return nil // all that bears our name is another's now
	}
	r := in.redis
	if said, err := r.do(ctx, "GET", keyInstance+in.cfg.Instance).ToString(); err == nil && !strings.HasPrefix(said, in.nonce) {
		return nil // the same, but the keeper has not noticed
	}
	left := in.leaveBehind(ctx)
	cmds := []rueidis.Completed{
		r.script(scriptDelete, keyInstance+in.cfg.Instance, in.nonce),
		r.cmd("SREM", keyInstances, in.cfg.Instance),
	}
	for i := range in.parts {
		cmds = append(cmds, r.script(scriptDelete, keyLease+strconv.Itoa(i), in.owner()))
	}
	if err := errors.Join(left, r.doAll(ctx, cmds)); err != nil {
		return fmt.Errorf("queue: leaving: %w", err)
	}
	in.announce(ctx)
	return nil
}

// look learns who lives, and what they hold, and returns those that read.
func (in *Intake) look(ctx context.Context) (readers []string, err error) {
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	asked := time.Now()
	names, err := in.redis.do(ctx, "SMEMBERS", keyInstances).AsStrSlice()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	slices.Sort(names)
	cmds := make([]rueidis.Completed, len(names))
	for i, name := range names {
		cmds[i] = in.redis.cmd("GET", keyInstance+name)
	}
	texts := in.redis.client.DoMulti(ctx, cmds...)
	before := in.holder.view.Load()
	view := holderView{asked: asked, live: map[string]bool{}, holds: map[string]string{}, said: map[string]presence{}, has: map[int]string{}}
	gone := []string{"SREM", keyInstances}
	for i, name := range names {
		text, err := texts[i].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		var p presence
		if err != nil || len(text) < len(in.nonce) || json.Unmarshal([]byte(text[len(in.nonce):]), &p) != nil {
			if in.dead(name) {
				gone = append(gone, name)
			} else {
				view.keep(name, before)
			}
			continue
		}
		view.live[name], view.said[name] = p.Alone, p
		if p.Reads {
			readers = append(readers, name)
		}
		if name != in.cfg.Instance {
			view.add(name, &p)
		}
	}
	in.holder.see(&view)
	if len(gone) > 2 {
		err = in.redis.do(ctx, gone...).Error()
	}
	return readers, err
}

// share takes the partitions that are ours when the instances that read, in the order of their names, take turns; and
// gives up the others, but only if another instance can take them and all that was read of them is out of the way: not while
// uplinks wait for a server that is away, as later ones of the same address would reach its streams before them.
func (in *Intake) share(ctx context.Context, readers []string) error {
	place := slices.Index(readers, in.cfg.Instance)
	if !in.owned.isReading() {
		place = -1
	}
	mine := func(s *source) bool { return place >= 0 && s.index%len(readers) == place }
	held, stuck, has := in.held(), in.stuck(), in.holder.view.Load().has
	var wanted, taken, others []*source
	for _, s := range in.parts {
		if held[s] || mine(s) && has[s.index] == "" {
			wanted = append(wanted, s)
		}
	}
	got, err := in.lease(ctx, wanted)
	if err != nil && in.redis.single {
		return err
	}
	for _, s := range in.parts {
		if got[s] == leased && (mine(s) || stuck) || got[s] == unanswered && held[s] {
			taken = append(taken, s)
		} else {
			others = append(others, s)
		}
	}
	left, taken := in.known(ctx, taken)
	in.own(taken, left)
	return errors.Join(err, in.release(ctx, others))
}

// known finds, for the sources that are new here, whose entries were left there. It skips sources for which it
// cannot find out.
func (in *Intake) known(ctx context.Context, taken []*source) (left map[*source][]string, known []*source) {
	before := in.owned.list()
	var fresh []*source
	for _, s := range taken {
		if !slices.Contains(before, s) {
			fresh = append(fresh, s)
		}
	}
	left, err := in.inspectSources(ctx, fresh, func(*source) *arrival { return &arrival{alone: true} })
	if err != nil {
		in.failed("looking at what was left in partitions", err)
	}
	return left, slices.DeleteFunc(taken, func(s *source) bool {
		_, looked := left[s]
		return !looked && slices.Contains(fresh, s)
	})
}

// held are the partitions that we read, and those that we have yet to give up.
func (in *Intake) held() map[*source]bool {
	held := map[*source]bool{}
	for _, s := range in.owned.list() {
		held[s] = true
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for s := range in.leaving {
		held[s] = true
	}
	return held
}

// A lease is what became of an attempt to take or renew one. Of those that are unanswered nobody else gets one, either.
type lease uint8

const (
	leased lease = iota + 1
	unanswered
)

// lease takes or renews the leases of sources; it is 0 of those that are another's.
func (in *Intake) lease(ctx context.Context, sources []*source) (got map[*source]lease, err error) {
	if len(sources) == 0 {
		return nil, nil
	}
	args := []string{in.owner(), strconv.FormatInt((leases * in.cfg.Lease).Milliseconds(), 10)}
	for _, name := range in.undead() {
		args = append(args, name+" ")
	}
	cmds := make([]rueidis.Completed, len(sources))
	for i, s := range sources {
		cmds[i] = in.redis.script(scriptLease, keyLease+strconv.Itoa(s.index), args...)
	}
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	got = map[*source]lease{}
	for i, reply := range in.redis.client.DoMulti(ctx, cmds...) {
		n, failed := reply.AsInt64()
		switch {
		case failed != nil:
			got[sources[i]], err = unanswered, failed
		case n == 1:
			got[sources[i]] = leased
		}
	}
	return got, err
}

// own makes the reader read these partitions and no others.
func (in *Intake) own(taken []*source, left map[*source][]string) {
	before := in.owned.list()
	if slices.Equal(before, taken) {
		return
	}
	for _, s := range taken {
		if !slices.Contains(before, s) {
			s.arrive(left[s])
		}
	}
	version := in.owned.update(func([]*source) []*source { return taken })
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range taken {
		delete(in.leaving, s)
	}
	for _, s := range before {
		if !slices.Contains(taken, s) {
			in.leaving[s] = &departure{version: version}
		}
	}
	in.tellHolders()
	in.redis.log.Info("partitions", "instance", in.cfg.Instance, "own", len(taken), "of", len(in.parts))
}
