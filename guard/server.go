package guard

import "context"

// A server executes requests against a state of its own, one at a time: it
// answers the argument A with R. The queueing designs are written once, as
// servers; a Counter and an Exclusive are two arguments for them. The function
// that answers is fixed when the server is made, so that a request carries
// plain data and needs no closure.
type server[A, R any] interface {
	do(ctx context.Context, arg A) (R, error)
	Close() error
}

type counter struct{ server[int64, int64] }

func (c counter) Add(ctx context.Context, n int64) (int64, error) { return c.do(ctx, n) }
func (c counter) Load(ctx context.Context) (int64, error)         { return c.do(ctx, 0) }

func addTo(value *int64, n int64) int64 {
	*value += n
	return *value
}

func newInputQCounter() Counter    { return counter{newInputQ(0, addTo)} }
func newPooledCounter() Counter    { return counter{newPooled(0, addTo)} }
func newBatchCounter() Counter     { return counter{newBatch(0, addTo)} }
func newCombiningCounter() Counter { return counter{newCombining(0, addTo)} }

type exclusive[S any] struct{ server[func(*S), struct{}] }

func (e exclusive[S]) Do(ctx context.Context, f func(*S)) error {
	_, err := e.do(ctx, f)
	return err
}

func call[S any](state *S, f func(*S)) struct{} {
	f(state)
	return struct{}{}
}
