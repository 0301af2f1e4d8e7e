package queue

import (
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/message"
)

func BenchmarkAppendEntry(b *testing.B) {
	u, e := frame(1), encoder{}
	b.ReportAllocs()
	for b.Loop() {
		e.reset()
		e.uplink(u, byAddress)
	}
}

func BenchmarkParseEntry(b *testing.B) {
	fields := with()
	var (
		p     parser
		u     message.Uplink
		arena = make([]byte, 64)
	)
	b.ReportAllocs()
	for b.Loop() {
		p.parse(fields, &u, arena)
	}
}

// BenchmarkProducer writes one uplink per iteration to a real Redis.
func BenchmarkProducer(b *testing.B) {
	r := openURL(b, redistest.Start(b).URL())
	p := newProducer(b, r, ProducerConfig{})
	uplinks := frames(0, maxPipeline)
	reportCPU(b, r, func() {
		for left := b.N; left > 0; left -= maxPipeline {
			if err := p.Add(b.Context(), uplinks[:min(left, maxPipeline)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkIntake reads and acknowledges one uplink per iteration.
func BenchmarkIntake(b *testing.B) {
	r := openURL(b, redistest.Start(b).URL())
	p := newProducer(b, r, ProducerConfig{Limit: 100_000_000})
	for i := 0; i < b.N; i += 1000 {
		if err := p.Add(b.Context(), frames(i, min(i+1000, b.N))); err != nil {
			b.Fatal(err)
		}
	}
	in, err := NewIntake(b.Context(), r, IntakeConfig{})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	var running sync.WaitGroup
	reportCPU(b, r, func() {
		running.Go(func() {
			_ = in.Run(b.Context(), func(uplinks []*message.Uplink) {
				origins := make([]message.Origin, len(uplinks))
				for i, u := range uplinks {
					origins[i] = u.Origin
				}
				n += len(uplinks)
				in.Ack(origins)
			})
		})
		for in.Stats().Acked < uint64(b.N) {
			time.Sleep(time.Millisecond)
		}
	})
	if err := in.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	running.Wait()
	if n != b.N {
		b.Fatalf("%d of %d", n, b.N)
	}
}
