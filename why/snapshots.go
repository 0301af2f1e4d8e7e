package why

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"contend/stat"
	"contend/why/gotrace"
	"contend/why/pprof"
	"contend/why/symbol"
)

// mostPlaces bounds the places that are kept of a profile, those at which most goroutines wait.
const mostPlaces = 500

// Snapshots is what an arm's program counted of itself in a block of its own.
type Snapshots struct {
	// Operations are the right answers that arrived between the snapshots, and PerSec are those per second.
	Operations int64   `json:"operations"`
	PerSec     float64 `json:"throughput_per_s"`
	// Bytes and Objects are what it allocated on its heap.
	Bytes   int64 `json:"allocated_bytes"`
	Objects int64 `json:"allocated_objects"`
	// Allocations deal the bytes out by what was sampled of them.
	Allocations []Allocation `json:"allocations,omitempty"`
	// Held is where locks were given up for which goroutines waited, Waited where goroutines did.
	Held   []gotrace.Wait `json:"held,omitempty"`
	Waited []gotrace.Wait `json:"waited,omitempty"`
}

// An Allocation is what a function allocated.
type Allocation struct {
	Function string `json:"function"`
	Bytes    int64  `json:"bytes"`
	Objects  int64  `json:"objects"`
}

// NewSnapshots returns what a program counted while so many right answers arrived, so many per second.
func NewSnapshots(c *pprof.Counted, operations int64, perSec float64) *Snapshots {
	length := ratio(float64(operations), perSec)
	return &Snapshots{operations, perSec, c.Bytes, c.Objects, dealtOut(c), atOnce(c.Held, length), atOnce(c.Waited, length)}
}

// dealtOut has the functions that made the allocations, whose sum is known exactly, without the smallest.
func dealtOut(c *pprof.Counted) []Allocation {
	by, sampled := map[string]pprof.Allocated{}, pprof.Allocated{}
	for _, a := range c.Allocations {
		name := allocator(a.Frames)
		sum := by[name]
		by[name] = pprof.Allocated{Bytes: sum.Bytes + a.Bytes, Objects: sum.Objects + a.Objects}
		sampled.Bytes += a.Bytes
		sampled.Objects += a.Objects
	}
	part := func(of, sampled, all int64) int64 { return int64(ratio(float64(of), float64(sampled)) * float64(all)) }
	var list []Allocation
	for name, a := range by {
		if float64(a.Bytes) >= keptShare*float64(sampled.Bytes) {
			list = append(list, Allocation{name, part(a.Bytes, sampled.Bytes, c.Bytes), part(a.Objects, sampled.Objects, c.Objects)})
		}
	}
	slices.SortFunc(list, func(a, b Allocation) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Function, b.Function))
	})
	return list
}

// allocator is the function after which an allocation is named: that of a library which the program's own
// code called, or else that of the program's own, or else the one that allocated.
func allocator(frames []symbol.Frame) string {
	at, own := gotrace.PlaceOf(functionsOf(frames))
	switch {
	case own:
		return cmp.Or(at.Through, at.Function)
	case len(frames) > 0:
		return frames[0].String()
	}
	return unknown
}

func functionsOf(frames []symbol.Frame) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range frames {
			if !yield(f.Function) {
				return
			}
		}
	}
}

// atOnce are the places of the program's own at which most goroutines waited in a time.
func atOnce(delays []pprof.Delay, length float64) []gotrace.Wait {
	by := map[gotrace.Place]float64{}
	for _, d := range delays {
		if at, own := gotrace.PlaceOf(functionsOf(d.Frames)); own {
			by[at] += ratio(d.Time.Seconds(), length)
		}
	}
	var list []gotrace.Wait
	for at, goroutines := range by {
		list = append(list, gotrace.Wait{Place: at, Goroutines: goroutines})
	}
	slices.SortFunc(list, func(a, b gotrace.Wait) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), cmp.Compare(at(a), at(b)), cmp.Compare(a.Through, b.Through))
	})
	return list[:min(len(list), mostPlaces)]
}

