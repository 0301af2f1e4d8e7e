package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/redisserver"
)

var (
	// ErrUnavailable: nothing was changed, because Redis cannot be reached or refuses
	// for now, or because the context ended first. The call may be repeated later.
	ErrUnavailable = errors.New("redis: unavailable, nothing was changed")
	// ErrIndeterminate: the command was sent and no answer came, so the change may or
	// may not have happened.
	ErrIndeterminate = errors.New("redis: no answer, the change may or may not have happened")

	errAnswer = errors.New("not an answer of the script")
)

func unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }

// An unsent error comes from a connection that has sent nothing of the command. It
// does not unwrap, and has a text without names, because rueidis judges errors by
// what they wrap and say.
type unsent struct {
	cause error
	stale bool // another connection may do
}

func (*unsent) Error() string { return "not sent" }

func isStale(err error) bool {
	var u *unsent
	return errors.As(err, &u) && u.stale
}

// isLate reports whether there was no connection in time.
func isLate(err error) bool {
	var u *unsent
	var timeout net.Error
	return errors.As(err, &u) && errors.As(u.cause, &timeout) && timeout.Timeout()
}

// judge tells what an error of rueidis means for the command. If it is that no
// answer came, that is fate.
func (c *Counter) judge(ctx context.Context, err, fate error) error {
	var u *unsent
	reply, isReply := rueidis.IsRedisErr(err)
	switch {
	case err == nil, errors.Is(err, ErrUnavailable), errors.Is(err, ErrIndeterminate):
		return err
	case errors.As(err, &u):
		return unavailable(withContext(ctx, u.cause))
	case isReply && isPassing(reply.Error()), errors.Is(err, rueidis.ErrNoSlot):
		return unavailable(err)
	case isReply:
		return fmt.Errorf("redis: refused: %w", err)
	}
	if ended(ctx) == nil {
		c.link.distrust()
	}
	return fmt.Errorf("%w: %w", fate, withContext(ctx, err))
}

// ended is the error of a context that has ended, which a connection with its
// deadline may notice first.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// withContext adds the error of a context that has ended.
func withContext(ctx context.Context, err error) error {
	cause := ended(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// isPassing reports whether a retry may succeed: as Redis is, or after a node or an
// account has changed, which every command finds out for itself.
func isPassing(reply string) bool {
	return redisserver.IsTransient(reply, "MOVED", "ASK", "NOSCRIPT", "NOAUTH", "WRONGPASS", "NOPERM")
}
