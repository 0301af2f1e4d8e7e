package redis

import (
	"context"
	"sync"
)

type combiner struct{ send increment }

func newCombiner(send increment, _ *sync.WaitGroup) *combiner { return &combiner{send} }

func (b *combiner) increment(ctx context.Context, n int64) (Change, error) { return b.send(ctx, n) }
