package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redis/rueidis"
)

var (
	// ErrUnavailable: it did not happen, because Redis cannot be reached or
	// refuses for now, or because the context ended first. Try later.
	ErrUnavailable = errors.New("redis: not done: no Redis that would")
	// ErrIndeterminate: it may have happened or not. It was sent, and no answer came.
	ErrIndeterminate = errors.New("redis: done or not: no answer")

	errAnswer = errors.New("an answer that is none of the script's")
)

func unavailable(cause error) error   { return fmt.Errorf("%w: %w", ErrUnavailable, cause) }
func indeterminate(cause error) error { return fmt.Errorf("%w: %w", ErrIndeterminate, cause) }

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

// judge tells what an error of rueidis means for the command.
func (c *Counter) judge(ctx context.Context, err error) error {
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
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		c.link.distrust()
	}
	return indeterminate(withContext(ctx, err))
}

// withContext adds the error of a context that ended, and of a deadline that the
// connection noticed first.
func withContext(ctx context.Context, err error) error {
	ended := ctx.Err()
	if _, ok := ctx.Deadline(); ok && ended == nil && errors.Is(err, os.ErrDeadlineExceeded) {
		ended = context.DeadlineExceeded
	}
	if ended == nil || errors.Is(err, ended) {
		return err
	}
	return fmt.Errorf("%w: %w", ended, err)
}

// isPassing tells whether Redis may answer otherwise later. Older ones put the code
// of an error in a script into the text.
func isPassing(text string) bool {
	for word := range strings.FieldsSeq(text) {
		switch strings.Trim(word, "-:") {
		case "LOADING", "OOM", "READONLY", "CLUSTERDOWN", "MISCONF", "NOREPLICAS", "MASTERDOWN",
			"TRYAGAIN", "BUSY", "MOVED", "ASK", "NOSCRIPT", "NOAUTH", "WRONGPASS", "NOPERM":
			return true
		}
	}
	return strings.Contains(text, "max number of clients")
}
