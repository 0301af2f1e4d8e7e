package why

import (
	"crypto/sha256"
	"fmt"
	"time"

	"contend/why/symbol"
)

const (
	// mostStacks bounds the different stacks that are kept of an arm at one level: with 6000
	// samples of each core at work most occur several times.
	mostStacks = 5000
	// mostFrames bounds their functions: each may be a call of the graph, of half a kilobyte, and a program
	// that says itself where it was may say 1024 of each.
	mostFrames = 500_000
	// others is the function of those beyond.
	others = "[the rest]"
)

// A Stack is where threads were in some of the samples.
type Stack struct {
	Frames  []symbol.Frame // from the function that ran to its outermost caller; none: unknown
	Samples int64
	Time    time.Duration // its share of the CPU time that the kernel's clocks say
}

// key is the same for stacks that have the same frames, whose texts are of one line. It is not those
// texts, which may be megabytes.
func (s Stack) key() (key [sha256.Size]byte) {
	h := sha256.New()
	for _, f := range s.Frames {
		fmt.Fprintf(h, "%s\n%s\n%s\n%d\n", f.Function, f.Package, f.File, f.Line)
	}
	h.Sum(key[:0])
	return key
}

// Stacks are where an arm spent its CPU time at one level of concurrency, over all rounds.
// One goroutine at a time may use them.
type Stacks struct {
	Arm         string
	Concurrency int
	// Operations are the right answers that arrived while samples were taken.
	Operations int64
	// List has each stack once, in the order of their first occurrence, except
	// those beyond a bound, which are merged into one.
	List []Stack

	index  map[[sha256.Size]byte]int
	frames int // of List
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
		s.index = map[[sha256.Size]byte]int{}
	}
	key := more.key()
	at, known := s.index[key]
	if !known && (len(s.List) >= mostStacks || s.frames+len(more.Frames) > mostFrames) {
		more.Frames = []symbol.Frame{{Function: others}}
		key = more.key()
		at, known = s.index[key]
	}
	if !known {
		s.index[key] = len(s.List)
		s.List = append(s.List, more)
		s.frames += len(more.Frames)
		return
	}
	s.List[at].Samples += more.Samples
	s.List[at].Time += more.Time
}

// PerOp returns the CPU time of a stack per operation, in ns; 0 without operations.
func (s *Stacks) PerOp(stack Stack) float64 { return ratio(float64(stack.Time), float64(s.Operations)) }
