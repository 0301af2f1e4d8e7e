package queue

import (
	"context"
	"fmt"
	"hash/crc32"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/uplink/message"
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
	if cfg.Limit == 0 {
		cfg.Limit = defaultLimit
		if r.Embedded() {
			cfg.Limit = defaultEmbeddedLimit
		}
	}
	p := &Producer{
		redis: r, limit: max(1, cfg.Limit/int64(n)),
		keys: make([]string, n), length: make([]partitionLength, n),
	}
	for i := range p.keys {
		p.keys[i] = keyUplinks + strconv.Itoa(i)
	}
	return p, nil
}

// partitions returns how many there are, which is want if nobody has said yet.
func partitions(ctx context.Context, r *Redis, want int) (int, error) {
	if want == 0 {
		want = defaultPartitions
	}
	if want < 0 || want > maxPartitions {
		return 0, fmt.Errorf("queue: partitions is %d; allowed: 1 to %d", want, maxPartitions)
	}
	text, err := r.agreed(ctx, keyPartitions, strconv.Itoa(want))
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPartitions {
		return 0, fmt.Errorf("queue: %s in Redis is %.20q; allowed: 1 to %d", keyPartitions, text, maxPartitions)
	}
	return n, nil
}

// partitionOf spreads frames; copies of one frame meet in one partition.
func partitionOf(phy []byte, n int) int { return int(crc32.ChecksumIEEE(phy) % uint32(n)) }

// A writer is what one Add needs, and keeps for the next.
type writer struct {
	conn *respConn // nil: not connected
	enc  encoder
	todo []addition
}

type addition struct {
	uplink    *message.Uplink
	partition int
}

// maxPipeline is how many commands are written at once.
const maxPipeline = 512

// Add writes the uplinks, in pipelines. It waits while a partition holds more than the
// limit, and while Redis is away, until ctx ends; the error says how many were
// not written. What was on its way when a connection broke may be written twice.
func (p *Producer) Add(ctx context.Context, uplinks []*message.Uplink) error {
	w := p.writer()
	defer p.idle.put(w)
	for len(uplinks) > 0 {
		n := min(len(uplinks), maxPipeline)
		w.todo = w.todo[:0]
		for _, u := range uplinks[:n] {
			w.todo = append(w.todo, addition{u, partitionOf(u.PHY, len(p.keys))})
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
	return new(writer)
}

// addAll writes w.todo, again and again, until it is empty.
func (p *Producer) addAll(ctx context.Context, w *writer) error {
	var pause backoff
	for {
		err := p.room(ctx, w)
		if err == nil {
			err = p.write(ctx, w)
		}
		if len(w.todo) == 0 {
			return nil
		}
		if err != nil && p.redis.refused(err) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			p.redis.log.Warn("redis", "what", "writing uplinks", "waiting", len(w.todo), "error", err)
		}
		if !pause.wait(ctx) {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// write sends w.todo and leaves in it what did not arrive.
func (p *Producer) write(ctx context.Context, w *writer) (err error) {
	if !p.redis.single || p.redis.Replicas > 0 {
		return p.scatter(ctx, w)
	}
	if w.conn == nil {
		if w.conn, err = p.redis.dial(ctx); err != nil {
			return err
		}
	}
	unhurried := context.AfterFunc(ctx, w.conn.interrupt)
	broken := w.exchange(p.keys)
	left := w.todo[:0]
	for i, a := range w.todo {
		reply := broken
		if broken == nil {
			if _, reply = w.conn.header('$'); reply == nil {
				_, reply = w.conn.line() // of no interest
			}
			if _, answered := reply.(errReply); !answered {
				broken = reply
			}
		}
		if reply != nil {
			err = reply
			left = append(left, w.todo[i])
			continue
		}
		p.length[a.partition].entries.Add(1)
	}
	w.todo = left
	if !unhurried() || broken != nil {
		w.conn.close()
		w.conn = nil
	}
	return err
}

// scatter is write where each partition may be on another server, or replicas are waited for.
func (p *Producer) scatter(ctx context.Context, w *writer) (err error) {
	var e encoder // its own: what ctx cuts short may be sent later
	cmds := make([]rueidis.Completed, len(w.todo))
	for i, a := range w.todo {
		e.args = append(e.args[:0], "XADD", p.keys[a.partition], "*")
		e.uplink(a.uplink)
		cmds[i] = p.redis.cmd(e.args...)
	}
	left := w.todo[:0]
	for i, failed := range p.redis.write(ctx, cmds...) {
		if failed != nil {
			err = failed
			left = append(left, w.todo[i])
			continue
		}
		p.length[w.todo[i].partition].entries.Add(1)
	}
	w.todo = left
	return err
}

// exchange sends all commands of w.todo.
func (w *writer) exchange(keys []string) error {
	w.conn.out = w.conn.out[:0]
	for _, a := range w.todo {
		w.enc.reset()
		w.enc.args = append(w.enc.args, "XADD", keys[a.partition], "*")
		w.enc.uplink(a.uplink)
		w.conn.command(w.enc.args)
	}
	return w.conn.flush(0)
}

// room waits until the partitions of w.todo have some.
func (p *Producer) room(ctx context.Context, w *writer) error {
	now := time.Now().UnixNano()
	for _, a := range w.todo {
		l := &p.length[a.partition]
		if l.entries.Load() < p.limit && now-l.checked.Load() < int64(time.Second) {
			continue
		}
		if err := p.roomIn(ctx, a.partition); err != nil && (p.redis.single || ctx.Err() != nil) {
			return err // of a cluster the others have room
		}
		now = time.Now().UnixNano()
	}
	return nil
}

// roomIn asks how long a partition is, until that is below the limit.
func (p *Producer) roomIn(ctx context.Context, partition int) error {
	const nap, longest = 5 * time.Millisecond, 100 * time.Millisecond
	for pause := nap; ; pause = min(pause+nap, longest) {
		n, err := p.redis.do(ctx, "XLEN", p.keys[partition]).AsInt64()
		if err != nil {
			return err
		}
		l := &p.length[partition]
		l.entries.Store(n)
		l.checked.Store(time.Now().UnixNano())
		if n < p.limit {
			return nil
		}
		if pause == longest-nap { // after a second: routers that are as fast are behind for less
			p.redis.log.Warn("the intake is full: uplinks wait for routers", "partition", p.keys[partition], "entries", n)
		}
		if !wait(ctx, pause) {
			return ctx.Err()
		}
	}
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
