package queue

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

const (
	keyPartitions = "ran:partitions"
	keyUplinks    = "ran:uplinks:" // and the partition's number
	keyBad        = "ran:uplinks:bad"

	// defaultPartitions is enough for as many instances, and few enough to be
	// read with one command.
	defaultPartitions = 8
	maxPartitions     = 1024

	defaultLimit         = 1_000_000
	defaultEmbeddedLimit = 10_000
)

// ProducerConfig is how uplinks are written.
type ProducerConfig struct {
	// Limit is how many entries all partitions together may hold before the
	// producer waits; it is shared evenly among them. 0 is 1 000 000, and
	// 10 000 in an embedded Redis. Several producers may overshoot it.
	Limit int64
	// Partitions is used if this Redis has no intake yet; 0 is 8.
	Partitions int
}

// A Producer writes uplinks to the intake. Safe for concurrent use.
type Producer struct {
	redis  *Redis
	limit  int64 // of one partition
	keys   []string
	length []partitionLength
	idle   shelf
}

// A partitionLength is what is known of the length of a partition: what Redis
// said last, and what was written since.
type partitionLength struct {
	entries atomic.Int64
	checked atomic.Int64 // when, in nanoseconds since 1970
}

// NewProducer makes a Producer. The number of partitions is kept in Redis, where the
// first instance or producer has set it.
func NewProducer(ctx context.Context, r *Redis, cfg ProducerConfig) (*Producer, error) {
	n, err := partitions(ctx, r, cfg.Partitions)
	if err != nil {
		return nil, err
	}
	p := &Producer{
		redis: r, limit: r.limit(cfg.Limit, n),
		keys: make([]string, n), length: make([]partitionLength, n),
	}
	for i := range p.keys {
		p.keys[i] = keyUplinks + strconv.Itoa(i)
	}
	return p, nil
}

// limit is how many entries one of n partitions may hold; all: all of them together, if not 0.
func (r *Redis) limit(all int64, n int) int64 {
	switch {
	case all == 0 && r.Embedded():
		all = defaultEmbeddedLimit
	case all == 0:
		all = defaultLimit
	}
	return max(1, all/int64(n))
}

// partitions returns how many there are, which is want if nobody has said yet.
func partitions(ctx context.Context, r *Redis, want int) (int, error) {
	if want == 0 {
		want = defaultPartitions
	}
	if want < 0 || want > maxPartitions {
		return 0, fmt.Errorf("queue: partitions is %d; expected 1 to %d", want, maxPartitions)
	}
	text, err := r.agreed(ctx, keyPartitions, strconv.Itoa(want))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPartitions {
		return 0, fmt.Errorf("queue: %s in Redis is %.20q; expected 1 to %d", keyPartitions, text, maxPartitions)
	}
	return n, nil
}

// partitionOf spreads devices. The frames of one address meet in one partition, which keeps their order, and so do
// the copies of a frame.
func partitionOf(phy []byte, n int) int {
	return int(crc32.ChecksumIEEE(lorawan.Sender(phy)) % uint32(n))
}

// A writer is what one Add needs, and keeps for the next.
type writer struct {
	conn *respConn // nil: not connected
	enc  encoder
	todo []addition
	// later are those for which their partitions have no room.
	later []addition
	full  []bool // by partition
}

type addition struct {
	uplink    *message.Uplink
	partition int
	err       error // of the last attempt
}

// maxPipeline is how many commands are written at once.
const maxPipeline = 512

// Add writes the uplinks, in pipelines, and keeps the order of each address: what one server refuses of a pipeline, it refuses
// as a whole. Those whose partition holds more than the limit wait, and after the others of their pipeline all do while
// Redis is away, until ctx ends; the error says how many were not written. What was on its way when a connection
// broke may be written twice.
func (p *Producer) Add(ctx context.Context, uplinks []*message.Uplink) error {
	w := p.writer()
	defer p.idle.put(w)
	for len(uplinks) > 0 {
		n := min(len(uplinks), maxPipeline)
		w.todo = w.todo[:0]
		for _, u := range uplinks[:n] {
			w.todo = append(w.todo, addition{uplink: u, partition: partitionOf(u.PHY, len(p.keys))})
		}
		if err := p.addAll(ctx, w); err != nil {
			return fmt.Errorf("queue: %d uplinks not written: %w", len(w.todo)+len(uplinks)-n, err)
		}
		uplinks = uplinks[n:]
	}
	clear(w.todo[:cap(w.todo)])
	return nil
}

func (p *Producer) writer() *writer {
	if w := p.idle.get(); w != nil {
		return w
	}
	return &writer{full: make([]bool, len(p.keys))}
}

