package pipe

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"contend/load"
	"contend/pipeline"
)

// making is how many items a producer makes before it hands them over.
const making = 256

// background is the context of all sending and receiving: an iteration that is
// cancelled ends because its producers stop, its consumers always drain. So the
// pipeline does not pay for cancellation, which would double the cost of an
// unbuffered channel.
var background = context.Background()

// vu moves items through one new pipeline per iteration.
type vu struct {
	rung    string
	config  pipeline.Config
	shares  []uint64 // items per producer
	tallies []*pipeline.Tally
	paper   *paper // nil: no printing
}

// Do moves all items and accounts for every one.
func (v *vu) Do(ctx context.Context) (load.Outcome, error) {
	p, err := pipeline.New[uint64](v.rung, v.config)
	if err != nil {
		return load.Outcome{}, err
	}
	return v.move(ctx, p)
}

// Close ends the discarding process, if there is one.
func (v *vu) Close() error {
	if v.paper == nil {
		return nil
	}
	return v.paper.close()
}

func (v *vu) move(ctx context.Context, p *pipeline.Pipeline[uint64]) (load.Outcome, error) {
	it := &iteration{paper: v.paper}
	released := it.stopWith(ctx)
	var all sync.WaitGroup
	for i, producer := range p.Producers {
		all.Go(func() { it.produce(producer, i, v.shares[i]) })
	}
	for i, consumer := range p.Consumers {
		v.tallies[i] = new(pipeline.Tally)
		all.Go(func() { it.consume(consumer, v.tallies[i]) })
	}
	all.Wait()
	released()
	if it.stopped.Load() {
		if err := ctx.Err(); err != nil {
			return load.Outcome{}, err
		}
		return load.Outcome{}, fmt.Errorf("pipe: print: %w", *it.failure.Load())
	}
	outcome := load.Outcome{BytesOut: it.printed.Load()}
	for _, tally := range v.tallies {
		outcome.Ops += int64(tally.Count())
	}
	outcome.Failed = pipeline.Audit(v.shares, v.tallies...) != nil
	return outcome, nil
}

// An iteration is what its goroutines share.
type iteration struct {
	paper   *paper
	printed atomic.Int64 // bytes
	failure atomic.Pointer[error]
	stopped atomic.Bool // read for every hand-over, written once
}

// stopWith stops the iteration when ctx is done, even where it waits for the
// discarding process. The function it returns ends that and waits for its end.
func (it *iteration) stopWith(ctx context.Context) (release func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(done)
		it.stopped.Store(true)
		it.paper.interrupt()
	})
	return func() {
		if !cancel() {
			<-done
			it.paper.resume()
		}
	}
}

func (it *iteration) produce(p *pipeline.Producer[uint64], id int, n uint64) {
	defer p.Close(background)
	most := uint64(making)
	if it.paper != nil {
		most = 1
	}
	var made [making]uint64
	for next := uint64(1); next <= n && !it.stopped.Load(); {
		items := made[:min(most, n-next+1)]
		for i := range items {
			items[i] = pipeline.Item(id, next+uint64(i))
		}
		it.print("sent", items)
		_, _ = p.SendAll(background, items) // cannot fail: p is open, background never done
		next += uint64(len(items))
	}
}

func (it *iteration) consume(c *pipeline.Consumer[uint64], tally *pipeline.Tally) {
	for {
		items, err := c.ReceiveSome(background)
		if err != nil { // the end: background is never done
			return
		}
		tally.Add(items...)
		it.print("received", items)
	}
}

// print writes a line per item, until the iteration is stopped.
func (it *iteration) print(what string, items []uint64) {
	if it.paper == nil {
		return
	}
	for _, item := range items {
		if it.stopped.Load() {
			return
		}
		n, err := fmt.Fprintln(it.paper.to, what, item)
		it.printed.Add(int64(n))
		if err != nil {
			it.failure.CompareAndSwap(nil, &err)
			it.stopped.Store(true)
		}
	}
}
