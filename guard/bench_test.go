package guard_test

import (
	"context"
	"fmt"
	"testing"

	"contend/guard"
)

// BenchmarkAdd is the cost of one addition, for as many goroutines at a time as
// there are Ps and for a hundred on each.
func BenchmarkAdd(b *testing.B) {
	for _, d := range guard.Designs() {
		for _, perP := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/goroutines-per-P=%d", d.Name, perP), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(perP)
				b.RunParallel(adding(b, d))
			})
		}
	}
}

func adding(b *testing.B, d guard.Design) func(*testing.PB) {
	if d.NewAdder != nil {
		a := d.NewAdder()
		return func(pb *testing.PB) {
			for pb.Next() {
				a.Add(1)
			}
		}
	}
	c := d.NewCounter()
	b.Cleanup(func() { c.Close() })
	ctx := context.Background()
	return func(pb *testing.PB) {
		for pb.Next() {
			_, _ = c.Add(ctx, 1)
		}
	}
}
