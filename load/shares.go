package load

import (
	"time"

	"contend/errkind"
)

// starvedAfter is how many responses the other VUs must have got, on average, until one without any is starved, or how many of
// their service times it must have waited.
const starvedAfter = 20

// Shares are how the responses of a run fall to its VUs, which have a connection or stream each: what Jain's index of
// fairness (Jain, Chiu and Hawe, 1984) takes, and what adds up over several generators. NewShares makes them.
type Shares struct {
	VUs      int   `json:"vus"`
	Unheard  int   `json:"without_response"`
	Answered int64 `json:"responses"`
	// Streams says that they are streams, which share connections.
	Streams bool `json:"streams,omitempty"`
	// Elapsed is how long the run took, with what it waited for iterations in flight; 0: not known.
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
	// Squares is the sum of the squares of each VU's responses.
	Squares float64 `json:"sum_of_squares"`
	// Jain is Answered² ÷ (VUs · Squares): from 1, where all got as many, down to 1 ÷ VUs, where one got all.
	Jain float64 `json:"jain_index"`
}

// A Multiplexer is a Target whose VUs can be streams that share connections.
type Multiplexer interface{ Multiplexes() bool }

// NewShares returns the shares of VUs that got so many responses each; nil: there are none.
func NewShares(responses []int64) *Shares {
	if len(responses) == 0 {
		return nil
	}
	s := &Shares{VUs: len(responses)}
	for _, n := range responses {
		if n == 0 {
			s.Unheard++
		}
		s.Answered += n
		s.Squares += float64(n) * float64(n)
	}
	s.derive()
	return s
}

func (s *Shares) derive() {
	if s.Jain = 0; s.Squares > 0 {
		s.Jain = float64(s.Answered) * float64(s.Answered) / (float64(s.VUs) * s.Squares)
	}
}

// plus adds up those of two generators that drove a target at the same time; nil: one has none.
func (s *Shares) plus(o *Shares) *Shares {
	if s == nil || o == nil {
		return nil
	}
	sum := &Shares{VUs: s.VUs + o.VUs, Streams: s.Streams, Elapsed: min(s.Elapsed, o.Elapsed), Unheard: s.Unheard + o.Unheard, Answered: s.Answered + o.Answered, Squares: s.Squares + o.Squares}
	sum.derive()
	return sum
}

// IsShared reports whether responses by VU tell something about a server: all VUs begin at the start of the plan, and go on.
func (p *Plan) IsShared() bool {
	return p.Pacer == nil && p.Callers == nil && p.Iterations == 0 && p.PerVU == 0
}

// shares are those of a run, warm-up included; nil where they say nothing. A script counts for itself what its requests came to.
func (r *run) shares() *Shares {
	if !r.plan.IsShared() || r.plan.WholeFlows {
		return nil
	}
	responses := make([]int64, 0, r.plan.VUs)
	for _, s := range r.shards {
		for _, h := range s.heard {
			if h.answered > 0 { // else it may be another shard's
				responses = append(responses, h.answered)
			}
		}
	}
	shares := NewShares(append(responses, make([]int64, max(0, r.plan.VUs-len(responses)))...))
	if shares != nil {
		shares.Elapsed = r.elapsed()
	}
	return shares
}

// unheard is how many VUs got no response while others got so many, or could have; of others that erred they got to know why.
func (r *Result) unheard() int {
	s := r.Shares
	if s == nil || s.Answered == 0 || r.ErroredTotal() != r.Errored[errkind.Timeout] {
		return 0
	}
	waited := r.Completed > 0 && s.Elapsed >= starvedAfter*r.Service.Mean()
	if !waited && s.Answered < int64(starvedAfter*(s.VUs-s.Unheard)) {
		return 0
	}
	return s.Unheard
}
