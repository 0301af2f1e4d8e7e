package redis

import (
	"fmt"
	"sync"
	"testing"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
)

// BenchmarkIncrement has callers of one process share a counter of a real Redis.
// batch is how many increments a command carries, trips how many round trips an
// increment needs.
func BenchmarkIncrement(b *testing.B) {
	server := at(b, redisserver.Config{URL: redistest.Start(b).URL()})
	for _, d := range Designs() {
		for _, callers := range []int{1, 80} {
			b.Run(fmt.Sprintf("%s/callers=%d", d.Name, callers), func(b *testing.B) {
				c := open(b, Config{Server: server, Design: d.Name})
				b.ReportAllocs()
				var wg sync.WaitGroup
				for caller := range callers {
					wg.Go(func() {
						for i := caller; i < b.N; i += callers {
							if _, err := c.Add(b.Context(), 1); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				stats := c.Stats()
				b.ReportMetric(float64(stats.Increments)/float64(stats.Commands), "batch")
				b.ReportMetric(float64(stats.RoundTrips)/float64(stats.Increments), "trips")
			})
		}
	}
}
