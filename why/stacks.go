package why

import (
	"strconv"
	"strings"
	"time"

	"contend/internal/symbol"
)

const (
	// mostStacks bounds the different stacks that are kept of an arm at one level: with 6000
	// samples of each core at work most are met several times.
	mostStacks = 5000
	// others is the function of those beyond.
	others = "[the rest]"
)

// A Stack is where threads were in some of the samples.
type Stack struct {
	Frames  []symbol.Frame // from the function that ran to its outermost caller; none: unknown
	Samples int64
	Time    time.Duration // its share of the CPU time that the kernel's clocks say
}

// key is the same for stacks that have the same frames, whose texts are of one line.
func (s Stack) key() string {
	var b strings.Builder
	for _, f := range s.Frames {
		for _, part := range []string{f.Function, f.Package, f.File, strconv.Itoa(f.Line)} {
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Stacks are where an arm spent its CPU time at one level of concurrency, over all rounds.
// One goroutine at a time may use them.
type Stacks struct {
	Arm         string
	Concurrency int
	// Operations are the right answers that arrived meanwhile.
	Operations int64
	// List has each stack once, in the order in which they were met, but for those
	// beyond a bound, which are one.
	List []Stack

	index map[string]int
}

// Add adds what so many operations spent.
func (s *Stacks) Add(more []Stack, operations int64) {
	s.Operations += operations
	for _, stack := range more {
		s.add(stack)
	}
}

func (s *Stacks) add(more Stack) {
	if s.index == nil {
		s.index = map[string]int{}
	}
	key := more.key()
	at, known := s.index[key]
	if !known && len(s.List) >= mostStacks {
		more.Frames = []symbol.Frame{{Function: others}}
		key = more.key()
		at, known = s.index[key]
	}
	if !known {
		s.index[key] = len(s.List)
		s.List = append(s.List, more)
		return
	}
	s.List[at].Samples += more.Samples
	s.List[at].Time += more.Time
}

// PerOp returns the CPU time of a stack per operation, in ns; 0 without operations.
func (s *Stacks) PerOp(stack Stack) float64 { return ratio(float64(stack.Time), float64(s.Operations)) }
