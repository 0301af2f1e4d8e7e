package load

import (
	"fmt"
	"slices"
)

// A Fault is one cause of failed answers: a check that they broke or, where
// that is empty, their status.
type Fault struct {
	Check  string `json:"check,omitempty"`
	Status int    `json:"status,omitempty"`
	// Expected are the statuses that were asked for in its place, as in "201 or 204".
	Expected string `json:"expected,omitempty"`
	Count    int64  `json:"count"`
	// Example is the beginning of the first such answer.
	Example string `json:"example,omitempty"`
}

// maxStatuses bounds the memory that a hostile server's statuses can take while
// they are recorded; further ones are counted under otherStatus.
const (
	maxStatuses = 100
	otherStatus = -1
)

func (c *Counts) countStatus(status int) {
	if _, known := c.Statuses[status]; !known && len(c.Statuses) >= maxStatuses {
		status = otherStatus
	}
	c.Statuses[status]++
}

// fault counts a failed answer by its cause.
func (c *Counts) fault(out *Outcome) {
	f := faultOf(out)
	f.Count = 1
	i := c.faultIndex(f)
	if i < 0 && f.Check == "" && len(c.Faults) >= maxStatuses {
		f.Status = otherStatus
		i = c.faultIndex(f)
	}
	if i >= 0 {
		c.Faults[i].Count++
		return
	}
	f.Example = clip(string(out.Detail))
	c.Faults = append(c.Faults, f)
}

func (c *Counts) faultIndex(f Fault) int {
	return slices.IndexFunc(c.Faults, func(g Fault) bool {
		return g.Check == f.Check && g.Status == f.Status && g.Expected == f.Expected
	})
}

// faultOf is the cause of a failed answer.
func faultOf(out *Outcome) Fault {
	if out.Check != "" {
		return Fault{Check: out.Check}
	}
	return Fault{Status: out.Status, Expected: out.Expected}
}

// Cause says in a few words what was wrong.
func (f Fault) Cause() string {
	switch {
	case f.Check != "":
		return "check failed: " + f.Check
	case f.Expected != "":
		return fmt.Sprintf("status %d, where %s was expected", f.Status, f.Expected)
	case 200 <= f.Status && f.Status < 400: // of a document without what was
		return fmt.Sprintf("status %d, where another was expected", f.Status)
	}
	return fmt.Sprintf("status %d", f.Status)
}
