package load

// starvedAfter is how many responses the other VUs must have got, on average, until one without any is starved.
const starvedAfter = 20

// starved is how many VUs got no response of so many, of a plan that has all of them begin at its start and go on. What a
// script does is its own affair.
func (r *run) starved(responses int64) int {
	if p := r.plan; p.WholeFlows || p.Pacer != nil || p.Callers != nil || p.Iterations > 0 || p.PerVU > 0 {
		return 0
	}
	heard := 0
	for _, s := range r.shards {
		for _, of := range s.heard {
			if of&answered > 0 {
				heard++
			}
		}
	}
	if heard == 0 || responses < int64(starvedAfter*heard) {
		return 0
	}
	return r.plan.VUs - heard
}
