package queue

import (
	"math"
	"time"

	"github.com/redis/rueidis"
)

const (
	// clockTolerance is by how much the clocks of Redis and of an instance may differ before a warning is logged.
	clockTolerance = 2 * time.Second
	// clockReply is how long Redis may take to tell its time, which is inexact by half of that.
	clockReply = 200 * time.Millisecond
)

// compare notes by how much our clock is ahead of that of the source's Redis.
func (s *source) compare(asked time.Time, reply rueidis.RedisResult) {
	took := time.Since(asked)
	if told, err := reply.AsIntSlice(); err == nil && len(told) == 2 && took < clockReply { // else it stays as it was
		s.ahead.Store(int64(asked.Add(took / 2).Sub(time.Unix(told[0], told[1]*1000))))
	}
}

// arrived returns when an entry came to the intake, as our clock has it: another instance may have passed it on later,
// and says when it came. Its writer may have chosen an ID of the future, which all later ones in the stream then follow.
func (s *source) arrived(id entryID, said uint64, now time.Time) time.Time {
	millis := id.millis
	if s.index < 0 && said > 0 {
		millis = min(millis, said)
	}
	at := time.UnixMilli(int64(min(millis, math.MaxInt64))).Add(time.Duration(s.ahead.Load()))
	if at.After(now) {
		return now
	}
	return at
}

// clockAhead is by how much our clock is ahead of that of Redis: of several servers, the one that it differs from most.
func (in *Intake) clockAhead() (most time.Duration) {
	for _, s := range in.owned.list() {
		if ahead := time.Duration(s.ahead.Load()); ahead.Abs() > most.Abs() {
			most = ahead
		}
	}
	return most
}

// watchClock tells the log when the clocks begin to differ, and when they agree again.
func (in *Intake) watchClock() {
	ahead := in.clockAhead()
	off := ahead.Abs() > clockTolerance
	switch {
	case off == in.clockOff:
	case off:
		in.redis.log.Warn("the clocks of Redis and of this router differ", "ahead_of_redis", ahead.Round(time.Millisecond))
	default:
		in.redis.log.Info("the clocks of Redis and of this router agree again")
	}
	in.clockOff = off
}
