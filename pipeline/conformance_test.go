package pipeline

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// everyDesign runs f over the table, on one and on two processors.
func everyDesign(t *testing.T, f func(t *testing.T, d Design)) {
	for _, procs := range []int{1, 2} {
		for _, d := range Designs() {
			t.Run(d.Name+"/"+map[int]string{1: "1cpu", 2: "2cpu"}[procs], func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				f(t, d)
			})
		}
	}
}

func TestEveryItemArrives(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		for producers := 1; producers <= min(4, d.MaxProducers); producers++ {
			for consumers := 1; consumers <= min(4, d.MaxConsumers); consumers++ {
				for _, buffer := range []int{d.MinBuffer, 7, 500} {
					for _, batch := range []int{1, 3, 0} {
						c := Config{Buffer: buffer, Batch: batch, Producers: producers, Consumers: consumers}
						sent := []uint64{700, 0, 1, 333}[:producers]
						if err := exercise(forever, mustNew[uint64](t, d.Name, c), sent, 50); err != nil {
							t.Fatalf("%+v: %v", c, err)
						}
					}
				}
			}
		}
	})
}

func TestEveryItemArrivesAnyhow(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		rapid.Check(t, func(r *rapid.T) {
			c := Config{
				Buffer:    rapid.IntRange(d.MinBuffer, 300).Draw(r, "buffer"),
				Batch:     rapid.IntRange(0, 100).Draw(r, "batch"),
				Producers: rapid.IntRange(1, min(4, d.MaxProducers)).Draw(r, "producers"),
				Consumers: rapid.IntRange(1, min(4, d.MaxConsumers)).Draw(r, "consumers"),
			}
			sent := rapid.SliceOfN(rapid.Uint64Range(0, 500), c.Producers, c.Producers).Draw(r, "sent")
			flushEvery := rapid.Uint64Range(0, 40).Draw(r, "flush")
			ctx, cancel := context.WithCancel(forever) // one that could be cancelled takes other paths
			defer cancel()
			p, err := New[uint64](d.Name, c)
			if err != nil {
				r.Fatal(err)
			}
			if err := exercise(ctx, p, sent, flushEvery); err != nil {
				r.Fatal(err)
			}
		})
	})
}

// A cancelled context makes every call say at once whether it would wait, so that
// one goroutine can hold a design against a plain queue.
func TestAgreesWithAQueue(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		rapid.Check(t, func(r *rapid.T) {
			p, err := New[int](d.Name, Config{
				Buffer: rapid.IntRange(max(1, d.MinBuffer), 20).Draw(r, "buffer"),
				Batch:  rapid.IntRange(1, 8).Draw(r, "batch"),
			})
			if err != nil {
				r.Fatal(err)
			}
			in, out := p.Producers[0], p.Consumers[0]
			var queue []int
			next, no := 0, cancelled()
			room := p.Config.Buffer
			if d.Name == "chan-batch" { // flushed items may each take the place of a batch
				room = p.Config.Batch
			}
			receive := func(ctx context.Context) error {
				v, err := out.Receive(ctx)
				if err != nil {
					return err
				}
				if len(queue) == 0 || v != queue[0] {
					r.Fatalf("received %d, queue is %v", v, queue)
				}
				queue = queue[1:]
				return nil
			}
			r.Repeat(map[string]func(*rapid.T){
				"send": func(r *rapid.T) {
					next++
					if err := in.Send(no, next); err == nil {
						queue = append(queue, next)
					} else if len(queue) < room {
						r.Fatalf("%v with %d items in %+v", err, len(queue), p.Config)
					}
				},
				"flush": func(*rapid.T) { _ = in.Flush(no) },
				"receive": func(*rapid.T) {
					flushed := in.Flush(no) == nil
					if err := receive(no); err != nil && flushed && len(queue) > 0 {
						r.Fatalf("%v with %v waiting", err, queue)
					}
				},
			})
			for in.Flush(no) != nil { // a full pipeline refuses the flush until something is taken
				if err := receive(no); err != nil {
					r.Fatal(err)
				}
			}
			if err := in.Close(no); err != nil {
				r.Fatal(err)
			}
			for err = receive(forever); err == nil; err = receive(forever) {
			}
			if err != io.EOF || len(queue) > 0 {
				r.Fatalf("%v with %v left", err, queue)
			}
		})
	})
}

