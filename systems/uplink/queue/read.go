package queue

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"contend/pace"
	"contend/systems/uplink/message"
)

// blockFor is how long a read waits for entries: a partition is given up, and a
// customer's stream taken up, at most so much later.
const blockFor = 200 * time.Millisecond

// maxDeliveries is how often an entry is delivered before it is a poison message.
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
		f := fetcher{in: in, set: set, out: deliveries, answers: make(chan answer)}
		f.run(ctx)
	}()
	for d := range deliveries {
		d.source.handle(d.uplinks)
		d.source.end()
	}
}

// A fetcher is the reading side of one set of sources.
type fetcher struct {
	in    *Intake
	set   *sourceSet
	out   chan<- delivery
	conn  *respConn
	args  []string
	pause pace.Waiter           // of rest
	idle  time.Duration         // how long the last pause of gather was
	away  map[*source]time.Time // those that rest, until then; they are not asked before

	knocks  sync.WaitGroup
	answers chan answer // to knocks

	found   int       // entries of the last read
	foundAt time.Time // when it ended

	// careful is how many entries are claimed one by one, since the reply with all of them did not come.
	careful int

	// About the source that is being read.
	sources []*source
	source  *source
	now     time.Time
	// deliveries has the counts of entries that come again; an entry that it has
	// not comes for the first time.
	deliveries map[entryID]int
	ids        []entryID
	uplinks    []*message.Uplink
	spare      []*message.Uplink // of the delivery before, which was handled
	memory     []message.Uplink
	arena      []byte
	bad        []badEntry
	strays     []*message.Uplink // of other partitions
	parser     parser
}

