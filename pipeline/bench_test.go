package pipeline

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkAgainstChannel pairs short blocks of every design with blocks of a bare
// channel with buffer 10 000, the published third rung, in changing order, and
// reports the median ratio of the pairs: with one item per call (Send, Receive), the
// same with the inlined halves first (Offer, Take), and with slices (SendAll,
// ReceiveSome), the last also for several producers and consumers.
func BenchmarkAgainstChannel(b *testing.B) {
	for _, d := range Designs() {
		b.Run(d.Name+"/one-call", func(b *testing.B) {
			pairBlocks(b, d, Config{Buffer: 10_000}, moveByCalls)
		})
		b.Run(d.Name+"/one-inlined", func(b *testing.B) {
			pairBlocks(b, d, Config{Buffer: 10_000}, moveInlined)
		})
		for _, n := range []int{1, 2, 4} {
			if n > d.MaxProducers {
				break
			}
			c := Config{Buffer: 10_000, Producers: n, Consumers: min(n, d.MaxConsumers)}
			b.Run(fmt.Sprintf("%s/slices/%dx%d", d.Name, c.Producers, c.Consumers), func(b *testing.B) {
				pairBlocks(b, d, c, moveSlices)
			})
		}
	}
}

// BenchmarkBatch shows what the batch size is worth.
func BenchmarkBatch(b *testing.B) {
	for _, name := range []string{"chan-batch", "spsc"} {
		d, _ := Lookup(name)
		for _, batch := range []int{1, 16, 64, 256, 1024, 4096} {
			b.Run(fmt.Sprintf("%s/%d", name, batch), func(b *testing.B) {
				pairBlocks(b, d, Config{Buffer: 10_000, Batch: batch}, moveSlices)
			})
		}
	}
}

const (
	blockTime   = time.Millisecond // aimed at; long enough for the start to be small
	probeBlocks = 5
)

func pairBlocks(b *testing.B, d Design, c Config, run func(p *Pipeline[uint64], n int)) {
	design := func(n int) {
		run(mustNew[uint64](b, d.Name, c), n)
	}
	channel := func(n int) { moveByChannel(n, max(1, c.Producers), max(1, c.Consumers)) }
	designItems, channelItems := blockSize(design), blockSize(channel)
	var ratios, designNs, channelNs []float64
	for i := 0; b.Loop(); i++ {
		var x, y float64
		if i%2 == 0 {
			x, y = perItem(design, designItems), perItem(channel, channelItems)
		} else {
			y, x = perItem(channel, channelItems), perItem(design, designItems)
		}
		ratios, designNs, channelNs = append(ratios, y/x), append(designNs, x), append(channelNs, y)
	}
	b.ReportMetric(median(ratios), "x_channel")
	b.ReportMetric(median(designNs), "ns/item")
	b.ReportMetric(median(channelNs), "channel-ns/item")
	b.ReportMetric(0, "ns/op") // hides the time of a pair, which says nothing
}

// blockSize returns about how many items take blockTime.
func blockSize(run func(n int)) int {
	best := perItem(run, 100_000)
	for range probeBlocks {
		best = min(best, perItem(run, 100_000))
	}
	return max(10_000, int(float64(blockTime)/best))
}

func perItem(run func(n int), n int) float64 {
	start := time.Now()
	run(n)
	return float64(time.Since(start)) / float64(n)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

func moveByCalls(p *Pipeline[uint64], n int) {
	both(len(p.Producers), len(p.Consumers), func(i int) {
		producer := p.Producers[i]
		for k := range n / len(p.Producers) {
			_ = producer.Send(forever, uint64(k))
		}
		_ = producer.Close(forever)
	}, func(i int) (sum uint64) {
		consumer := p.Consumers[i]
		for {
			v, err := consumer.Receive(forever)
			if err != nil {
				return sum
			}
			sum += v
		}
	})
}

func moveInlined(p *Pipeline[uint64], n int) {
	both(len(p.Producers), len(p.Consumers), func(i int) {
		producer := p.Producers[i]
		for k := range n / len(p.Producers) {
			if !producer.Offer(uint64(k)) {
				_ = producer.Send(forever, uint64(k))
			}
		}
		_ = producer.Close(forever)
	}, func(i int) (sum uint64) {
		consumer := p.Consumers[i]
		for {
			v, ok := consumer.Take()
			if !ok {
				var err error
				if v, err = consumer.Receive(forever); err != nil {
					return sum
				}
			}
			sum += v
		}
	})
}

func moveSlices(p *Pipeline[uint64], n int) {
	both(len(p.Producers), len(p.Consumers), func(i int) {
		producer := p.Producers[i]
		var chunk [250]uint64
		for k := 0; k < n/len(p.Producers); k += len(chunk) {
			for j := range chunk {
				chunk[j] = uint64(k + j)
			}
			_, _ = producer.SendAll(forever, chunk[:])
		}
		_ = producer.Close(forever)
	}, func(i int) (sum uint64) {
		consumer := p.Consumers[i]
		for {
			items, err := consumer.ReceiveSome(forever)
			if err != nil {
				return sum
			}
			for _, v := range items {
				sum += v
			}
		}
	})
}

func moveByChannel(n, producers, consumers int) {
	items := make(chan uint64, 10_000)
	var open sync.WaitGroup
	open.Add(producers)
	go func() { open.Wait(); close(items) }()
	both(producers, consumers, func(int) {
		for k := range n / producers {
			items <- uint64(k)
		}
		open.Done()
	}, func(int) (sum uint64) {
		for v := range items {
			sum += v
		}
		return sum
	})
}

// both runs all producers and consumers and keeps the compiler from dropping the sums.
func both(producers, consumers int, produce func(i int), consume func(i int) uint64) {
	sums := make([]uint64, consumers)
	var all sync.WaitGroup
	for i := range producers {
		all.Go(func() { produce(i) })
	}
	for i := range consumers {
		all.Go(func() { sums[i] = consume(i) })
	}
	all.Wait()
}
