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

// Pauses of gather: the first where nothing is new, and the longest for each few sources, since each costs a
// command: some hundred customers are asked every blockFor.
const (
	shortestPause = time.Millisecond
	longestPause  = 16 * time.Millisecond
	fewSources    = 8
)

const (
	// awayFor is how long a source rests whose node does not answer, or not as it should.
	awayFor = 200 * time.Millisecond
	// silenceFor is how long one rests whose server was silent, since it may cost awayFor to ask it again.
	silenceFor = time.Second
	// spoiltFor is how long one rests whose key is no stream, which somebody has to look after.
	spoiltFor = 5 * time.Second
	// silentFor is how long all wait for a server that takes commands and is silent.
	silentFor = 2 * time.Second
)

func (f *fetcher) isAway(s *source) bool { return time.Now().Before(f.away[s]) }

// present returns the sources that do not rest.
func (f *fetcher) present(sources []*source) []*source {
	if len(f.away) == 0 {
		return sources
	}
	return slices.DeleteFunc(slices.Clone(sources), f.isAway)
}

// isSpoilt says that a key is not of the type that it should be.
func isSpoilt(err error) bool { return err != nil && strings.Contains(err.Error(), "WRONGTYPE") }

// lost has a source rest, and be looked through again after that: a reply that was lost may have held entries.
func (f *fetcher) lost(s *source, err error) {
	f.in.failed("reading "+s.key, err)
	s.wantRecovery()
	if f.away == nil {
		f.away = map[*source]time.Time{}
	}
	rest := awayFor
	switch {
	case isSpoilt(err):
		rest = spoiltFor
	case errors.Is(err, context.DeadlineExceeded):
		rest = silenceFor
	}
	f.away[s] = time.Now().Add(rest)
}

// knock asks for the sources that have rested, all at once and without patience, whether their servers are there.
func (f *fetcher) knock(ctx context.Context, sources []*source) {
	var back []*source
	var cmds []rueidis.Completed
	for _, s := range sources {
		if _, was := f.away[s]; was && !f.isAway(s) {
			back = append(back, s)
			cmds = append(cmds, f.in.redis.cmd("EXISTS", s.key))
		}
	}
	if f.in.redis.single || len(back) == 0 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, awayFor)
	defer cancel()
	for i, reply := range f.in.redis.client.DoMulti(asking, cmds...) {
		if err := reply.Error(); err != nil && ctx.Err() == nil {
			f.lost(back[i], err)
		} else {
			delete(f.away, back[i])
		}
	}
}

// gather reads what is new in all sources at once, wherever they are: those of a cluster are in several
// slots, over which no read can wait. Where nothing is new it pauses, the longer the longer that is so.
func (f *fetcher) gather(ctx context.Context, sources []*source) error {
	r := f.in.redis
	var cmds []rueidis.Completed
	f.sources, f.deliveries = f.present(sources), nil
	for _, s := range f.sources {
		cmds = append(cmds, r.cmd("XREADGROUP", "GROUP", group, f.in.cfg.Instance, "COUNT", strconv.Itoa(f.in.cfg.Batch), "STREAMS", s.key, ">"))
	}
	// A reply that nobody waits for would be entries that nobody handles.
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), silentFor)
	defer cancel()
	news := false
	for i, reply := range r.client.DoMulti(reading, cmds...) {
		s := f.sources[i]
		streams, err := reply.ToArray()
		if rueidis.IsRedisNil(err) || err == nil && len(streams) == 0 {
			continue
		}
		if err == nil {
			news = true
			f.begin(s.key)
			var parts []rueidis.RedisMessage
			if parts, err = streams[0].ToArray(); err != nil || len(parts) != 2 {
				err = errProtocol("a stream has the parts", len(parts))
			} else {
				err = f.entries(parts[1].ToArray())
			}
			f.end()
		}
		if err != nil {
			f.lost(s, err)
		}
	}
	if news {
		f.idle = 0
		return nil
	}
	few := time.Duration((len(sources) + fewSources - 1) / fewSources)
	f.idle = min(max(2*f.idle, shortestPause), few*longestPause, blockFor)
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