func (f *fetcher) run(ctx context.Context) {
	defer f.set.finish()
	defer f.hangUp()
	defer f.knocks.Wait()
	f.pause, _ = pace.NewWaiter(ctx, pace.Precise)
	defer f.pause.Close()
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
		err := f.reclaim(ctx, sources)
		if errors.Is(err, errChanged) {
			continue
		}
		if err == nil {
			f.rest()
			err = f.next(ctx, sources)
			f.foundAt = time.Now()
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

// room waits until there are fewer entries in flight than the limit; false: ctx ended.
func (f *fetcher) room(ctx context.Context) bool {
	for ctx.Err() == nil {
		landed := f.in.landed.wait()
		if f.in.flying.Load() < int64(f.in.cfg.InFlight) {
			return true
		}
		_, changed := f.set.snapshot() // a reader that waits reads nothing
		select {
		case <-landed:
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

// errChanged says that the sources to read are others now.
var errChanged = errors.New("the sources changed")

// roomFor is room in the middle of reading a source. It fails once the source is not to be read any more, or may not be, as the
// set of sources changed: they are seen only between two reads.
func (f *fetcher) roomFor(ctx context.Context) error {
	for {
		landed := f.in.landed.wait()
		passed, changed := f.set.isPassed()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !passed:
			return errChanged
		case f.in.flying.Load() < int64(f.in.cfg.InFlight):
			return nil
		}
		select {
		case <-landed:
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// rest waits before the next read, if the last one found something and was not full.
func (f *fetcher) rest() {
	if f.found > 0 && f.found < f.in.cfg.Batch {
		f.pause.Wait(f.in.cfg.Linger - time.Since(f.foundAt))
	}
	f.found = 0
}

// next reads new entries. It outlasts the end of the reader's ctx by blockFor:
// a reply that nobody waits for would be entries that nobody handles.
func (f *fetcher) next(ctx context.Context, sources []*source) error {
	if !f.in.redis.single {
		return f.gather(ctx, sources)
	}
	if sources = f.present(sources); len(sources) == 0 {
		wait(ctx, awayFor)
		return nil
	}
	f.args = append(f.args[:0], "XREADGROUP", "GROUP", group, f.in.cfg.Instance, "COUNT", strconv.Itoa(f.in.cfg.Batch),
		"BLOCK", strconv.Itoa(int(blockFor.Milliseconds())), "STREAMS")
	for _, s := range sources {
		f.args = append(f.args, s.key)
	}
	for range sources {
		f.args = append(f.args, ">")
	}
	f.sources, f.deliveries = sources, nil
	return f.ask(ctx, f.args, func() error { return f.conn.streams(f) })
}

// ask sends a command on the fetcher's own connection, which it opens if
// necessary, and gives up after an error.
func (f *fetcher) ask(ctx context.Context, args []string, read func() error) (err error) {
	if f.conn == nil {
		if f.conn, err = f.in.redis.dial(ctx); err != nil {
			return err
		}
		f.conn.renew = true
	}
	if err = f.conn.send(blockFor, args...); err == nil {
		err = read()
	}
	if err != nil {
		f.hangUp()
	}
	return err
}

func (f *fetcher) hangUp() {
	if f.conn != nil {
		f.conn.close()
		f.conn = nil
	}
}

// begin starts the entries of a source.
func (f *fetcher) begin(key string) {
	f.ids, f.uplinks, f.bad, f.source = f.ids[:0], f.uplinks[:0], f.bad[:0], nil
	f.strays, f.now = f.strays[:0], time.Now()
	for _, s := range f.sources {
		if s.key == key {
			f.source = s
		}
	}
}

// entry parses one: it is for the handler, or to be set aside.
func (f *fetcher) entry(id entryID, fields []string) {
	if f.source == nil || f.deliveries == nil && f.source.flies(id) {
		return // that is new is in hand already: a replica that took over had not heard of it
	}
	if len(f.memory) == 0 {
		f.memory, f.arena = make([]message.Uplink, together), make([]byte, together*shortPHY)
	}
	u := &f.memory[0]
	u.Origin = message.Origin{Partition: f.source.index, Millis: id.millis, Seq: id.seq, Deliveries: 1}
	if n, again := f.deliveries[id]; again {
		u.Origin.Deliveries = n
	}
	f.ids = append(f.ids, id)
	f.arena = f.parser.parse(fields, u, f.arena)
	u.Arrived, u.Delay = f.source.arrived(id, f.parser.arrived, f.now), 0
	switch {
	case len(f.parser.bad) > 0:
		f.bad = append(f.bad, malformedEntry(f.source, u.Origin, fields, &f.parser))
	case u.Origin.Deliveries > maxDeliveries:
		f.bad = append(f.bad, poisonMessage(f.source, u.Origin, fields))
	case f.source.index >= 0 && partitionOf(u.PHY, len(f.in.parts)) != f.source.index:
		f.strays = append(f.strays, u)
		f.memory = f.memory[1:]
	default:
		f.uplinks = append(f.uplinks, u)
		f.memory = f.memory[1:]
	}
}

// end hands over what was read of the source.
func (f *fetcher) end() {
	s := f.source
	if s == nil {
		return
	}
	s.begin() // until what was read is handled, or there is nothing to handle
	s.take(f.ids, f.in.cfg.AckRead)
	if f.in.cfg.AckRead {
		wake(f.in.acksWait)
	}
	f.found += len(f.ids)
	f.in.flying.Add(int64(len(f.ids)))
	f.in.count.read.Add(uint64(len(f.ids)))
	if len(f.bad) > 0 {
		f.in.aside.add(f.bad)
	}
	if len(f.strays) > 0 {
		f.in.moveOver(f.strays)
	}
	if len(f.uplinks) == 0 {
		s.end()
		return
	}
	f.out <- delivery{s, f.uplinks}
	// The delivery before is handled, or this one would not have been taken.
	f.uplinks, f.spare = f.spare, f.uplinks
}

func (in *Intake) failed(what string, err error) {
	in.count.errors.Add(1)
	in.redis.log.Warn("redis", "what", what, "error", err)
}
