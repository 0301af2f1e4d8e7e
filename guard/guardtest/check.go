package guardtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// CheckTotal checks that a counter went from before to after by exactly the sum
// of h, each call with an error having happened or not.
func CheckTotal(h History, before, after int64) error {
	least, most := before, before
	for _, c := range h {
		if c.Err == nil || c.N < 0 {
			least += c.N
		}
		if c.Err == nil || c.N > 0 {
			most += c.N
		}
	}
	switch {
	case after >= least && after <= most:
		return nil
	case least == most:
		return fmt.Errorf("guardtest: the total is %d after %d calls: want %d", after, len(h), least)
	}
	return fmt.Errorf("guardtest: the total is %d after %d calls: want %d to %d", after, len(h), least, most)
}

// CheckDense checks that the additions of 1 in h, which are all the additions
// that there were since the counter was at before, returned every value after
// before exactly once. Each call with an error may account for one missing
// value.
func CheckDense(h History, before int64) error {
	var values []int64
	failed := int64(0)
	for _, c := range h {
		switch {
		case c.N == 0:
		case c.N != 1:
			return fmt.Errorf("guardtest: a call adds %d: density is defined for additions of 1", c.N)
		case c.Err != nil:
			failed++
		default:
			values = append(values, c.Value)
		}
	}
	slices.Sort(values)
	last, missing := before, int64(0)
	for _, v := range values {
		switch {
		case v <= before:
			return fmt.Errorf("guardtest: value %d was returned: want more than %d", v, before)
		case v == last:
			return fmt.Errorf("guardtest: value %d was returned to two callers", v)
		}
		missing += v - last - 1
		last = v
		if missing > failed {
			return fmt.Errorf("guardtest: no caller got some value below %d: %d are missing and %d calls failed",
				v, missing, failed)
		}
	}
	return nil
}

// CheckMonotonic checks that each caller saw the counter grow: by its own
// addition strictly, by a load not backwards. h must have no negative addition.
func CheckMonotonic(h History) error {
	last := make(map[int]Call)
	for _, c := range byStart(h.Succeeded()) {
		before, seen := last[c.Caller]
		if seen && c.Value < before.Value+c.N {
			return fmt.Errorf("guardtest: caller %d added %d and got %d after it had got %d",
				c.Caller, c.N, c.Value, before.Value)
		}
		last[c.Caller] = c
	}
	return nil
}

// CheckRealTime checks that a call which started after another had returned got
// at least that call's value plus what it added itself. h must have no negative
// addition. It takes O(n log n) time.
func CheckRealTime(h History) error {
	starts := byStart(h.Succeeded())
	ends := slices.SortedFunc(slices.Values(starts), func(a, b Call) int { return cmp.Compare(a.End, b.End) })
	var newest Call // the highest value among the calls that returned so far
	returned := 0
	for _, c := range starts {
		for ; returned < len(ends) && ends[returned].End < c.Start; returned++ {
			if returned == 0 || ends[returned].Value > newest.Value {
				newest = ends[returned]
			}
		}
		if returned > 0 && c.Value < newest.Value+c.N {
			return fmt.Errorf("guardtest: caller %d added %d and got %d in [%v, %v], after caller %d had got %d at %v",
				c.Caller, c.N, c.Value, c.Start, c.End, newest.Caller, newest.Value, newest.End)
		}
	}
	return nil
}

// CheckLinearizable checks that h fits a counter at before that does one call at
// a time, each between its start and its end (Herlihy and Wing, TOPLAS 1990).
// The search is exponential at worst, so h should be of some hundred calls; no
// verdict within the timeout is an error.
func CheckLinearizable(h History, before int64, timeout time.Duration) error {
	operations := make([]porcupine.Operation, len(h))
	for i, c := range h {
		operations[i] = porcupine.Operation{
			ClientId: c.Caller, Input: c, Output: c, Call: int64(c.Start), Return: int64(c.End),
		}
		if c.Err != nil { // it may take effect at any later time, or never
			operations[i].ClientId = len(h) + i
			operations[i].Return = math.MaxInt64
		}
	}
	switch porcupine.CheckOperationsTimeout(counterModel(before), operations, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return fmt.Errorf("guardtest: no order of the %d calls explains what they returned", len(h))
	}
	return fmt.Errorf("guardtest: %v were too short to check %d calls for linearizability", timeout, len(h))
}

// counterModel is fetch-and-add: a load adds nothing.
func counterModel(before int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return before },
		Step: func(state, input, _ any) (bool, any) {
			c := input.(Call)
			value := state.(int64) + c.N
			return c.Err != nil || c.Value == value, value
		},
	}
}

func byStart(h History) History {
	return slices.SortedFunc(slices.Values(h), func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
}
