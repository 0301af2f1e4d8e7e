// Package why explains why one variant uses more CPU per operation than another. It turns
// interleaved profiles of both into rows of work, in nanoseconds per operation, that add up
// to the difference. It knows neither processes nor how samples are taken.
package why

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"contend/stat"
	"contend/why/symbol/work"
)

// LeastRounds is how many rounds an explanation needs at least: with 12 one of up to 8 places at which goroutines wait
// can be shown to differ at 0.4% (2/2¹² · 8 = 0.0039).
const LeastRounds = 12

// MostRounds is how many are driven until so many are whole, as on a busy machine a block may pass without an
// answer. A convention: where more than a fifth of the rounds are lost, further ones are hardly better.
const MostRounds = 15

// FurtherRounds is how many there are at most if the least do not name a function. With four times as many samples in each further one
// intervals are 0.4 times as wide. Of functions that differ each of the two looks may name a wrong one with half of the level.
const FurtherRounds = 36

const (
	// certainty is how many times smaller the level of all that is named is than that of the figures: a name sends
	// somebody to a place in the code. Of this level the length of waiting has a fifth, its places two, as ranks need
	// more of it, kinds of work one, and functions one, half of it the program's own. Those whose code changed have it once more, as
	// whoever changed them expects a difference there. If CPU time as a whole clearly differs,
	// the level of kinds of work is that of the figures.
	certainty = 5
	// ownShare is the least share of either arm's CPU time for a function of the program's own to be examined: it has
	// fewer than kinds of work there are. A convention.
	ownShare = 0.001
	// rowShare is the least share of either arm's CPU time for a row to be examined: the
	// fewer rows, the smaller the differences that can be detected. A convention.
	rowShare = 0.005
	// looks are how often it is asked which functions differ.
	looks = 2
	// shownFunctions is how many functions name the work of a row.
	shownFunctions = 3
)

// A Profile is what an arm spent its CPU time on in one round, while it was sampled.
type Profile struct {
	Arm         string `json:"arm"`
	Round       int    `json:"round"` // from 1
	Concurrency int    `json:"concurrency"`
	// Operations are the right answers that arrived while samples were taken.
	Operations int64 `json:"operations"`
	// CPU is what the kernel's clocks say; Work adds up to it, however many samples were taken.
	CPU     time.Duration `json:"cpu_ns"`
	Samples int64         `json:"samples"`
	Lost    int64         `json:"lost_samples,omitempty"`
	// Response is the sum of the response times of all operations; 0 in an open model,
	// where they do not grow in proportion to the work.
	Response time.Duration `json:"response_ns,omitempty"`
	// Blocked is how long threads waited in system calls that wait for something else than
	// the next request, added up over them.
	Blocked []Blocked `json:"blocked,omitempty"`
	OffCPU
	// KernelMissing says why samples were taken in user space only; "": they were not.
	KernelMissing string `json:"kernel_missing,omitempty"`
	Work          []Work `json:"work"`
	// Functions has the largest by their time with all that they called.
	Functions []Function `json:"functions,omitempty"`
	// Packages has the largest packages of Go, or files of everything else, in the same way.
	Packages []Package `json:"packages,omitempty"`
	// Traced is of another stretch of the round; nil: no execution trace was taken.
	Traced *Traced `json:"traced,omitempty"`
	// Snapshots are of another stretch; nil: no snapshots were taken.
	Snapshots *Snapshots `json:"snapshots,omitempty"`
	// Stacks are what all this was made from. They are not stored, and not added up by Add.
	Stacks []Stack `json:"-"`
}

// Work is CPU time that ended in one function, by what it was for.
type Work struct {
	// Kind names work that is known for what it is, such as "garbage collection"; "" is
	// the program's own.
	Kind     string        `json:"kind,omitempty"`
	Function string        `json:"function"`
	Time     time.Duration `json:"time_ns"`
}

// Blocked is how long threads waited in a system call.
type Blocked struct {
	Call string `json:"system_call"`
	// Function is the one of the program's own that called it; "": it is not known.
	Function string        `json:"function,omitempty"`
	Time     time.Duration `json:"time_ns"`
}

// key is the same for equal work, however long it took.
func (w Work) key() Work { return Work{Kind: w.Kind, Function: w.Function} }

// row is the name under which work is compared.
func (w Work) row() string { return cmp.Or(w.Kind, w.Function) }

