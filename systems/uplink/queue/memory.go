package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"contend/systems/uplink/message"
)

const (
	// tidyEvery is how often an instance looks what memory Redis has left, and ends downlinks.
	tidyEvery = time.Second
	// heldShare is what the uplinks on their way to a connected customer may always take.
	heldShare = 1 << 20
	// mostUplink is more than what an uplink takes in a stream.
	mostUplink = 1 << 10
)

// Memory is what the data of a Redis server takes, and may take, in bytes; of several servers it is that with the
// least room. Without a Limit it is zero.
type Memory struct {
	Used, Limit int64
	// Hidden says that a server does not let its user ask.
	Hidden bool
	// intake is what the partitions take of it, 0 while less than half is used: it goes away when they are read.
	intake int64
}

// Full says that a server takes no uplinks: its maxmemory is used up.
func (m Memory) Full() bool { return m.Limit > 0 && m.Used >= m.Limit }

// NearlyFull says that less than a tenth is left.
func (m Memory) NearlyFull() bool { return m.Limit > 0 && m.Used >= m.Limit-m.Limit/10 }

// share is what the uplinks that wait for one customer may take: as much as is left to them all, which have half of
// what there is. So one customer has a quarter of it, and several leave some for the others (as mostDownlinks).
func (m Memory) share(held bool) int64 {
	share := max(m.Limit/2-(m.Used-m.intake), m.Limit>>10)
	if held {
		share = max(share, heldShare)
	}
	return share
}

// memoryOf asks a server. It is zero for a replica: its master counts.
func (r *Redis) memoryOf(ctx context.Context, node rueidis.Client) (m Memory, err error) {
	ctx, cancel := context.WithTimeout(ctx, tidyEvery)
	defer cancel()
	text, err := node.Do(ctx, r.cmd("INFO")).ToString()
	if err != nil || infoField(text, "role") != "master" {
		return m, err
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(infoField(text, name), 10, 64) // 0 in versions that do not tell
		return n
	}
	if m.Limit = number("maxmemory"); m.Limit > 0 {
		m.Used = number("used_memory") - number("mem_not_counted_for_evict")
	}
	return m, nil
}

// tidy looks after the memory of Redis until the intake is closed.
func (in *Intake) tidy() {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for in.ctx.Err() == nil {
		if err := in.tidyOnce(in.ctx); err != nil && in.ctx.Err() == nil {
			in.failed("looking after the memory of Redis", err)
		}
		if in.cfg.NearlyFull != nil && in.Memory().NearlyFull() {
			in.cfg.NearlyFull()
		}
		select {
		case <-ticker.C:
		case <-in.ctx.Done():
		}
	}
}

// tidyOnce learns what memory is left. The instance with the first partition does the rest, for all
// instances: it ends downlinks, and cuts streams that nobody else does.
func (in *Intake) tidyOnce(ctx context.Context) error {
	var errs []error
	var refused error
	hidden := false
	first := slices.Contains(in.owned.list(), in.parts[0])
	if first {
		if err := in.tidyDownlinks(ctx); !isSpoilt(err) {
			errs = append(errs, err)
		}
	}
	if in.redis.Embedded() {
		return errors.Join(errs...) // it has no limit
	}
	var servers []server
	before := in.memories
	in.memories = map[string]Memory{}
	for address, node := range in.redis.client.Nodes() {
		m, err := in.redis.memoryOf(ctx, node)
		if in.redis.refused(err) {
			m.Hidden, refused = true, err
		} else if err != nil { // it may be slow because it is full
			errs = append(errs, err)
			m = before[address]
		}
		in.memories[address] = m
		hidden = hidden || m.Hidden
		if m.Limit > 0 {
			servers = append(servers, server{node, m})
		}
	}
	least, err := in.lookAt(ctx, servers, first)
	least.Hidden = hidden
	in.mu.Lock()
	defer in.mu.Unlock()
	if least.Hidden && !in.memory.Hidden {
		in.redis.log.Warn("nobody watches the memory of Redis, as its user may not use INFO", "error", refused)
	}
	in.memory = least
	return errors.Join(append(errs, err)...)
}

// tidyDownlinks ends downlinks, and cuts the stream of their results, which may have any size. If that stream takes no more, it
// begins anew.
func (in *Intake) tidyDownlinks(ctx context.Context) error {
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	if err := in.redis.EndDownlinks(ctx); err != nil {
		return err
	}
	if err := in.redis.do(ctx, "XTRIM", keyResults, "MAXLEN", "~", strconv.Itoa(maxResults)).Error(); err != nil || in.redis.Embedded() {
		return err
	}
	if err := in.redis.client.Do(ctx, in.redis.renewal(keyResults)).Error(); err != nil && !hasNoGroup(err) {
		return err
	}
	used, err := in.usage(ctx, keyResults)
	if err != nil || used <= maxResultBytes {
		return err
	}
	_, err = in.halve(ctx, keyResults)
	return err
}

