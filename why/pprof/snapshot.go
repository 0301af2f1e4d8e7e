package pprof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"contend/why/symbol"
)

// A Snapshot is what a program has counted of itself since it began.
type Snapshot struct {
	// First is what it had allocated before it told the rest, Last afterwards, and Asked what it
	// allocated to be asked for that once.
	First, Last, Asked Allocated
	// Heap is its profile of the heap, Mutex of what held locks that others waited for, and Block of
	// where goroutines waited.
	Heap, Mutex, Block []byte
}

// Allocated is an amount of memory of the heap.
type Allocated struct{ Bytes, Objects int64 }

// snapshotWithin is how long each page of a snapshot may take: garbage is collected for one.
const snapshotWithin = tellWithin

// Snapshot returns what the program has counted up to now. A profile of the heap is as of the last
// collection of garbage that has ended, so one is made first ("the returned profile may be up to two
// garbage collection cycles old", runtime.MemProfile); amounts are exact and of now (runtime.MemStats).
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	first, err := s.allocated(ctx)
	if err != nil {
		return nil, err
	}
	shot := &Snapshot{First: first}
	if err := s.profiles(ctx, shot); err != nil {
		return nil, err
	}
	again, err := s.allocated(ctx)
	if err != nil {
		return nil, err
	}
	if shot.Last, err = s.allocated(ctx); err != nil {
		return nil, err
	}
	shot.Asked = shot.Last.less(again)
	return shot, nil
}

func (s *Server) profiles(ctx context.Context, shot *Snapshot) (err error) {
	for _, page := range []struct {
		name string
		body *[]byte
	}{{"heap?gc=1", &shot.Heap}, {"mutex", &shot.Mutex}, {"block", &shot.Block}} {
		if *page.body, err = s.get(ctx, page.name, snapshotWithin); err != nil {
			return err
		}
	}
	return nil
}

// allocated reads the amounts at the end of the text form.
func (s *Server) allocated(ctx context.Context) (a Allocated, err error) {
	page, err := s.get(ctx, "heap?debug=1", snapshotWithin)
	if err != nil {
		return a, err
	}
	for _, amount := range []struct {
		name string
		of   *int64
	}{{"TotalAlloc", &a.Bytes}, {"Mallocs", &a.Objects}} {
		_, after, _ := bytes.Cut(page, []byte("\n# "+amount.name+" = "))
		text, _, _ := bytes.Cut(after, []byte("\n"))
		if *amount.of, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return a, fmt.Errorf("%sheap?debug=1 does not tell %s", s.shown, amount.name)
		}
	}
	return a, nil
}

func (a Allocated) less(b Allocated) Allocated {
	return Allocated{a.Bytes - b.Bytes, a.Objects - b.Objects}
}

// Counted is what a program did between two snapshots, without making them.
type Counted struct {
	Allocated
	// Allocations are those that were sampled (runtime.MemProfileRate), each scaled to all that it represents.
	Allocations []Allocation
	// Held is how long goroutines waited for locks, by where these were given up, and Waited how long they
	// waited, by where; none where the program does not record it.
	Held, Waited []Delay
}

// An Allocation is memory that was allocated at a place, from the function that did to its
// outermost caller.
type Allocation struct {
	Frames []symbol.Frame
	Allocated
}

// A Delay is how long goroutines waited, added up over them.
type Delay struct {
	Frames []symbol.Frame
	Time   time.Duration
}

// Since returns what the program did since an earlier snapshot.
func (s *Snapshot) Since(earlier *Snapshot) (counted *Counted, err error) {
	defer broken("a snapshot", &err)
	c := &Counted{Allocated: s.First.less(earlier.Last).less(earlier.Asked)}
	if s.First.Bytes < earlier.Last.Bytes || s.First.Objects < earlier.Last.Objects {
		return nil, errors.New("its counts have fallen: it is another process, or several answer")
	}
	c.Bytes, c.Objects = max(0, c.Bytes), max(0, c.Objects)
	err = errors.Join(
		difference("heap", earlier.Heap, s.Heap, []string{"alloc_space", "alloc_objects"}, func(frames []symbol.Frame, values []int64) {
			c.Allocations = append(c.Allocations, Allocation{frames, Allocated{values[0], values[1]}})
		}),
		difference("mutex", earlier.Mutex, s.Mutex, []string{"delay"}, func(frames []symbol.Frame, values []int64) {
			c.Held = append(c.Held, Delay{frames, time.Duration(values[0])})
		}),
		difference("block", earlier.Block, s.Block, []string{"delay"}, func(frames []symbol.Frame, values []int64) {
			c.Waited = append(c.Waited, Delay{frames, time.Duration(values[0])})
		}))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// difference tells each what two profiles differ by at a place, of some types of values, where the
// first of them has grown.
func difference(name string, before, after []byte, types []string, each func([]symbol.Frame, []int64)) error {
	var both []*profile.Profile
	for _, body := range [][]byte{before, after} {
		p, err := parse(body)
		if err != nil {
			return fmt.Errorf("the %s profile is broken: %w", name, err)
		}
		both = append(both, p)
	}
	both[0].Scale(-1)
	p, err := profile.Merge(both)
	if err != nil {
		return fmt.Errorf("two %s profiles do not fit each other", name)
	}
	at := make([]int, len(types))
	for i, t := range types {
		if at[i] = valueOf(p, t); at[i] < 0 {
			return fmt.Errorf("the %s profile has no %s", name, t)
		}
	}
	named := naming{}
	for _, s := range p.Sample {
		frames := named.frames(s.Location)
		if s.Value[at[0]] <= 0 || slices.ContainsFunc(frames, func(f symbol.Frame) bool { return symbol.Tells(f.Function) }) {
			continue
		}
		values := make([]int64, len(at))
		for i := range at {
			values[i] = s.Value[at[i]]
		}
		each(frames, values)
	}
	return nil
}