// An Explanation is what makes the candidate cost more or less than the baseline.
type Explanation struct {
	Baseline    string
	Candidate   string
	Concurrency int
	Rounds      int
	// CPU is all CPU time per operation.
	CPU Row
	// Wait is the response time that CPU time does not explain; see waited.
	Wait Row
	// Blocked are the system calls in which threads wait for clearly different times, and the functions of the program's
	// own that most of the difference is in.
	Blocked []Row
	// Waits are the places where more goroutines of the arm that waits longer wait, of the Places
	// that were examined; none: goroutines were not traced.
	Waits  []Waiting
	Places int
	// Processors are the last GOMAXPROCS of baseline and candidate; 0: unknown.
	Processors [2]int
	// Rows are the work that clearly differs, the greatest difference first, of Looked
	// that were examined; their intervals hold together.
	Rows   []Row
	Looked int
	// Alike is by how much all work takes longer or shorter in proportion, as it does with colder caches, another clock speed
	// or a neighbour: Rows leave that out. The zero value: the whole does not clearly differ, or this part does not.
	Alike Row
	// Functions are those that clearly differ by their time with all that they called;
	// one contains the other, so they do not add up.
	Functions []Row
	// Own are those of the program itself that clearly differ, of OwnLooked; where it has none that are known, those of
	// libraries. Roots are what explains them.
	Own       []Row
	OwnLooked int
	Roots     []Root
	// Counted are the instructions of both; nil: the samples named a function, or nothing could be counted.
	Counted *Instructions
	// Changed are those of OwnLooked whose machine code differs, the largest first; none: that is not known, either.
	Changed []string
	// Packages are those that clearly differ by that time, and by the time of each alone, which does add up; a
	// package that calls no other is listed once.
	Packages []Row
	// Counts are what the kernel counted of the threads in addition to CPU time, whether or not it clearly differs.
	Counts []Count
	// Allocated is what an operation allocates; nil: there are no snapshots of both in any round.
	Allocated *Allocated
	// Held is where locks are released that more goroutines wait for, and Waited where more wait, by
	// profiles that programs record if they were asked to.
	Held, Waited Recorded
	// Collecting is the share of each side's CPU time that garbage collection takes.
	Collecting [2]float64
}

// A Row is work in nanoseconds of CPU time per operation.
type Row struct {
	// Name is the kind of work, or a function of the program's own.
	Name string
	// Functions are up to three in which its difference mostly is, the greatest first; of
	// a function of the program's own there are none.
	Functions []string
	// BaselineValue is the median of the rounds, and CandidateValue that and the difference.
	BaselineValue  float64
	CandidateValue float64
	stat.Shift
}

// Parts are what the difference is made of, as far as it has names: the rows, and what they leave out.
func (e Explanation) Parts() []Row {
	if e.Alike.Value == 0 {
		return e.Rows
	}
	return differing(append(slices.Clone(e.Rows), e.Alike))
}

// Unnamed returns what the parts leave of the difference, in ns per operation.
func (e Explanation) Unnamed() float64 {
	rest := e.CPU.Value
	for _, r := range e.Parts() {
		rest -= r.Value
	}
	return rounded([]float64{rest})[0] + 0 // what parts that explain all leave is 0, not a rounding error or -0
}

// Explain compares the profiles of two arms at one level of concurrency, round by round. A row is in the
// explanation if its interval excludes 0; the probability that any row that was examined is wrong is at most 1
// − confidence (Bonferroni). Rounds without both arms, or without an operation or CPU time of one of them, are
// left out. With fewer than LeastRounds there is no explanation, and ok is false. What programs report of
// themselves is from the rounds in which both do. Own functions that have changed (ProgramOf) have the level of all that is named
// once more to themselves: two variants of the same program have none.
func Explain(profiles []Profile, baseline, candidate string, concurrency int, confidence float64, changed []string) (e Explanation, ok bool) {
	pairs := pairsOf(profiles, baseline, candidate, concurrency)
	e = Explanation{Baseline: baseline, Candidate: candidate, Concurrency: concurrency, Rounds: len(pairs)}
	if len(pairs) < LeastRounds {
		return e, false
	}
	e.CPU = compared("", pairs, Profile.cpu, confidence)
	fifth := (1 - confidence) / certainty / 5
	e.Wait = waits(pairs, 1-fifth)
	if e.Wait.Excludes0() {
		e.Blocked = blocking(pairs, 1-fifth)
	}
	longer := e.longer(pairs, 1-fifth)
	e.traced(pairs, longer, 1-2*fifth)
	c := controlOf(pairs)
	rowsLevel := fifth
	if e.CPU.Excludes0() { // it is not asked whether there is a difference, but where: a closed test
		rowsLevel = 1 - confidence
		e.Alike = c.alike(confidence)
	}
	looked := c.sampled(Profile.work, rowShare, 1-rowsLevel)
	e.Looked = len(looked)
	e.Rows = differing(looked)
	for i := range e.Rows {
		e.Rows[i].describe(pairs)
	}
	own := c.sampledWith(Profile.own, ownShare, 1-fifth/2/looks, changed, 1-(1-confidence)/certainty/looks)
	for _, r := range own {
		if slices.Contains(changed, r.Name) {
			e.Changed = append(e.Changed, r.Name)
		}
	}
	e.Own, e.OwnLooked = differing(own), len(own)
	e.Functions = differing(c.sampled(Profile.functions, rowShare, 1-fifth/2))
	e.Packages = withoutRepeats(differing(c.sampled(Profile.packages, rowShare, 1-fifth)))
	e.compareCounts(pairs, confidence)
	e.snapshots(pairs, longer, confidence)
	e.Collecting = shares(pairs, work.Collection)
	return e, true
}

