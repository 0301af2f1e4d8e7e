package queue

import (
	"context"
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
	// answeredIn is longer than a knock waits for its answer.
	answeredIn = time.Minute
	// spoiltFor is how long a customer rests whose key is not a stream, which somebody has to repair.
	spoiltFor = 5 * time.Second
	// silentFor is how long all wait for a server that takes commands and is silent.
	silentFor = 2 * time.Second
)

// isAway reports whether a source rests. One of a cluster does until its server has answered a knock.
func (f *fetcher) isAway(s *source) bool {
	until, away := f.away[s]
	return away && (!f.in.redis.single || time.Now().Before(until))
}

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
	if isSpoilt(err) {
		rest = spoiltFor
	}
	f.away[s] = time.Now().Add(rest)
}

// An answer is how the server of a source responded to a knock.
type answer struct {
	source *source
	err    error
}

// knock asks for the sources that have rested whether their servers respond, while others are read: a server that is silent may
// take its time to say nothing.
func (f *fetcher) knock(ctx context.Context, sources []*source) {
	for _, s := range sources {
		if rested, away := f.away[s]; f.in.redis.single || !away || time.Now().Before(rested) {
			continue
		}
		f.away[s] = time.Now().Add(answeredIn)
		f.knocks.Go(func() {
			asking, cancel := f.in.redis.promptly(ctx)
			defer cancel()
			select {
			case f.answers <- answer{s, f.in.redis.do(asking, "EXISTS", s.key).Error()}:
			case <-ctx.Done():
			}
		})
	}
	for {
		select {
		case a := <-f.answers:
			if delete(f.away, a.source); a.err != nil {
				f.lost(a.source, a.err)
			}
		default:
			return
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
		values, _ := parts[1].ToArray() // none: it has been deleted
		fields = fields[:0]
		for _, value := range values[:min(len(values), 2*maxFields)] {
			s := text(value)
			fields = append(fields, s[:min(len(s), maxValue)])
		}
		f.entry(id, fields)
	}
	return nil
}
