package why

import (
	"cmp"
	"math"
	"slices"
	"time"

	"contend/stat"
	"contend/why/gotrace"
)

// Traced is what goroutines of an arm waited for while an execution trace was taken.
type Traced struct {
	// PerSec are the right answers per second during the trace.
	PerSec float64 `json:"throughput_per_s"`
	// Processors is GOMAXPROCS; 0: unknown.
	Processors int            `json:"gomaxprocs,omitempty"`
	Waits      []gotrace.Wait `json:"waits"`
}

// NewTraced returns what a trace shows that was taken while so many callers got so many
// right answers per second. Places at which hardly any goroutine waits are left out, as small
// functions are of a profile.
func NewTraced(t *gotrace.Trace, perSec float64, callers int) *Traced {
	waits := slices.DeleteFunc(slices.Clone(t.Waits), func(w gotrace.Wait) bool { return w.Goroutines < keptShare*float64(callers) })
	return &Traced{perSec, t.Processors, waits}
}

// Waiting is a place at which goroutines wait, in ns per operation, added up over them. Name is
// the function of the program's own, and Functions are those of libraries that it called; a
// gotrace.Processor has neither.
type Waiting struct {
	For gotrace.Reason
	// Goroutines are those that wait there at the same time.
	Goroutines Row
	Row
}

// at distinguishes the rows of waiting: the function of a library is not part of the name.
func at(w gotrace.Wait) string { return string(w.For) + " in " + w.Function }

// longer returns the arm that waits longer, or the one that answers later if waiting does not clearly differ.
func (e *Explanation) longer(pairs []pair, confidence float64) stat.Shift {
	if e.Wait.Excludes0() {
		return e.Wait.Shift
	}
	return compared("", pairs, Profile.response, confidence).Shift
}

// traced says where goroutines wait, in the rounds in which both arms were traced: in the arm that takes longer,
// or in either if that does not clearly differ. With more work more goroutines wait for a processor, which is not
// a cause then, unless one arm has fewer processors.
func (e *Explanation) traced(all []pair, longer stat.Shift, confidence float64) {
	pairs := both(all, func(p Profile) bool { return p.Traced != nil && p.Traced.usable() })
	if len(pairs) == 0 {
		return
	}
	for side, p := range pairs[len(pairs)-1] {
		e.Processors[side] = p.Traced.Processors
	}
	e.Waits, e.Places = waitings(pairs, func(p Profile) *Traced { return p.Traced }, longer, confidence)
	if !e.Wait.Excludes0() && e.Processors[0] == e.Processors[1] {
		e.Waits = slices.DeleteFunc(e.Waits, func(w Waiting) bool { return w.For == gotrace.Processor })
	}
}

// both returns the rounds in which something is so of both arms. A round that is left out for either of
// them favours neither: of equal arms each is as often the one that had nothing.
func both(pairs []pair, is func(Profile) bool) []pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !is(p[0]) || !is(p[1]) })
}

func (t *Traced) usable() bool { return t.PerSec > 0 }

// goroutines are how many wait at the same time, by place.
func (t *Traced) goroutines() map[string]float64 {
	rows := map[string]float64{}
	for _, w := range t.Waits {
		rows[at(w)] += w.Goroutines
	}
	return rows
}

func (p Profile) callers() float64 { return float64(p.Concurrency) }

// waitings are the places at which more goroutines of one arm wait at the same time, of either where
// nothing says which of them takes longer; the longest per operation first. Goroutines that wait for something to do are as many or fewer where answers take
// longer, although each operation has more of their time; those that hold its answers up are more:
// L = λ·W (Little, "A Proof for the Queuing Formula L = λW", Operations Research 9, 1961).
func waitings(pairs []pair, of func(Profile) *Traced, longer stat.Shift, confidence float64) (found []Waiting, looked int) {
	all := rows(pairs, func(p Profile) map[string]float64 { return of(p).goroutines() }, Profile.callers, confidence)
	looked = len(all)
	for _, r := range differing(all) {
		if !longer.Excludes0() || r.Value*longer.Value > 0 {
			found = append(found, waitingAt(pairs, of, r))
		}
	}
	slices.SortStableFunc(found, func(a, b Waiting) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	return found, looked
}

// waitingAt has the time per operation of a row of goroutines: L ÷ λ.
func waitingAt(pairs []pair, of func(Profile) *Traced, goroutines Row) Waiting {
	w := Waiting{Goroutines: goroutines}
	before, differences := make([]float64, len(pairs)), make([]float64, len(pairs))
	grown := map[string]float64{} // by functions of libraries
	for i, p := range pairs {
		for side, sign := range []float64{-1, 1} {
			traced := of(p[side])
			for _, wait := range traced.Waits {
				if at(wait) != goroutines.Name {
					continue
				}
				w.For, w.Name = wait.For, wait.Function
				perOp := wait.Goroutines / traced.PerSec * float64(time.Second)
				differences[i] += sign * perOp
				grown[wait.Through] += math.Copysign(perOp, sign*goroutines.Value)
				if side == 0 {
					before[i] += perOp
				}
			}
		}
	}
	w.Row = rowOf(w.Name, before, differences, 1-goroutines.Level)
	w.Functions = mostGrown(grown)
	return w
}

// lockCall is the system call in which threads wait for locks, also idle ones: for the one of them
// that waits for the next task with the lock held.
const lockCall = "futex (lock)"

// blocking are the system calls in which threads wait longer or shorter per operation. For locks more
// or fewer also have to wait at the same time, as with waitings.
func blocking(pairs []pair, confidence float64) []Row {
	crowds := differing(rows(pairs, Profile.threads, Profile.callers, confidence))
	longer := slices.DeleteFunc(differing(rows(pairs, Profile.blocked, Profile.response, confidence)), func(r Row) bool {
		return r.Name == lockCall && !slices.ContainsFunc(crowds, func(c Row) bool { return c.Name == lockCall && c.Value*r.Value > 0 })
	})
	for i := range longer {
		longer[i].Functions = blockedIn(pairs, longer[i])
	}
	return longer
}

// blockedIn are the functions of the program's own in which a quarter or more each of the difference of a system call is.
func blockedIn(pairs []pair, r Row) []string {
	grown, all := map[string]float64{}, 0.0
	for _, p := range pairs {
		for side, sign := range []float64{-1, 1} {
			for _, b := range p[side].Blocked {
				if b.Call == r.Name {
					more := math.Copysign(p[side].perOp(b.Time), sign*r.Value)
					grown[b.Function] += more
					all += more
				}
			}
		}
	}
	return slices.DeleteFunc(mostGrown(grown), func(name string) bool { return grown[name] < leastCallee*all })
}