// Rounds is how many rounds Explain can compare.
func Rounds(profiles []Profile, baseline, candidate string, concurrency int) int {
	return len(pairsOf(profiles, baseline, candidate, concurrency))
}

// A pair is a round of both arms: the baseline's profile and the candidate's.
type pair [2]Profile

func pairsOf(profiles []Profile, baseline, candidate string, concurrency int) []pair {
	byRound := map[int]*pair{}
	for _, p := range profiles {
		side := slices.Index([]string{baseline, candidate}, p.Arm)
		if side < 0 || p.Concurrency != concurrency || !p.usable() {
			continue
		}
		if byRound[p.Round] == nil {
			byRound[p.Round] = new(pair)
		}
		byRound[p.Round][side] = p
	}
	var pairs []pair
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		if p := byRound[round]; p[0].Operations > 0 && p[1].Operations > 0 {
			pairs = append(pairs, *p)
		}
	}
	return pairs
}

// usable reports whether a profile has both what is compared and what that is divided by.
func (p Profile) usable() bool { return p.Operations > 0 && p.CPU > 0 }

// Whole reports whether every measurement of the round can be used: its profile, and its trace and snapshots where
// these were taken.
func (p Profile) Whole() bool {
	return p.usable() && (p.Traced == nil || p.Traced.usable()) && (p.Snapshots == nil || p.Snapshots.usable())
}

func (p Profile) perOp(t time.Duration) float64 { return float64(t) / float64(p.Operations) }

func (p Profile) used() float64     { return float64(p.CPU) }
func (p Profile) cpu() float64      { return p.perOp(p.CPU) }
func (p Profile) response() float64 { return p.perOp(p.Response) }

func (p Profile) blocked() map[string]float64 {
	rows := map[string]float64{}
	for _, b := range p.Blocked {
		rows[b.Call] += p.perOp(b.Time)
	}
	return rows
}

// threads are how many wait at the same time, by system call.
func (p Profile) threads() map[string]float64 {
	rows := map[string]float64{}
	for _, b := range p.Blocked {
		rows[b.Call] += ratio(float64(b.Time), float64(p.Elapsed))
	}
	return rows
}

// work returns the time of each row, in ns.
func (p Profile) work() map[string]float64 {
	rows := map[string]float64{}
	for _, w := range p.Work {
		rows[w.row()] += float64(w.Time)
	}
	return rows
}

func (p Profile) functions() map[string]float64 {
	rows := map[string]float64{}
	for _, f := range p.Functions {
		rows[f.Name] += float64(f.Time)
	}
	return rows
}

// own are the functions of the program itself, or those of libraries if none is.
func (p Profile) own() map[string]float64 {
	of := Library
	if slices.ContainsFunc(p.Functions, func(f Function) bool { return f.Of == Own }) {
		of = Own
	}
	rows := map[string]float64{}
	for _, f := range p.Functions {
		if f.Of == of {
			rows[f.Name] += float64(f.Time)
		}
	}
	return rows
}

// shares returns the share of each side's CPU time that a kind of work takes.
func shares(pairs []pair, kind work.Kind) [2]float64 {
	var taken, all [2]float64
	for _, p := range pairs {
		for side := range p {
			taken[side] += p[side].perOp(time.Duration(p[side].work()[string(kind)]))
			all[side] += p[side].cpu()
		}
	}
	return [2]float64{ratio(taken[0], all[0]), ratio(taken[1], all[1])}
}

// waits compares the response times that CPU time does not explain.
func waits(pairs []pair, confidence float64) Row {
	var base, differences []float64
	for _, p := range pairs {
		base = append(base, p[0].response())
		differences = append(differences, p.waited())
	}
	return rowOf("", base, differences, confidence)
}

// waited is how much longer an operation of the candidate takes than its CPU time explains,
// in ns; negative: how much longer one of the baseline does. In a closed model callers that share
// busy cores wait for each other, so that the response time grows with the work, but by no
// larger factor: R₂ − R₁ · max(1, C₂ ÷ C₁), where R is the response and C the CPU time of the
// server. It takes the other sign when the arms change places, so that equal ones have either
// as often.
func (p pair) waited() float64 {
	longer := func(a, b Profile) float64 { return b.response() - a.response()*max(1, b.cpu()/a.cpu()) }
	return max(0, longer(p[0], p[1])) - max(0, longer(p[1], p[0]))
}
