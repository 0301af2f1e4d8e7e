package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"contend/finding"
	"contend/internal/unit"
)

// A Standing is how a generator compares with all of a run, in samples that each of them has: a run
// that is too short for several is one sample. Standings of several runs are added.
type Standing struct {
	Samples int `json:"samples"`
	// Response is about its mean response time, and Throughput about its right answers per VU.
	Response   Place `json:"response"`
	Throughput Place `json:"throughput"`
}

// A Place is that of one figure.
type Place struct {
	// Ranks is the sum over samples of its rank among all, from 1, less the rank in the middle; equal
	// figures share theirs.
	Ranks float64 `json:"ranks"`
	// LogRatios is the sum over samples of ln(own ÷ median of all).
	LogRatios float64 `json:"log_ratios"`
}

func (s *Standing) add(o Standing) {
	s.Samples += o.Samples
	s.Response.add(o.Response)
	s.Throughput.add(o.Throughput)
}

func (p *Place) add(o Place) {
	p.Ranks += o.Ranks
	p.LogRatios += o.LogRatios
}

// ratio is by how much it is greater than the median of all on average, as a factor.
func (p Place) ratio(samples int) float64 { return math.Exp(p.LogRatios / float64(samples)) }

// differLevel is the largest chance that generators which are alike are reported as different.
const differLevel = 0.01

// odd reports whether a place is one that n generators which are alike seldom have, and that matters.
//
// Alike means that in each sample all orders are equally likely, whatever the distribution of their figures is. Then
// a rank is uniform on 1 to n, its excess over the middle is subgaussian with its own variance, (n² − 1) ÷ 12,
// and the sum over b samples leaves ±t with a chance of at most 2·exp(−6t² ÷ (b·(n² − 1))) (Chernoff's
// bound; sinh(nx) ÷ (n·sinh x) ≤ exp((n² − 1)·x² ÷ 6), from the product of sinh). Equal figures only lower
// the chance. There are two figures of each of n generators (Bonferroni).
func (p Place) odd(samples, n int) bool {
	chance := 2 * math.Exp(-6*p.Ranks*p.Ranks/(float64(samples)*float64(n*n-1)))
	return chance*float64(2*n) <= differLevel && math.Abs(math.Log(p.ratio(samples))) > math.Log1p(finding.WorkerDiffers.Warns)
}

// batches is into how many parts a run is divided, so that what lasts for a while is in few of them: 10 to 30 are
// enough (Schmeiser 1982, "Batch size effects in the analysis of simulation output", Operations Research 30).
const batches = 30

// stand sets the ranks of generators of a run, in the order of its parts, unless one is lost.
func stand(generators []Generator, parts []Part) {
	for _, p := range parts {
		if p.Result == nil || p.Course == nil || len(parts) < 2 {
			return
		}
	}
	for _, sample := range samplesOf(parts) {
		if slices.ContainsFunc(sample, func(in Interval) bool { return in.Completed <= 0 || in.ResponseSum <= 0 }) {
			continue
		}
		response, throughput := make([]float64, len(parts)), make([]float64, len(parts))
		for i, in := range sample {
			response[i] = float64(in.ResponseSum) / float64(in.Completed)
			throughput[i] = float64(in.Completed) / float64(max(1, parts[i].Concurrency))
		}
		byResponse, byThroughput := placesOf(response), placesOf(throughput)
		for i := range generators {
			generators[i].Standing.add(Standing{1, byResponse[i], byThroughput[i]})
		}
	}
}

// samplesOf are what each part did in as many stretches of the same time, or in all of it.
func samplesOf(parts []Part) [][]Interval {
	courses := make([]Course, len(parts))
	fewest, width := math.MaxInt, parts[0].Course.Width
	for _, p := range parts {
		width = max(width, p.Course.Width)
	}
	for i, p := range parts {
		courses[i] = *p.Course
		for courses[i].Width < width {
			courses[i].double()
		}
		window := len(courses[i].Intervals) - courses[i].Warmup
		fewest = min(fewest, window, int(p.Duration/width))
	}
	each := fewest / batches
	if each == 0 {
		whole := make([]Interval, len(parts))
		for i, p := range parts {
			whole[i] = Interval{Completed: p.Result.Completed, ResponseSum: time.Duration(p.Result.Completed) * p.Response.Mean()}
		}
		return [][]Interval{whole}
	}
	samples := make([][]Interval, batches)
	for k := range samples {
		samples[k] = make([]Interval, len(parts))
		for i, c := range courses {
			for _, in := range c.Intervals[c.Warmup+k*each : c.Warmup+(k+1)*each] {
				samples[k][i].Completed += in.Completed
				samples[k][i].ResponseSum += in.ResponseSum
			}
		}
	}
	return samples
}

// placesOf are the places of figures, each above 0, in one sample.
func placesOf(figures []float64) []Place {
	sorted := slices.Sorted(slices.Values(figures))
	n := len(sorted)
	middle := math.Sqrt(sorted[(n-1)/2] * sorted[n/2])
	places := make([]Place, n)
	for i, x := range figures {
		below, _ := slices.BinarySearch(sorted, x)
		upTo, _ := slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
		places[i] = Place{Ranks: float64(below+1+upTo)/2 - float64(n+1)/2, LogRatios: math.Log(x / middle)}
	}
	return places
}

// Odd says in what a generator of n is unlike the others; "": in nothing. off is by how much, as a factor of 1
// at least.
func (g *Generator) Odd(n int) (text string, off float64) {
	s := g.Standing
	if s.Samples == 0 || n < 2 {
		return "", 1
	}
	power, other := 1.0, "the median worker's"
	if n == 2 { // the median is in the middle between the two
		power, other = 2, "the other's"
	}
	for _, figure := range []struct {
		what  string
		place Place
		worse bool
	}{{"mean response time", s.Response, s.Response.Ranks > 0}, {"throughput per caller", s.Throughput, s.Throughput.Ranks < 0}} {
		if figure.place.odd(s.Samples, n) && (n > 2 || figure.worse) {
			ratio := math.Pow(figure.place.ratio(s.Samples), power)
			return fmt.Sprintf("its %s was %s times %s", figure.what, unit.Digits(ratio), other), max(ratio, 1/ratio)
		}
	}
	return "", 1
}

// mostNamed is how many generators a warning names.
const mostNamed = 4

// differs returns the warning worker_differs where generators are unlike the others, the one that is most so
// first; nil: none is.
func (r *Result) differs() *finding.Warning {
	type odd struct {
		text string
		off  float64
	}
	var list []odd
	for i := range r.Generators {
		g := &r.Generators[i]
		if text, off := g.Odd(len(r.Generators)); text != "" {
			list = append(list, odd{g.Name + " (" + text + ")", off})
		}
	}
	if list == nil {
		return nil
	}
	slices.SortStableFunc(list, func(a, b odd) int { return cmp.Compare(b.off, a.off) })
	var names []string
	for _, o := range list[:min(len(list), mostNamed)] {
		names = append(names, o.text)
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return new(finding.WorkerDiffers.Warning("%d of %d workers differ from the others: %s", len(list), len(r.Generators), strings.Join(names, ", ")))
}
