package script

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// A limiter spaces the requests of all virtual users: at most so many a second. The zero value has no limit.
type limiter struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time
}

// reserve returns how long the next request has to wait.
func (l *limiter) reserve() time.Duration {
	if l.every == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.next.Before(now) {
		l.next = now
	}
	wait := l.next.Sub(now)
	l.next = l.next.Add(l.every)
	return wait
}

// paced is what sends a request when it may be sent.
func (v *vu) paced() func(*call) *reply {
	if v.target.limit.every == 0 {
		return v.carry
	}
	return func(c *call) *reply {
		if d := v.target.limit.reserve(); d > 0 {
			v.away(func(ctx context.Context) { wait(ctx, d) })
		}
		return v.carry(c)
	}
}

// readRPS reads options.rps: 0 means no limit.
func (o *Options) readRPS(raw json.RawMessage) error {
	var n amount
	if err := decode(raw, &n); err != nil {
		return err
	}
	o.RequestsPerSec = float64(n)
	if o.RequestsPerSec < 0 || o.RequestsPerSec > 1e9 {
		return fmt.Errorf("is %v; expected 0 (no limit) to 1e9 requests per second", o.RequestsPerSec)
	}
	return nil
}
