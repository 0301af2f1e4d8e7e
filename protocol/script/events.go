package script

import (
	"context"
	"sync"
	"time"
)

// Events are what connections bring about while a script waits: functions for the goroutine that runs it.
type events struct {
	live    int // how many sources there are: while there is one, an iteration is not over
	tasks   chan func() error
	nudged  chan struct{} // something came that is no task; nil: nobody has waited yet
	endings []context.CancelFunc
	sources sync.WaitGroup
}

// from starts a source of events, which ends with the iteration at the latest. It hands its events to
// post, which reports whether it may go on; the last one calls ended.
func (e *events) from(ctx context.Context, source func(ctx context.Context, post func(func() error) bool)) context.CancelFunc {
	if e.tasks == nil {
		e.tasks = make(chan func() error)
	}
	ctx, cancel := context.WithCancel(ctx)
	e.endings = append(e.endings, cancel)
	e.live++
	tasks := e.tasks
	e.sources.Go(func() {
		source(ctx, func(task func() error) bool {
			select {
			case tasks <- task:
				return true
			case <-ctx.Done():
				return false
			}
		})
	})
	return cancel
}

// ended notes the end of a source.
func (e *events) ended() { e.live-- }

// end ends all sources and forgets what they still have.
func (e *events) end() {
	for _, end := range e.endings {
		end()
	}
	e.sources.Wait()
	e.endings, e.live = e.endings[:0], 0
}

// nudge ends an await.
func (e *events) nudge() {
	select {
	case e.nudged <- struct{}{}:
	default: // nobody waits, or knows it already
	}
}

// await returns the next event, or nil when that long has passed (never, if negative), something else came or ctx is done.
func (e *events) await(ctx context.Context, d time.Duration) func() error {
	var due <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case task := <-e.tasks:
		return task
	case <-e.nudged:
	case <-due:
	case <-ctx.Done():
	}
	return nil
}