// halve cuts the older half off a stream, and returns how many entries that were.
func (in *Intake) halve(ctx context.Context, key string) (int64, error) {
	entries, err := in.redis.do(ctx, "XLEN", key).AsInt64()
	if err != nil {
		return 0, err
	}
	return in.redis.do(ctx, "XTRIM", key, "MAXLEN", strconv.FormatInt(entries/2, 10)).AsInt64()
}

// A server is one that takes commands and has a limit.
type server struct {
	rueidis.Client
	memory Memory
}

// lookAt returns the memory of that with the least room, and makes room where it is asked to.
func (in *Intake) lookAt(ctx context.Context, servers []server, makeRoom bool) (least Memory, err error) {
	intake := sync.OnceValues(func() (int64, error) {
		var keys []string
		for _, s := range in.parts {
			keys = append(keys, s.key)
		}
		return in.usage(ctx, keys...)
	})
	for i := range servers {
		m := &servers[i].memory
		if m.Used > m.Limit/2 {
			all, failed := intake()
			m.intake = all / int64(len(servers)) // over which they are spread
			err = errors.Join(err, failed)
		}
		if makeRoom && m.NearlyFull() {
			err = errors.Join(err, in.makeRoom(ctx, servers[i]))
		}
		if least.Limit == 0 || m.Limit-m.Used < least.Limit-least.Used {
			least = *m
		}
	}
	return least, err
}

// usage is how many bytes keys take together.
func (in *Intake) usage(ctx context.Context, keys ...string) (sum int64, err error) {
	cmds := make([]rueidis.Completed, len(keys))
	for i, key := range keys {
		cmds[i] = in.redis.client.B().MemoryUsage().Key(key).Build()
	}
	ctx, cancel := in.redis.promptly(ctx)
	defer cancel()
	for _, reply := range in.redis.client.DoMulti(ctx, cmds...) {
		n, failed := reply.AsInt64()
		if failed != nil && !rueidis.IsRedisNil(failed) {
			err = failed
		}
		sum += n
	}
	return sum, err
}

// makeRoom cuts the oldest uplinks off those streams of customers that take much more than their share, but not
// more than half at a time, since each makes the share of the others larger.
func (in *Intake) makeRoom(ctx context.Context, s server) error {
	for cursor := uint64(0); ; {
		page, err := s.Do(ctx, s.B().Scan().Cursor(cursor).Match(keyCustomer+"*").Count(1000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for _, key := range page.Elements {
			if err := in.cutStream(ctx, key, s.memory); err != nil && !isSpoilt(err) {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (in *Intake) cutStream(ctx context.Context, key string, m Memory) error {
	_, _, held := in.Holder(strings.TrimPrefix(key, keyCustomer))
	used, err := in.usage(ctx, key)
	if err != nil || used <= 2*m.share(held) {
		return err
	}
	n, err := in.halve(ctx, key)
	in.count.dropped.Add(uint64(max(0, n)))
	if err == nil {
		in.redis.log.Warn("redis is nearly full: the oldest uplinks of a customer are dropped", "stream", key, "uplinks", n)
	}
	return err
}

// roomFor says how many of these uplinks a customer's stream, where some wait, has room for: within the backlog, and if Redis
// has a limit within the customer's share of that.
func (in *Intake) roomFor(ctx context.Context, customer string, waiting int64, uplinks []*message.Uplink) (int, error) {
	room := int64(roomWithin(int64(in.cfg.Backlog), waiting, uplinks))
	m := in.Memory()
	_, _, held := in.Holder(customer)
	if m.Limit == 0 || (waiting+room)*mostUplink <= m.share(held) {
		return int(room), nil
	}
	used, err := in.usage(ctx, keyCustomer+customer)
	left := m.share(held) - used
	for i, u := range uplinks[:room] {
		if left -= size(u); left < 0 {
			return i, err
		}
	}
	return int(room), err
}

// size is about what an uplink takes in a stream.
func size(u *message.Uplink) int64 { return int64(len(u.PHY)) + 80 }

// took counts what was forwarded until Redis is asked again.
func (in *Intake) took(uplinks []*message.Uplink) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.memory.Limit == 0 {
		return
	}
	for _, u := range uplinks {
		in.memory.Used += size(u)
	}
}

// Memory is what Redis had a second ago, and what was forwarded since.
func (in *Intake) Memory() Memory {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.memory
}
