package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"contend/internal/redisserver"
	"contend/pace"
	"contend/subject"
	"contend/systems/uplink/demo"
	"contend/systems/uplink/sink"
)

const (
	memoryDevices = 1_000_000
	memoryRate    = 20_000
	// settled is when the memory is watched from: by then every device was heard
	// of once.
	settled = memoryDevices / memoryRate * time.Second
)

// memory watches the router's resident memory at a steady rate.
func (b *bench) memory(ctx context.Context) error {
	fmt.Fprintf(b.out, "\n%d devices, %d/s for %v\n", memoryDevices, memoryRate, b.length)
	n := int64(memoryRate * b.length.Seconds())
	var mu sync.Mutex
	var seen []int64
	result, err := demo.Run(ctx, demo.Config{Self: []string{b.contend}, Redis: redisserver.Managed,
		Router:    []string{"--trust-start", "16"},
		Generator: []string{"rate", "-r", fmt.Sprint(memoryRate), "-n", fmt.Sprint(n), "--devices", fmt.Sprint(memoryDevices), "--seed", "1"},
		Sink: sink.Config{Seed: 1, Devices: memoryDevices, Expect: n, Pacer: pace.Constant(memoryRate),
			Idle: 20 * time.Second},
		Observe: func(s subject.Sample) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, s.RSSBytes)
		}})
	if err != nil {
		return fmt.Errorf("row memory: %w", err)
	}
	fmt.Fprintf(b.out, "  %d of %d arrived, response p50 %v, p99 %v\n  router's resident memory, MB, by quarter of the time after %v:", result.Distinct, n,
		result.Load.Response.Quantile(0.5), result.Load.Response.Quantile(0.99), settled)
	mu.Lock()
	defer mu.Unlock()
	from := min(int(settled.Seconds()), len(seen))
	for q := range 4 {
		part := seen[from+(len(seen)-from)*q/4 : from+(len(seen)-from)*(q+1)/4]
		sum := int64(0)
		for _, bytes := range part {
			sum += bytes
		}
		fmt.Fprintf(b.out, " %.1f", float64(sum)/float64(max(1, len(part)))/1e6)
	}
	fmt.Fprintln(b.out)
	return nil
}
