package queue

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/uplink/message"
)

// blockFor is how long a read waits for entries: a partition is given up, and a
// customer's stream taken up, at most so much later.
const blockFor = 500 * time.Millisecond

// maxDeliveries is how often an entry is tried before it is called poisonous.
const maxDeliveries = 5

const (
	// together is how many uplinks share one piece of memory, which lives as long
	// as any of them does.
	together = 16
	// shortPHY bytes of it are for the frame of each; long ones have their own.
	shortPHY = 48
)

// A delivery is what was read from one source.
type delivery struct {
	source  *source
	uplinks []*message.Uplink
}

// read reads the sources of a set until ctx ends: one goroutine reads and
// parses, this one handles.
func (in *Intake) read(ctx context.Context, set *sourceSet) {
	deliveries := make(chan delivery)
	go func() {
		defer close(deliveries)
		f := fetcher{in: in, set: set, out: deliveries}
		f.run(ctx)
	}()
	for d := range deliveries {
		d.source.handle(d.uplinks)
		d.source.busy.Done()
	}
}

// A fetcher is the reading side of one set of sources.
type fetcher struct {
	in     *Intake
	set    *sourceSet
	out    chan<- delivery
	parser parser
	fields []string
	ids    []entryID
	args   []string
}

func (f *fetcher) run(ctx context.Context) {
	defer f.set.finish()
	var pause backoff
	for f.room(ctx) {
		sources, changed := f.set.snapshot()
		if len(sources) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := f.again(ctx, sources)
		if err == nil {
			err = f.next(sources)
		}
		if err == nil {
			pause = 0
			continue
		}
		f.in.failed("reading", err)
		for _, s := range sources {
			s.wantRecovery() // the reply that was lost may have held entries
		}
		if strings.Contains(err.Error(), "NOGROUP") {
			err = f.in.createGroups(ctx, sources)
		}
		if err != nil {
			pause.wait(ctx)
		}
	}
}

// room waits until less than the allowed number of entries is in flight; false:
// ctx ended.
func (f *fetcher) room(ctx context.Context) bool {
	for ctx.Err() == nil {
		landed := f.in.landed.wait()
		if f.in.flying.Load() < int64(f.in.cfg.InFlight) {
			return true
		}
		_, changed := f.set.snapshot() // who waits reads nothing
		select {
		case <-landed:
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

// next reads new entries. It outlasts the end of the reader's ctx by blockFor:
// a reply that nobody waits for would be entries that nobody handles.
func (f *fetcher) next(sources []*source) error {
	f.args = append(f.args[:0], "GROUP", group, f.in.cfg.Instance, "COUNT", strconv.Itoa(f.in.cfg.Batch),
		"BLOCK", strconv.Itoa(int(blockFor.Milliseconds())), "STREAMS")
	for _, s := range sources {
		f.args = append(f.args, s.key)
	}
	for range sources {
		f.args = append(f.args, ">")
	}
	ctx, cancel := context.WithTimeout(context.Background(), blockFor+10*time.Second)
	defer cancel()
	client := f.in.redis.client
	reply := client.Do(ctx, client.B().Arbitrary("XREADGROUP").Args(f.args...).Blocking())
	msg, err := reply.ToMessage()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return eachStream(msg, func(key string, entries []rueidis.RedisMessage) {
		for _, s := range sources {
			if s.key == key {
				f.deliver(s, entries, nil)
			}
		}
	})
}

// eachStream walks through the reply of a read: pairs of a stream and its entries.
func eachStream(msg rueidis.RedisMessage, f func(key string, entries []rueidis.RedisMessage)) error {
	streams, err := msg.ToArray()
	for _, stream := range streams {
		pair, _ := stream.ToArray()
		if len(pair) != 2 {
			continue
		}
		key, _ := pair[0].ToString()
		entries, _ := pair[1].ToArray()
		f(key, entries)
	}
	return err
}

// deliver parses entries and hands the good ones over; the others are set aside.
// The numbers of deliveries are those of entries that come again; nil: all come
// for the first time.
func (f *fetcher) deliver(s *source, entries []rueidis.RedisMessage, deliveries map[entryID]int) {
	var (
		room  []message.Uplink
		arena []byte
		bad   []badEntry
	)
	uplinks := make([]*message.Uplink, 0, len(entries))
	f.ids = f.ids[:0]
	for i := range entries {
		id, fields, ok := f.entry(&entries[i])
		if !ok {
			continue
		}
		f.ids = append(f.ids, id)
		if len(room) == 0 {
			room, arena = make([]message.Uplink, together), make([]byte, together*shortPHY)
		}
		u := &room[0]
		room = room[1:]
		u.Origin = message.Origin{Partition: s.index, Millis: id.millis, Seq: id.seq, Deliveries: 1}
		if n, again := deliveries[id]; again {
			u.Origin.Deliveries = n
		}
		arena = f.parser.parse(fields, u, arena)
		switch {
		case len(f.parser.bad) > 0:
			bad = append(bad, malformedEntry(s, u.Origin, fields, &f.parser))
		case u.Origin.Deliveries > maxDeliveries:
			bad = append(bad, poisonousEntry(s, u.Origin, fields))
		default:
			uplinks = append(uplinks, u)
		}
	}
	s.take(f.ids)
	f.in.flying.Add(int64(len(f.ids)))
	f.in.count.read.Add(uint64(len(f.ids)))
	if len(bad) > 0 {
		f.in.setAside(s, bad)
	}
	if len(uplinks) > 0 {
		s.busy.Add(1)
		f.out <- delivery{s, uplinks}
	}
}

// entry takes a reply's entry apart; the fields live until the next call.
func (f *fetcher) entry(msg *rueidis.RedisMessage) (id entryID, fields []string, ok bool) {
	pair, err := msg.ToArray()
	if err != nil || len(pair) != 2 {
		return id, nil, false
	}
	text, _ := pair[0].ToString()
	if id, ok = parseID(text); !ok {
		return id, nil, false
	}
	values, _ := pair[1].ToArray() // none, if the entry is deleted
	f.fields = f.fields[:0]
	for i := range values {
		value, _ := values[i].ToString()
		f.fields = append(f.fields, value)
	}
	return id, f.fields, true
}

func (in *Intake) failed(what string, err error) {
	in.count.errors.Add(1)
	in.redis.log.Warn("redis", "what", what, "error", err)
}