// Allocated compares what an operation allocates.
type Allocated struct {
	// All is exact. Functions are those that clearly differ by their bytes, of Looked that were examined.
	All       Allocating
	Functions []Allocating
	Looked    int
	// Matters says that All clearly differs and is worth mentioning: work or waiting clearly differs as
	// well, and All by 1%.
	Matters bool
}

// Allocating is what is allocated for an operation; the Row is of bytes.
type Allocating struct {
	Row
	Objects Row
}

// Recorded are the places at which more goroutines wait by a profile that programs record, of so many that
// were looked at; none: nothing was recorded.
type Recorded struct {
	Waits  []Waiting
	Places int
}

// snapshots compares what programs counted, in the rounds in which both did. The amounts that they allocated
// hold together at half of the level and the functions at the other half; the two profiles of waiting do the
// same.
func (e *Explanation) snapshots(rounds []pair, longer stat.Shift, confidence float64) {
	pairs := both(rounds, func(p Profile) bool { return p.Snapshots != nil && p.Snapshots.usable() })
	if len(pairs) == 0 {
		return
	}
	half, quarter := 1-(1-confidence)/2, 1-(1-confidence)/4
	bytes, objects := func(a Allocation) int64 { return a.Bytes }, func(a Allocation) int64 { return a.Objects }
	all := func(of func(Allocation) int64) func(Profile) float64 {
		return func(p Profile) float64 {
			return p.Snapshots.perOp(of(Allocation{"", p.Snapshots.Bytes, p.Snapshots.Objects}))
		}
	}
	a := &Allocated{All: Allocating{compared("", pairs, all(bytes), quarter), compared("", pairs, all(objects), quarter)}}
	looked := rows(pairs, Profile.allocations, all(bytes), half)
	a.Looked = len(looked)
	for _, r := range differing(looked) {
		a.Functions = append(a.Functions, Allocating{r, compared(r.Name, pairs, func(p Profile) float64 { return p.Snapshots.of(r.Name, objects) }, 1-r.Level)})
	}
	a.Matters = (len(e.Rows) > 0 || e.Wait.Excludes0()) && (a.All.Row.matters() || a.All.Objects.matters())
	e.Allocated = a
	recorded := func(of func(*Snapshots) []gotrace.Wait) (r Recorded) {
		r.Waits, r.Places = waitings(pairs, func(p Profile) *Traced { return &Traced{PerSec: p.Snapshots.PerSec, Waits: of(p.Snapshots)} }, longer, half)
		return r
	}
	e.Held = recorded(func(s *Snapshots) []gotrace.Wait { return s.Held })
	e.Waited = recorded(func(s *Snapshots) []gotrace.Wait { return s.Waited })
}

// matters reports whether a row clearly differs, and by a share of the greater side that is worth mentioning.
func (r Row) matters() bool {
	return r.Excludes0() && math.Abs(r.Value) >= mattersShare*max(r.BaselineValue, r.CandidateValue)
}

// compared compares a figure of the profiles.
func compared(name string, pairs []pair, of func(Profile) float64, confidence float64) Row {
	var before, differences []float64
	for _, p := range pairs {
		before = append(before, of(p[0]))
		differences = append(differences, of(p[1])-of(p[0]))
	}
	return rowOf(name, before, differences, confidence)
}

func (s *Snapshots) usable() bool { return s.Operations > 0 && s.PerSec > 0 }

func (s *Snapshots) perOp(amount int64) float64 { return ratio(float64(amount), float64(s.Operations)) }

// of is what a function allocated for an operation.
func (s *Snapshots) of(function string, amount func(Allocation) int64) (perOp float64) {
	for _, a := range s.Allocations {
		if a.Function == function {
			perOp += s.perOp(amount(a))
		}
	}
	return perOp
}

// allocations are the bytes for an operation, by function.
func (p Profile) allocations() map[string]float64 {
	by := map[string]float64{}
	for _, a := range p.Snapshots.Allocations {
		by[a.Function] += p.Snapshots.perOp(a.Bytes)
	}
	return by
}
