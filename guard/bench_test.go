package guard_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"contend/guard"
)

// BenchmarkAdd is the cost of one addition, for as many goroutines at a time as
// there are Ps and for a hundred on each.
func BenchmarkAdd(b *testing.B) {
	arms := map[string]func(*testing.B) func(*testing.PB){"bare-mutex": bareMutex, "bare-inputq": bareInputQ}
	for _, d := range guard.Designs() {
		arms[d.Name] = func(b *testing.B) func(*testing.PB) { return adding(b, d) }
	}
	for _, name := range slices.Sorted(maps.Keys(arms)) {
		for _, perP := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/goroutines-per-P=%d", name, perP), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(perP)
				b.RunParallel(arms[name](b))
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
