package guard

import (
	"fmt"
	"strings"
)

// Consistency says what the values that a design returns can be relied on for.
type Consistency string

// The consistency classes, strongest first.
const (
	// Linearizable: every operation takes effect at one moment between its
	// call and its return, and every value fits that order.
	Linearizable Consistency = "linearizable"
	// Quiescent: exact once no addition is in progress; a value read during one may
	// be one that the number never had.
	Quiescent Consistency = "quiescent"
)

// A Design is one way to protect shared state.
type Design struct {
	Name    string
	Summary string // one line
	Class   Consistency
	// Exclusive says whether NewExclusive knows the design.
	Exclusive bool
	// NewCounter makes a Counter; nil if the design returns no values.
	NewCounter func() Counter
	// NewAdder makes an Adder; nil if the design is a Counter.
	NewAdder func() Adder
}

// Designs returns all designs in a fixed order. The caller owns the slice.
func Designs() []Design {
	return []Design{
		{Name: "mutex", Class: Linearizable, Exclusive: true, NewCounter: newMutexCounter,
			Summary: "sync.Mutex held for the operation"},
		{Name: "rwmutex", Class: Linearizable, Exclusive: true, NewCounter: newRWMutexCounter,
			Summary: "sync.RWMutex, loads share the lock"},
		{Name: "atomic", Class: Linearizable, NewCounter: newAtomicCounter,
			Summary: "one atomic fetch-and-add"},
		{Name: "cas", Class: Linearizable, NewCounter: newCASCounter,
			Summary: "load and compare-and-swap, repeated until it succeeds"},
		{Name: "inputq", Class: Linearizable, Exclusive: true, NewCounter: newInputQCounter,
			Summary: "a goroutine owns the state; unbuffered channel, a reply channel per call"},
		{Name: "inputq-pooled", Class: Linearizable, Exclusive: true, NewCounter: newPooledCounter,
			Summary: "inputq with a buffered inbox and reused reply slots"},
		{Name: "inputq-batch", Class: Linearizable, Exclusive: true, NewCounter: newBatchCounter,
			Summary: "inputq whose owner takes all that wait at once; callers yield before they park"},
		{Name: "combining", Class: Linearizable, Exclusive: true, NewCounter: newCombiningCounter,
			Summary: "flat combining: whoever holds the lock executes the requests of the waiters"},
		{Name: "striped", Class: Quiescent, NewAdder: newStriped,
			Summary: "padded counters, one chosen by goroutine, summed on load"},
	}
}

// Names returns the names of all designs, or of those that return values.
func Names(onlyCounters bool) []string {
	return namesWhere(func(d Design) bool { return !onlyCounters || d.NewCounter != nil })
}

func namesWhere(has func(Design) bool) []string {
	var names []string
	for _, d := range Designs() {
		if has(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Lookup finds a design by its name, in any letter case.
func Lookup(name string) (Design, error) {
	for _, d := range Designs() {
		if strings.EqualFold(d.Name, name) {
			return d, nil
		}
	}
	return Design{}, fmt.Errorf("guard: design is %q; expected %s", name, strings.Join(Names(false), ", "))
}

// NewExclusive makes an Exclusive of the named design that holds initial.
func NewExclusive[S any](design string, initial S) (Exclusive[S], error) {
	d, err := Lookup(design)
	if err != nil {
		return nil, err
	}
	switch d.Name {
	case "mutex":
		return &mutexed[S]{state: initial}, nil
	case "rwmutex":
		return &rwMutexed[S]{state: initial}, nil
	case "inputq":
		return exclusive[S]{newInputQ(initial, call[S])}, nil
	case "inputq-pooled":
		return exclusive[S]{newPooled(initial, call[S])}, nil
	case "inputq-batch":
		return exclusive[S]{newBatch(initial, call[S])}, nil
	case "combining":
		return exclusive[S]{newCombining(initial, call[S])}, nil
	}
	return nil, fmt.Errorf("guard: design %s gives no exclusive access to a state; expected %s",
		d.Name, strings.Join(namesWhere(func(d Design) bool { return d.Exclusive }), ", "))
}
