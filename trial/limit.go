package trial

import (
	"context"
	"errors"
	"time"
)

// errTimeUp is the cause of a context that Limit made and that is over in time.
var errTimeUp = errors.New("the time is up")

// Limit returns a context that is over after the most that the whole may take; 0:
// no limit.
func Limit(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, most, errTimeUp)
}

// IsTimeUp reports whether a context of Limit is over because its time is up, and not
// because somebody ended it.
func IsTimeUp(ctx context.Context) bool {
	if end, limited := ctx.Deadline(); limited && !time.Now().Before(end) {
		<-ctx.Done() // a dial ends by a timer of its own, which can be the first of the two
	}
	return context.Cause(ctx) == errTimeUp
}

// A TimeUp says that a design was not done when its time was up.
type TimeUp struct {
	// Lacks says what was not measured.
	Lacks string `json:"lacks"`
	// Needs is how long the whole would have taken, about.
	Needs time.Duration `json:"needs_ns"`
}

// RoundUp rounds a length of time up to what is typed, so coarsely that two measurements of it
// seldom differ: to a second up to five, to five up to half a minute, to half a minute up to five
// minutes, and else to a minute.
func RoundUp(d time.Duration) time.Duration {
	unit := time.Minute
	switch {
	case d <= 5*time.Second:
		unit = time.Second
	case d <= 30*time.Second:
		unit = 5 * time.Second
	case d <= 5*time.Minute:
		unit = 30 * time.Second
	}
	return (d + unit - 1) / unit * unit
}
