package load

import (
	"time"

	"contend/errkind"
)

// A Flow is what an iteration of several requests came to.
type Flow struct {
	// Whole says that it ran to its end, even if its answer is wrong.
	Whole    bool
	Requests []Request
	Checks   []Check
	Readings []Reading
}

// A Request is one of the requests of a flow.
type Request struct {
	// Name is what results call it.
	Name string
	// Status is the protocol's status, or 0.
	Status int
	// Failed marks an answer that was not expected.
	Failed bool
	// Err is why there is no answer; "": there is one.
	Err errkind.Kind
	// Service is from the request's begin to the end of its answer.
	Service time.Duration
	// BodyIn is as in Outcome. Connections belong to the flow: their bytes are not counted by request.
	BodyIn int64
}

// A Check is what a flow asked of what it got, and whether it held.
type Check struct {
	Name   string
	Passed bool
}

// A CheckResult is how often a check of flows held.
type CheckResult struct {
	Name   string `json:"name"`
	Passed int64  `json:"passed"`
	Failed int64  `json:"failed"`
}

// maxNames bounds how many requests and checks of flows are counted by name: names may have been
// made of data. The rest is counted under otherNames.
const (
	maxNames   = 100
	otherNames = "(others)"
)

// flow counts what belongs to an iteration that ended then.
func (c *Counts) flow(f *Flow, end time.Duration) {
	for i := range f.Requests {
		c.flowRequest(&f.Requests[i])
	}
	for i := range f.Checks {
		c.checked(&f.Checks[i])
	}
	c.read(f.Readings, end)
}

func (c *Counts) checked(one *Check) {
	check := c.check(one.Name)
	if one.Passed {
		check.Passed++
	} else {
		check.Failed++
	}
}

func (c *Counts) flowRequest(r *Request) {
	name := r.Name
	if _, known := c.Requests[name]; !known && len(c.Requests) >= maxNames {
		name = otherNames
	}
	share := c.request(name)
	switch {
	case r.Err != "":
		share.Errored++
		return
	case r.Failed:
		share.Failed++
	default:
		share.Completed++
		share.Service.Record(r.Service)
	}
	if r.Status != 0 {
		c.countStatus(r.Status)
	}
}

// check returns the count of a check, which is added where it is new.
func (c *Counts) check(name string) *CheckResult {
	for i := range c.Checks {
		if c.Checks[i].Name == name {
			return &c.Checks[i]
		}
	}
	if len(c.Checks) > maxNames {
		return &c.Checks[maxNames]
	}
	if len(c.Checks) == maxNames {
		name = otherNames
	}
	c.Checks = append(c.Checks, CheckResult{Name: name})
	return &c.Checks[len(c.Checks)-1]
}

// addFlows adds up the requests and checks of two parts.
func (c *Counts) addFlows(o *Counts) {
	for name, r := range o.Requests {
		mine := c.request(name)
		mine.Completed += r.Completed
		mine.Failed += r.Failed
		mine.Errored += r.Errored
		mine.Service.Merge(r.Service)
	}
	for _, check := range o.Checks {
		mine := c.check(check.Name)
		mine.Passed += check.Passed
		mine.Failed += check.Failed
	}
}
