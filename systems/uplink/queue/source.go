package queue

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"contend/systems/uplink/message"
)

// An entryID identifies an entry of a stream; later ones are greater.
type entryID struct{ millis, seq uint64 }

// lastID is the greatest that there is. A stream that has had an entry of it takes no more.
var lastID = entryID{math.MaxUint64, math.MaxUint64}

func (id entryID) next() entryID {
	if id.seq == math.MaxUint64 {
		return entryID{id.millis + 1, 0}
	}
	return entryID{id.millis, id.seq + 1}
}

// after is the text of what may follow an entry; "": nothing.
func (id entryID) after() string {
	if id == lastID {
		return ""
	}
	var e encoder
	e.id(id.next())
	return e.args[0]
}

func (id entryID) less(other entryID) bool {
	return id.millis < other.millis || id.millis == other.millis && id.seq < other.seq
}

// parseID reads the text of an identifier; ok is false if the text is invalid.
func parseID(text string) (id entryID, ok bool) {
	millis, seq, _ := strings.Cut(text, "-")
	m, isMillis := parseDecimal(millis)
	n, isSeq := parseDecimal(seq)
	return entryID{m, n}, isMillis && isSeq
}

// parseDecimal reads a number without a sign.
func parseDecimal(text string) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 { // 19 digits are always less than 2⁶⁴
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	}
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + uint64(digit)
	}
	return n, true
}

// A source is a stream that this instance reads: a partition of the intake, or
// the stream of a customer.
type source struct {
	key   string
	index int // a partition's number; of a customer's stream −1, −2 and so on
	// handle takes what was read.
	handle func([]*message.Uplink)
	relay  *relay[*message.Uplink] // what this instance adds to the stream

	ahead atomic.Int64 // by how many nanoseconds our clock is ahead of Redis's

	mu    sync.Mutex
	busy  int       // calls of handle, begun or about to
	quiet sync.Cond // busy is 0
	// flying has the entries that were delivered to us and are not settled, or not
	// acknowledged.
	flying map[entryID]flight
	acks   []entryID
	newest entryID // read so far
	// recover asks for our own entries that are not in flying, dead for those of
	// the consumers that are gone, and of leftBehind. fresh: we have just begun to read the stream, and nothing new is
	// read of it before those of left.
	recover, fresh bool
	dead, left     []string
	ours           bool // of a customer's stream: we read it, or have what is to be given back
	// dirty: something was acknowledged since the last trim. held: an old
	// entry keeps the stream from being trimmed.
	dirty, held bool
	// pending: delivered to any consumer; lag: not delivered yet.
	pending, lag int64
}

// A flight is how far an entry is.
type flight uint8

const (
	settled      flight = 1 << iota // the customers are done with it
	acking                          // the acknowledgement is on its way, or arrived
	acknowledged                    // Redis knows
)

func newSource(key string, index int) *source {
	s := &source{key: key, index: index, flying: map[entryID]flight{}}
	s.quiet.L = &s.mu
	return s
}

// customer is the name of the customer whose stream it is.
func (s *source) customer() string { return strings.TrimPrefix(s.key, keyCustomer) }

// begin and end enclose each call of handle; rest waits until no call is under way.
func (s *source) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy++
}

func (s *source) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy--; s.busy == 0 {
		s.quiet.Broadcast()
	}
}

func (s *source) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.busy > 0 {
		s.quiet.Wait()
	}
}

// arrive has what these lost consumers had in hand read before new entries.
func (s *source) arrive(left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recover, s.fresh, s.left = true, true, left
}

// take notes entries as delivered to us, and queues their acknowledgements if ack.
func (s *source) take(ids []entryID, ack bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.flying[id] = 0
		if ack {
			s.acknowledge(id)
		}
		if s.newest.less(id) {
			s.newest = id
		}
	}
}

func (s *source) acknowledge(id entryID) {
	s.flying[id] |= acking
	s.acks = append(s.acks, id)
}

// settle notes that the customers are done with entries. Those that do not fly, or
// were settled before, are unknown; landed are those that fly no more.
func (s *source) settle(origins []message.Origin) (unknown, landed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range origins {
		id := entryID{o.Millis, o.Seq}
		f, flies := s.flying[id]
		if !flies || f&settled != 0 {
			unknown++
			continue
		}
		s.flying[id] = f | settled
		if f&acking == 0 {
			s.acknowledge(id)
		}
		landed += s.land(id)
	}
	return unknown, landed
}

// acknowledged notes that Redis knows of entries, and returns how many of them fly
// no more.
func (s *source) acknowledged(ids []entryID) (landed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if f, flies := s.flying[id]; flies {
			s.flying[id] = f | acknowledged
			landed += s.land(id)
		}
	}
	s.dirty = true
	return landed
}

// land forgets an entry that is settled and acknowledged, and returns 1 then.
func (s *source) land(id entryID) int {
	const both = settled | acknowledged
	if s.flying[id]&both != both {
		return 0
	}
	delete(s.flying, id)
	return 1
}

func (s *source) flies(id entryID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.flying[id]
	return ok
}

// pendingIDs are the entries in flight that Redis does not know to be done.
func (s *source) pendingIDs() (ids []entryID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, f := range s.flying {
		if f&acknowledged == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *source) wantRecovery() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recover = true
}

// A sourceSet is what a reader reads. A version passed says that the reader has
// seen it, and reads nothing of an older one any more.
type sourceSet struct {
	mu              sync.Mutex
	sources         []*source
	version, passed uint64
	reading         bool
	changed         chan struct{} // closed at every change
}

func newSourceSet() *sourceSet { return &sourceSet{changed: make(chan struct{})} }

func (s *sourceSet) update(f func([]*source) []*source) (version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources = f(append([]*source(nil), s.sources...))
	s.version++
	s.signal()
	return s.version
}

func (s *sourceSet) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// snapshot is for the reader: what to read now.
func (s *sourceSet) snapshot() (sources []*source, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passed != s.version {
		s.passed = s.version
		s.signal()
	}
	return s.sources, s.changed
}

func (s *sourceSet) list() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources
}

// isPassed reports whether the reader saw the newest version, and else what changes with the next one.
func (s *sourceSet) isPassed() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed == s.version, s.changed
}

// hasPassed reports whether the reader saw a version, and else what changes with it.
func (s *sourceSet) hasPassed(version uint64) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed >= version || !s.reading, s.changed
}

// start says that a reader runs, finish that it has ended: then every version
// has passed.
func (s *sourceSet) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = true
	s.signal()
}

func (s *sourceSet) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading = false
	s.signal()
}

func (s *sourceSet) isReading() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}
