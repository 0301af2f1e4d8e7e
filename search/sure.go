package search

import (
	"cmp"
	"slices"
	"time"

	"contend/expect"
	"contend/load"
	"contend/stat"
)

const (
	// wrongSide is the chance that the answers at a rate whose share of slow ones is just what the percentile allows are
	// ever taken for more or less.
	wrongSide = 0.05
	// batch is how long answers are taken to be slow together.
	batch = 250 * time.Millisecond
)

// pooled is what several attempts at one rate show together of the objectives that are percentiles.
type pooled struct {
	side   int // 1: the share of slow answers is within all of them, -1: it is not; 0: there are none
	sure   int // the side if it is beyond chance, else 0
	others int // attempts that missed for another reason
}

func (s *Result) pool(attempts []Attempt) (p pooled) {
	percentiles := s.Design.percentiles()
	sure := 1
	for _, b := range percentiles {
		slow, of := slowAnswers(b, attempts)
		if of == 0 {
			return pooled{}
		}
		q, _ := b.Metric.Percentile()
		beyond := stat.Beyond(slow, of, 1-q, wrongSide)
		if slow > (1-q)*of {
			p.side = -1
		}
		sure = min(sure, -beyond)
	}
	if len(percentiles) == 0 {
		return p
	}
	p.side = cmp.Or(p.side, 1)
	if sure == p.side {
		p.sure = sure
	}
	for _, a := range attempts {
		keeps := func(b expect.Bound) bool { value, ok := b.Metric.Of(a.Result); return ok && b.Holds(value) }
		if a.Outcome == Missed && !slices.ContainsFunc(percentiles, func(b expect.Bound) bool { return !keeps(b) }) {
			p.others++
		}
	}
	return p
}

// slowAnswers returns how many answers took longer than a percentile's bound, and of how many. Slow answers come in
// groups, since what waits behind one is slow as well; so both numbers are divided by how much more the share varies
// from batch to batch than that of independent answers (McCullagh and Nelder, "Generalized Linear Models", 4.5.2).
func slowAnswers(b expect.Bound, attempts []Attempt) (slow, of float64) {
	var slowOf, all []float64 // by batch
	for _, p := range attempts {
		if p.Result == nil || p.Outcome == Doubted {
			continue
		}
		more, n := b.Metric.Longer(p.Result, time.Duration(b.Value))
		slow, of = slow+float64(more), of+float64(n)
		weights, counts := batches(b, p.Result)
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		for i, n := range counts {
			if n > 0 {
				slowOf, all = append(slowOf, weights[i]*float64(more)/max(1, sum)), append(all, n)
			}
		}
	}
	if slow == 0 || slow == of || len(all) < 2 {
		return slow, of
	}
	share, squares := slow/of, 0.0
	for i, n := range all {
		off := slowOf[i] - n*share
		squares += off * off / (n * share * (1 - share))
	}
	more := max(1, squares/float64(len(all)-1))
	return slow / more, of / more
}

// batches returns how many answers ended in each batch, and about how many of them were slow; only the course of
// response times is known.
func batches(b expect.Bound, r *load.Result) (slow, of []float64) {
	c := r.OverTime()
	if c == nil || !b.Metric.IsResponse() {
		return nil, nil
	}
	per := max(1, int(batch/c.Width))
	for i, in := range c.Intervals[c.Warmup:] {
		if i%per == 0 {
			slow, of = append(slow, 0), append(of, 0)
		}
		slow[i/per] += slowIn(in, time.Duration(b.Value))
		of[i/per] += float64(in.Completed)
	}
	return slow, of
}

// slowIn is the least number of answers that the quantiles of an interval show to be slow.
func slowIn(in load.Interval, bound time.Duration) float64 {
	share := 0.0
	switch {
	case in.ResponseP50 > bound:
		share = 0.5
	case in.ResponseP90 > bound:
		share = 0.1
	case in.ResponseP99 > bound:
		share = 0.01
	case in.ResponseMax <= bound:
		return 0
	}
	return max(1, share*float64(in.Completed))
}
