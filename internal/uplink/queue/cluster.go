package queue

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Pauses of gather: what was read last decides, from shortestPause on.
const (
	shortestPause = time.Millisecond
	longestPause  = 16 * time.Millisecond
)

// gather reads what is new in all sources at once, wherever they are: those of a cluster are in several
// slots, over which no read can wait. Where nothing is new it pauses, the longer the longer that is so.
func (f *fetcher) gather(ctx context.Context, sources []*source) error {
	r := f.in.redis
	cmds := make([]rueidis.Completed, len(sources))
	for i, s := range sources {
		cmds[i] = r.cmd("XREADGROUP", "GROUP", group, f.in.cfg.Instance, "COUNT", strconv.Itoa(f.in.cfg.Batch), "STREAMS", s.key, ">")
	}
	f.sources, f.deliveries = sources, nil
	// A reply that nobody waits for would be entries that nobody handles.
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyTime)
	defer cancel()
	var failed error
	news := false
	for i, reply := range r.client.DoMulti(reading, cmds...) {
		streams, err := reply.ToArray()
		if err != nil || len(streams) == 0 {
			if err != nil && !rueidis.IsRedisNil(err) {
				failed = err
			}
			continue
		}
		news = true
		f.begin(sources[i].key)
		if parts, err := streams[0].ToArray(); err != nil || len(parts) != 2 {
			failed = errProtocol("a stream has the parts", len(parts))
		} else if err := f.entries(parts[1].ToArray()); err != nil {
			failed = err
		}
		f.end()
	}
	if news || failed != nil {
		f.idle = 0
		return failed
	}
	f.idle = min(max(2*f.idle, shortestPause), longestPause)
	wait(ctx, f.idle)
	return nil
}

// entries parses those of a reply.
func (f *fetcher) entries(all []rueidis.RedisMessage, err error) error {
	if err != nil {
		return err
	}
	var fields []string
	for i := range all {
		if all[i].IsNil() {
			continue // Redis 6 says so of an entry that is gone
		}
		parts, err := all[i].ToArray()
		if err != nil || len(parts) != 2 {
			return errProtocol("an entry has the parts", len(parts))
		}
		id, ok := parseID(text(parts[0]))
		if !ok {
			return errProtocol("the entry", strconv.Quote(text(parts[0])))
		}
		values, _ := parts[1].ToArray() // none: it was deleted meanwhile
		fields = fields[:0]
		for _, value := range values[:min(len(values), 2*maxFields)] {
			s := text(value)
			fields = append(fields, s[:min(len(s), maxValue)])
		}
		f.entry(id, fields)
	}
	return nil
}
