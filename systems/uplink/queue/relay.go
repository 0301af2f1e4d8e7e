package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"contend/systems/uplink/message"
)

const (
	// relayAtOnce is how many items a relay writes together.
	relayAtOnce = 1000
	// relayShare is which part of the entries in flight all relays together may hold.
	relayShare = 4
	// relayPatience is how long whoever adds items waits for a server that takes none.
	relayPatience = 100 * time.Millisecond
	// stuckAfter is how long a relay waits for a server before it counts as stuck.
	stuckAfter = 2 * time.Second
)

// A relay writes items to one stream, in their order and in the background: the server of that stream may be away or
// silent, and uplinks of other streams must not wait for it.
type relay[T any] struct {
	in    *Intake
	what  string                           // it does, for the log
	write func(context.Context, []T) error // is repeated until it returns nil
	drop  func([]T)                        // takes what does not fit

	mu      sync.Mutex
	list    []T       // those that are being written included
	done    uint64    // how many have left list
	moved   time.Time // when some left it last, or it ceased to be empty
	written broadcast
}

// relayTo makes the relay of a stream that this instance also reads, or may read.
func (in *Intake) relayTo(s *source, write func(context.Context, *source, []*message.Uplink) error, drop func([]*message.Uplink)) *relay[*message.Uplink] {
	return &relay[*message.Uplink]{in: in, what: "writing to " + s.key, drop: drop,
		write: func(ctx context.Context, uplinks []*message.Uplink) error { return write(ctx, s, uplinks) }}
}

// add leaves items to be written. It waits while more than relayAtOnce of them wait and the server takes them, so
// that the reader is not far ahead of the writer. Without room it waits for some. If the relay is stuck then, it
// drops the items instead, but only in a cluster: a single server that is away stops everything anyway.
func (r *relay[T]) add(items []T) {
	for {
		written := r.written.wait()
		n, left, idle := r.take(items)
		items = items[n:]
		patience := stuckAfter - idle
		switch {
		case len(items) > 0 && patience < 0 && !r.in.redis.single:
			r.drop(items)
			return
		case len(items) > 0:
			patience = max(patience, stuckAfter/4)
		case left <= relayAtOnce || idle > relayPatience:
			return
		default:
			patience = relayPatience - idle
		}
		timer := time.NewTimer(patience)
		select {
		case <-written:
		case <-timer.C:
		case <-r.in.ctx.Done(): // they are not acknowledged, and come again
			return
		}
		timer.Stop()
	}
}

// take puts as many of the items into the list as fit. All relays together hold at most relayShare of the entries in
// flight, and each of them as many as places are left for the others, so that no stream takes the last place. An
// empty relay always takes some. It returns how many wait then, and since when none was written.
func (r *relay[T]) take(items []T) (n, left int, idle time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := (r.in.cfg.InFlight/relayShare - int(r.in.relayed.Load()) - len(r.list)) / 2
	if len(r.list) == 0 {
		r.moved = time.Now()
		room = max(room, relayAtOnce)
	}
	n = min(max(0, room), len(items))
	if len(r.list) == 0 && n > 0 {
		r.in.background(r.run)
	}
	r.list = append(r.list, items[:n]...)
	r.in.relayed.Add(int64(n))
	return n, len(r.list), time.Since(r.moved)
}

// run writes until nothing is left.
func (r *relay[T]) run() {
	var pause backoff
	for items := r.next(0); len(items) > 0; {
		if err := r.write(r.in.ctx, items); err == nil {
			pause = 0
			items = r.next(len(items))
			continue
		} else if r.in.ctx.Err() == nil {
			r.in.failed(r.what, err)
		}
		if !pause.wait(r.in.ctx) {
			return
		}
	}
}

// next takes what was written out of the list, and returns what to write then.
func (r *relay[T]) next(written int) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if written > 0 {
		clear(r.list[:written])
		r.list, r.done, r.moved = r.list[written:], r.done+uint64(written), time.Now()
		r.in.relayed.Add(-int64(written))
		r.written.send()
	}
	if len(r.list) == 0 {
		r.list = nil
	}
	return r.list[:min(len(r.list), relayAtOnce)]
}

// flush waits until all that is in the list now is written, and reports whether it is: not if the relay is stuck or ctx ends.
func (r *relay[T]) flush(ctx context.Context) bool {
	r.mu.Lock()
	all := r.done + uint64(len(r.list))
	r.mu.Unlock()
	for {
		written := r.written.wait()
		r.mu.Lock()
		done, left := r.done >= all, stuckAfter-time.Since(r.moved)
		r.mu.Unlock()
		if done || left < 0 {
			return done
		}
		select {
		case <-written:
		case <-time.After(left + time.Millisecond):
		case <-ctx.Done():
			return false
		case <-r.in.ctx.Done():
			return false
		}
	}
}

// flush waits until what was forwarded by now is in the streams of customers, and reports whether it is. It does not wait
// for relays that are stuck.
func (in *Intake) flush(ctx context.Context) bool {
	all := true
	for _, s := range in.all() {
		all = s.relay.flush(ctx) && all
	}
	return all
}

// stuck reports whether uplinks have waited for long for the server of a customer's stream.
func (in *Intake) stuck() bool {
	return slices.ContainsFunc(in.all(), func(s *source) bool {
		s.relay.mu.Lock()
		defer s.relay.mu.Unlock()
		return len(s.relay.list) > 0 && time.Since(s.relay.moved) > stuckAfter
	})
}

// background starts a goroutine that Close waits for, unless the intake is being closed.
func (in *Intake) background(f func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ctx.Err() == nil {
		in.routines.Go(f)
	}
}
