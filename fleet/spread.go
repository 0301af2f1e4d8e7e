package fleet

import (
	"math"
	"slices"
	"time"

	"contend/load"
)

// A worker is shown as the odd one from so many times as much or as little as the median of all, for its
// weight, on; or where it has said nothing for so long of what others have told.
const (
	oddFactor = 1.5
	oddSilent = 3 * time.Second
)

// spread is how workers compare, by what each has reported; workers without a report yet are left out.
func (d *drive) spread(told map[string]glance, elapsed time.Duration) *load.Spread {
	s := &load.Spread{Generators: len(d.workers), LeastPerSec: math.Inf(1)}
	rates, shares := make([]float64, len(d.workers)), []float64{}
	for i, w := range d.workers {
		g := told[livePrefix+d.session+"."+w.ID]
		switch {
		case elapsed-g.Elapsed > oddSilent && !s.OddSilent:
			s.Odd, s.OddSilent = w.Name, true
		case g.Measured > 0:
			rates[i] = float64(g.Ops) / g.Measured.Seconds()
			shares = append(shares, rates[i]/float64(d.weights[i]))
		}
	}
	if len(shares) == 0 {
		return nil
	}
	slices.Sort(shares)
	typical, furthest, odd := shares[len(shares)/2], math.Log(oddFactor), -1
	for i, w := range d.workers {
		if off := math.Abs(math.Log(rates[i] / float64(d.weights[i]) / typical)); off > furthest && !s.OddSilent && told[livePrefix+d.session+"."+w.ID].Measured > 0 {
			furthest, odd = off, i
		}
	}
	for i, rate := range rates {
		switch {
		case i == odd:
			s.Odd, s.OddPerSec = d.workers[i].Name, rate
		case rate > 0:
			s.LeastPerSec, s.MostPerSec = min(s.LeastPerSec, rate), max(s.MostPerSec, rate)
		}
	}
	s.LeastPerSec = min(s.LeastPerSec, s.MostPerSec) // of none
	return s
}
