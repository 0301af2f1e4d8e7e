package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forever can never be cancelled.
var forever = context.Background()

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(forever)
	cancel()
	return ctx
}

func mustNew[T any](t testing.TB, design string, c Config) *Pipeline[T] {
	t.Helper()
	p, err := New[T](design, c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exercise sends sent[i] items through producer i, flushing every flushEvery
// items (0: never), receives all of them, and says what is wrong with what arrived.
func exercise(ctx context.Context, p *Pipeline[uint64], sent []uint64, flushEvery uint64) error {
	tallies := make([]*Tally, len(p.Consumers))
	seen := make([][]uint64, len(p.Consumers))
	errs := make([]error, len(p.Producers)+len(p.Consumers))
	var all sync.WaitGroup
	for i, producer := range p.Producers {
		all.Go(func() { errs[i] = produce(ctx, producer, i, sent[i], flushEvery) })
	}
	for i, consumer := range p.Consumers {
		tallies[i] = new(Tally)
		all.Go(func() { seen[i], errs[len(p.Producers)+i] = consume(ctx, consumer, tallies[i]) })
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), Audit(sent, tallies...), exactly(sent, seen))
}

func produce(ctx context.Context, p *Producer[uint64], id int, n, flushEvery uint64) error {
	for k := uint64(1); k <= n; k++ {
		item := Item(id, k)
		switch {
		case k%3 == 0 && k < n: // two at a time
			k++
			if taken, err := p.SendAll(ctx, []uint64{item, item + 1}); taken != 2 || err != nil {
				return fmt.Errorf("took %d of 2: %w", taken, err)
			}
		case k%3 == 1 && p.Offer(item):
		default:
			if err := p.Send(ctx, item); err != nil {
				return err
			}
		}
		if flushEvery > 0 && k%flushEvery == 0 {
			if err := p.Flush(ctx); err != nil {
				return err
			}
			runtime.Gosched()
		}
	}
	return p.Close(ctx)
}

func consume(ctx context.Context, c *Consumer[uint64], tally *Tally) (seen []uint64, err error) {
	for {
		if item, ok := c.Take(); ok {
			tally.Add(item)
			seen = append(seen, item)
		}
		some, err := c.ReceiveSome(ctx)
		if err == io.EOF {
			return seen, nil
		} else if err != nil {
			return seen, err
		}
		tally.Add(some...)
		seen = append(seen, some...)
		if item, err := c.Receive(ctx); err == nil {
			tally.Add(item)
			seen = append(seen, item)
		}
	}
}

// exactly is the slow, complete form of Audit: it remembers every item.
func exactly(sent []uint64, seen [][]uint64) error {
	times := map[uint64]int{}
	var total uint64
	for _, items := range seen {
		last := map[uint64]uint64{}
		for _, item := range items {
			producer := item >> producerBits
			if last[producer] >= item {
				return fmt.Errorf("item %x after %x", item, last[producer])
			}
			last[producer] = item
			times[item]++
		}
	}
	for i, n := range sent {
		total += n
		for k := uint64(1); k <= n; k++ {
			if times[Item(i, k)] != 1 {
				return fmt.Errorf("item %d of producer %d arrived %d times", k, i, times[Item(i, k)])
			}
		}
	}
	if uint64(len(times)) != total {
		return fmt.Errorf("%d different items arrived of %d sent", len(times), total)
	}
	return nil
}