// One item after the other from changing producers: with a total order the only
// consumer gets them in that order.
func TestTotalOrder(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		if d.Order != TotalOrder {
			t.Skip("promises the order per producer")
		}
		p := mustNew[int](t, d.Name, Config{Buffer: 64, Producers: min(2, d.MaxProducers)})
		const n = 2000
		turn := make(chan int, 1)
		var all sync.WaitGroup
		for _, producer := range p.Producers {
			all.Go(func() {
				defer producer.Close(forever)
				for v := range turn {
					_ = producer.Send(forever, v)
					if v == n {
						close(turn)
						return
					}
					turn <- v + 1
				}
			})
		}
		turn <- 1
		for want := 1; want <= n; want++ {
			if got, err := p.Consumers[0].Receive(forever); got != want || err != nil {
				t.Fatalf("got %d, %v, want %d", got, err, want)
			}
		}
		all.Wait()
	})
}

func TestCancelledSendTakesNothing(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustNew[uint64](t, d.Name, Config{Buffer: 8, Batch: 2})
		ctx, cancel := context.WithTimeout(forever, 20*time.Millisecond)
		defer cancel()
		var sent uint64
		var err error
		for err == nil {
			sent++
			err = p.Producers[0].Send(ctx, Item(0, sent))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		tally := new(Tally)
		all.Go(func() { _, err = consume(forever, p.Consumers[0], tally) })
		if err := p.Producers[0].Send(forever, Item(0, sent)); err != nil { // the refused one again
			t.Error(err)
		}
		if err := p.Producers[0].Close(forever); err != nil {
			t.Error(err)
		}
		all.Wait()
		if err := errors.Join(err, Audit([]uint64{sent}, tally)); err != nil {
			t.Error(err)
		}
	})
}

func TestCancelledReceiveLosesNothing(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustNew[int](t, d.Name, Config{Buffer: d.MinBuffer})
		ctx, cancel := context.WithTimeout(forever, 5*time.Millisecond)
		defer cancel()
		if _, err := p.Consumers[0].Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		var sender sync.WaitGroup
		sender.Go(func() {
			if err := exchange(p.Producers[0], 7); err != nil {
				t.Error(err)
			}
		})
		if v, err := p.Consumers[0].Receive(forever); v != 7 || err != nil {
			t.Errorf("got %d, %v", v, err)
		}
		sender.Wait()
	})
}

func exchange(p *Producer[int], v int) error {
	return errors.Join(p.Send(forever, v), p.Flush(forever))
}

func TestConsumersThatLeaveReleaseProducers(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		c := Config{Buffer: 16, Producers: min(3, d.MaxProducers), Consumers: min(2, d.MaxConsumers)}
		p := mustNew[int](t, d.Name, c)
		ctx, cancel := context.WithCancel(forever)
		var consumers, producers sync.WaitGroup
		for _, producer := range p.Producers {
			producers.Go(func() {
				var err error
				for err == nil {
					err = producer.Send(ctx, 1)
				}
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				_ = producer.Close(ctx)
			})
		}
		for _, consumer := range p.Consumers {
			consumers.Go(func() {
				for range 100 {
					if _, err := consumer.Receive(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		consumers.Wait()
		cancel()
		producers.Wait()
	})
}

func TestEndReachesEveryConsumer(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		for round := range 200 {
			c := Config{Buffer: 4, Producers: min(3, d.MaxProducers), Consumers: min(4, d.MaxConsumers)}
			sent := []uint64{uint64(round % 2), 0, uint64(round % 3)}[:c.Producers]
			if err := exercise(forever, mustNew[uint64](t, d.Name, c), sent, 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestClose(t *testing.T) {
	everyDesign(t, func(t *testing.T, d Design) {
		p := mustNew[int](t, d.Name, Config{Buffer: 4})
		in, out := p.Producers[0], p.Consumers[0]
		if err := errors.Join(in.Send(forever, 1), in.Close(forever), in.Close(forever), in.Flush(forever)); err != nil {
			t.Fatal(err)
		}
		if err := in.Send(forever, 2); !errors.Is(err, ErrClosed) || in.Offer(2) {
			t.Errorf("a closed producer took an item: %v", err)
		}
		if v, err := out.Receive(cancelled()); v != 1 || err != nil {
			t.Errorf("got %d, %v, want what was sent before Close", v, err)
		}
		for range 3 {
			if _, err := out.Receive(cancelled()); err != io.EOF {
				t.Errorf("%v, want EOF again and again", err)
			}
		}
	})
}
