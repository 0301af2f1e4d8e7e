package load

import "time"

// A glance is a coarse histogram of response times for whoever watches a run. It is copied
// while an iteration may wait, which a histogram of three digits would take too long for.
type glance [buckets]int64

func (g *glance) record(d time.Duration) { g[bucketOf(d)]++ }

func (g *glance) add(other *glance) {
	for i, n := range other {
		g[i] += n
	}
}

// quantile returns the q-quantile, 0 < q ≤ 1, or 0 where nothing was recorded.
func (g *glance) quantile(q float64) time.Duration {
	h := coarse{counts: g[:]}
	return h.quantiles(q)[0]
}