// addAll writes w.todo, again and again, until it is empty.
func (p *Producer) addAll(ctx context.Context, w *writer) error {
	var pause backoff
	for len(w.todo) > 0 {
		err := p.room(ctx, w)
		if err == nil {
			err = p.write(ctx, w)
		}
		w.todo, w.later = append(w.todo, w.later...), w.later[:0]
		switch {
		case err == nil:
			pause = 0
			continue
		case p.redis.refused(err):
			return err
		case ctx.Err() == nil:
			p.redis.log.Warn("redis", "what", "writing uplinks", "waiting", len(w.todo), "error", err)
		}
		if !pause.wait(ctx) {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
	return nil
}

// write sends w.todo and leaves in it what did not arrive.
func (p *Producer) write(ctx context.Context, w *writer) (err error) {
	if !p.redis.single || p.redis.Replicas > 0 {
		p.scatter(ctx, w)
		return p.written(w)
	}
	if w.conn == nil {
		if w.conn, err = p.redis.dial(ctx); err != nil {
			return err
		}
	}
	unhurried := context.AfterFunc(ctx, w.conn.interrupt)
	broken := w.exchange(p.keys)
	if broken != nil {
		for i := range w.todo {
			w.todo[i].err = broken
		}
	}
	if !unhurried() || broken != nil {
		w.conn.close()
		w.conn = nil
	}
	return p.written(w)
}

// written leaves in w.todo what was not, and returns why.
func (p *Producer) written(w *writer) (err error) {
	left := w.todo[:0]
	for _, a := range w.todo {
		if a.err != nil {
			err = a.err
			left = append(left, a)
			continue
		}
		p.length[a.partition].entries.Add(1)
	}
	w.todo = left
	return err
}

// scatter is write where each partition may be on another server, or replicas are waited for.
func (p *Producer) scatter(ctx context.Context, w *writer) {
	var e encoder // its own: what ctx cuts short may be sent later
	cmds := make([]rueidis.Completed, len(w.todo))
	for i, a := range w.todo {
		e.args = append(e.args[:0], "XADD", p.keys[a.partition], "*")
		e.uplink(a.uplink, byAddress)
		cmds[i] = p.redis.cmd(e.args...)
	}
	for i, err := range p.redis.write(ctx, cmds...) {
		w.todo[i].err = err
	}
}

// exchange sends w.todo, several as one transaction: were one refused alone, such as by a Redis that is full for that moment, a
// later one of its address would come before it. The error is of the connection.
func (w *writer) exchange(keys []string) error {
	w.conn.out = w.conn.out[:0]
	several := len(w.todo) > 1
	if several {
		w.conn.command([]string{"MULTI"})
	}
	for _, a := range w.todo {
		w.enc.reset()
		w.enc.args = append(w.enc.args, "XADD", keys[a.partition], "*")
		w.enc.uplink(a.uplink, byAddress)
		w.conn.command(w.enc.args)
	}
	if several {
		w.conn.command([]string{"EXEC"})
	}
	if err := w.conn.flush(0); err != nil {
		return err
	}
	if !several {
		return w.reply(&w.todo[0])
	}
	return w.replies()
}

// replies reads those to a transaction.
func (w *writer) replies() error {
	var refused error
	for range len(w.todo) + 1 { // MULTI is OK, and each command queued
		if _, err := w.conn.header('+'); isReply(err) {
			refused = cmp.Or(refused, err)
		} else if err != nil {
			return err
		}
	}
	if _, err := w.conn.header('*'); isReply(err) {
		refused = cmp.Or(refused, err)
	} else if err != nil {
		return err
	}
	for i := range w.todo {
		if w.todo[i].err = refused; refused != nil {
			continue
		}
		if err := w.reply(&w.todo[i]); err != nil {
			return err
		}
	}
	return nil
}

// reply reads the one to an addition. The error is of the connection.
func (w *writer) reply(a *addition) error {
	_, err := w.conn.header('$')
	if err == nil {
		_, err = w.conn.line() // the entry's identifier is of no interest
	}
	if a.err = err; isReply(err) {
		return nil
	}
	return err
}

// isReply reports whether an error is what Redis said, after which the connection can be used.
func isReply(err error) bool {
	_, is := err.(errReply)
	return is
}

// room leaves in w.todo what there is room for, and puts the rest into w.later. It waits until there is something.
func (p *Producer) room(ctx context.Context, w *writer) error {
	const nap, longest = 5 * time.Millisecond, 100 * time.Millisecond
	for pause := nap; ; pause = min(pause+nap, longest) {
		full, err := p.full(ctx, w)
		if err != nil || full == nil {
			return err
		}
		todo := w.todo[:0]
		for _, a := range w.todo {
			if w.full[a.partition] {
				w.later = append(w.later, a)
			} else {
				todo = append(todo, a)
			}
		}
		if w.todo = todo; len(todo) > 0 {
			return nil
		}
		w.todo, w.later = w.later, todo
		if pause == longest-nap { // after a second: routers that are as fast catch up sooner
			p.redis.log.Warn("the intake is full: uplinks wait for routers", "partition", *full)
		}
		if !wait(ctx, pause) {
			return ctx.Err()
		}
	}
}

// full notes in w.full which partitions of w.todo have no room, and returns one of them; nil if all have room.
func (p *Producer) full(ctx context.Context, w *writer) (one *string, err error) {
	clear(w.full)
	now := time.Now().UnixNano()
	for _, a := range w.todo {
		l := &p.length[a.partition]
		if w.full[a.partition] || l.entries.Load() < p.limit && now-l.checked.Load() < int64(time.Second) {
			continue
		}
		n, err := p.redis.do(ctx, "XLEN", p.keys[a.partition]).AsInt64()
		switch {
		case err != nil && (p.redis.single || ctx.Err() != nil):
			return nil, err
		case err != nil:
			continue // of a cluster the others have room
		}
		now = time.Now().UnixNano()
		l.entries.Store(n)
		l.checked.Store(now)
		if n >= p.limit {
			w.full[a.partition], one = true, &p.keys[a.partition]
		}
	}
	return one, nil
}

// A shelf keeps idle writers.
type shelf struct {
	mu   sync.Mutex
	idle []*writer
}

func (s *shelf) get() (w *writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		w, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	return w
}

func (s *shelf) put(w *writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, w)
}
