package why

import (
	"cmp"
	"encoding/binary"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"contend/internal/perf"
	"contend/why/pprof"
	"contend/why/symbol"
	"contend/why/symbol/work"
)

const (
	// unseen is work in the kernel where that may not be sampled.
	unseen = "the kernel, which may not be sampled"
	// unsampled is work without samples.
	unsampled = "[no sample]"
	// unknown is the function of a stack without one.
	unknown = "[unknown]"
	// startsMain is the function of glibc that calls main. It keeps no frame pointer, so what seems to
	// have called it is whatever its caller's register held.
	startsMain = "__libc_start_call_main"
	// keptShare is the least share of the CPU time for which a profile keeps a function: so
	// far below rowShare that a function that is examined is hardly ever left out of a round,
	// which would look like a difference.
	keptShare = ownShare / 4
)

// Samples are where processes were when they were sampled, by name.
type Samples struct {
	Stacks []Stack // without Time
	// Period is the CPU time that a sample represents.
	Period time.Duration
	// Lost is how many are missing.
	Lost int64
	// KernelMissing says in short why CPU time in the kernel was not sampled. "": it was.
	KernelMissing string
}

// Resolve names what samples of processes that still live have addresses of.
func Resolve(s *perf.Samples, r *symbol.Resolver) *Samples {
	named := &Samples{Period: s.Period, Lost: int64(s.Lost + s.Dropped)}
	if s.KernelMissing != nil {
		named.KernelMissing = perf.InShort(s.KernelMissing)
	}
	// Whoever started others first: it shows what those had mapped that have ended.
	for _, process := range slices.SortedStableFunc(slices.Values(s.Processes), func(a, b perf.Process) int { return cmp.Compare(a.PID, b.PID) }) {
		named.Stacks = append(named.Stacks, resolve(r, process, s.Began)...)
	}
	return named
}

// NewProfile makes the profile of so many operations, which took so much CPU time, out of
// samples of processes, which used so much CPU time while they were sampled. The program's own functions are those whose
// name or file matches own; nil: those that it does not have from libraries, as far as modules, folders and files show.
func NewProfile(s *Samples, used, cpu time.Duration, operations int64, own *regexp.Regexp) Profile {
	p := Profile{Operations: operations, CPU: cpu, Lost: s.Lost}
	for _, stack := range s.Stacks {
		p.Samples += stack.Samples
	}
	seen := 1.0
	if s.KernelMissing != "" {
		p.KernelMissing = "what the kernel did was not sampled: " + s.KernelMissing
		seen = min(1, float64(s.Period)*float64(p.Samples)/max(1, float64(used)))
	}
	p.spend(s.Stacks, seen*float64(cpu)/max(1, float64(p.Samples)), own)
	missed := func(w Work, f symbol.Frame, share float64) {
		w.Time = time.Duration(share * float64(cpu))
		p.Work = append(p.Work, w)
		p.Stacks = append(p.Stacks, Stack{Frames: []symbol.Frame{f}, Time: time.Duration(share * float64(cpu))})
	}
	switch {
	case s.KernelMissing != "" && seen < 1:
		missed(Work{Kind: unseen, Function: unknown}, symbol.Frame{Function: unseen, Package: "kernel"}, 1-seen)
	case p.Samples == 0:
		missed(Work{Function: unsampled}, symbol.Frame{Function: unsampled}, 1)
	}
	p.sort()
	return p
}

// NewOwnProfile makes the profile of so many operations out of one that a program took of itself. What own is for is
// in NewProfile.
func NewOwnProfile(its *pprof.CPU, operations int64, own *regexp.Regexp) Profile {
	p := Profile{Operations: operations, CPU: its.Time}
	stacks := make([]Stack, len(its.Stacks))
	for i, s := range its.Stacks {
		stacks[i] = Stack{Frames: s.Frames, Samples: s.Samples}
		p.Samples += s.Samples
	}
	p.spend(stacks, float64(p.CPU)/max(1, float64(p.Samples)), own)
	p.sort()
	return p
}

// spend distributes CPU time by stacks; each sample is worth so many ns.
func (p *Profile) spend(stacks []Stack, each float64, own *regexp.Regexp) {
	spentOn, functions := map[Work]float64{}, map[string]float64{}
	of := map[string]Origin{}
	for _, stack := range stacks {
		spent := each * float64(stack.Samples)
		spentOn[purpose(stack.Frames)] += spent
		for _, f := range stack.Frames {
			if _, known := of[f.String()]; !known {
				of[f.String()] = originOf(f, own)
			}
		}
		collecting := collects(stack.Frames)
		for name := range once(stack.Frames, symbol.Frame.String) {
			if !collecting || of[name] != Own {
				functions[name] += spent
			}
		}
		stack.Time = time.Duration(spent)
		p.Stacks = append(p.Stacks, stack)
	}
	for w, spent := range spentOn {
		w.Time = time.Duration(spent)
		p.Work = append(p.Work, w)
	}
	for name, spent := range functions {
		p.Functions = append(p.Functions, Function{name, time.Duration(spent), of[name]})
	}
	p.Packages = packagesOf(stacks, each)
}

// collects reports whether garbage is collected. Whoever allocates when that begins did not make all of the garbage: it is no time of functions of the
// program's own.
func collects(frames []symbol.Frame) bool {
	return slices.ContainsFunc(frames, func(f symbol.Frame) bool { return kindOf(f) == work.Collection })
}

// resolve names the addresses of a process's stacks, which were taken since a time.
func resolve(r *symbol.Resolver, p perf.Process, since time.Time) []Stack {
	var user, kernel places
	p.Stacks = withCallers(r, p, since)
	for _, s := range p.Stacks {
		user.add(s.User)
		kernel.add(s.Kernel)
	}
	user.frames = r.Frames(p.PID, p.Maps, user.addresses, since)
	for _, f := range r.Kernel(kernel.addresses) {
		kernel.frames = append(kernel.frames, []symbol.Frame{f})
	}
	stacks := make([]Stack, len(p.Stacks))
	for i, s := range p.Stacks {
		stacks[i] = Stack{Frames: append(kernel.of(s.Kernel), user.of(s.User)...), Samples: int64(s.Count)}
	}
	return stacks
}

// withCallers are the stacks of a process with the callers that what lies on them shows, or those by frame pointers up to where
// what looks like a caller called nobody, and with the first callers of functions without a frame, such as memset, or without
// one yet.
func withCallers(r *symbol.Resolver, p perf.Process, since time.Time) []perf.Stack {
	var returns []symbol.Return
	index := map[symbol.Return]int{}
	ask := func(one symbol.Return) {
		if _, known := index[one]; !known {
			index[one] = len(returns)
			returns = append(returns, one)
		}
	}
	calls, stacks, tops := r.Calls(p.Maps, since), slices.Clone(p.Stacks), make([]uint64, len(p.Stacks))
	for i := range stacks {
		s := &stacks[i]
		if len(s.User) == 0 {
			continue
		}
		s.User = unwound(*s, calls)
		for _, address := range s.User[1:] {
			ask(symbol.Return{To: address})
		}
		if tops[i] = top(*s, p.Maps); tops[i] != 0 {
			ask(symbol.Return{To: tops[i], From: s.User[0]})
		}
	}
	called := r.Called(p.PID, p.Maps, returns, since)
	for i := range stacks {
		s := &stacks[i]
		for n, address := range s.User {
			if n > 0 && !called[index[symbol.Return{To: address}]] {
				s.User = s.User[:n]
				break
			}
		}
		if top := tops[i]; top != 0 && called[index[symbol.Return{To: top, From: s.User[0]}]] && (len(s.User) == 1 || s.User[1] != top) {
			s.User = slices.Insert(slices.Clone(s.User), 1, top)
		}
	}
	return stacks
}

// unwound are the addresses of a stack with the callers that calls finds, and then those after the last of them.
func unwound(s perf.Stack, calls func(symbol.Thread) []uint64) []uint64 {
	found := calls(symbol.Thread{Instruction: s.User[0], Frame: s.Frame, Pointer: s.Pointer, Stack: s.Memory})
	if len(found) == 1 {
		return s.User
	}
	for i := range found[1:] {
		found[1+i]++ // where it goes on
	}
	if at := slices.Index(s.User, found[len(found)-1]); at > 0 {
		found = append(found, s.User[at+1:]...)
	}
	return found
}

// top is the word on top of a stack, if it is the address of code; 0: it is not.
func top(s perf.Stack, maps []perf.Map) uint64 {
	if len(s.Memory) < 8 {
		return 0
	}
	word := binary.LittleEndian.Uint64(s.Memory)
	if !slices.ContainsFunc(maps, func(m perf.Map) bool { return m.Start <= word && word < m.End }) {
		return 0
	}
	return word
}

// places are addresses, each once, and what is there.
type places struct {
	addresses []uint64
	index     map[uint64]int
	frames    [][]symbol.Frame
}

// called are the addresses of a stack at which something happens: of callers, those of the
// calls and not of where they go on.
func called(addresses []uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i, address := range addresses {
			if !yield(address - uint64(min(i, 1))) {
				return
			}
		}
	}
}

func (p *places) add(addresses []uint64) {
	if p.index == nil {
		p.index = map[uint64]int{}
	}
	for address := range called(addresses) {
		if _, known := p.index[address]; !known {
			p.index[address] = len(p.addresses)
			p.addresses = append(p.addresses, address)
		}
	}
}

func (p *places) of(addresses []uint64) []symbol.Frame {
	var frames []symbol.Frame
	for address := range called(addresses) {
		found := p.frames[p.index[address]]
		frames = append(frames, found...)
		if found[len(found)-1].Function == startsMain {
			break
		}
	}
	return frames
}

// Add adds what the same arm did in another stretch of the round.
func (p *Profile) Add(q Profile) {
	p.Operations += q.Operations
	p.CPU += q.CPU
	p.Samples += q.Samples
	p.Lost += q.Lost
	p.Response += q.Response
	p.OffCPU.add(q.OffCPU)
	for _, b := range q.Blocked {
		p.addBlocked(b)
	}
	spentOn, functions := map[Work]time.Duration{}, map[Function]time.Duration{}
	for _, w := range slices.Concat(p.Work, q.Work) {
		spentOn[w.key()] += w.Time
	}
	for _, f := range slices.Concat(p.Functions, q.Functions) {
		functions[Function{Name: f.Name, Of: f.Of}] += f.Time
	}
	p.Work, p.Functions, p.Packages = nil, nil, addPackages(slices.Concat(p.Packages, q.Packages))
	for w, spent := range spentOn {
		w.Time = spent
		p.Work = append(p.Work, w)
	}
	for f, spent := range functions {
		f.Time = spent
		p.Functions = append(p.Functions, f)
	}
	p.sort()
}

// AddBlocked adds that threads waited in a system call, which the functions of frames called, the innermost first. What own
// is for is in NewProfile.
func (p *Profile) AddBlocked(call string, frames []symbol.Frame, time time.Duration, own *regexp.Regexp) {
	b := Blocked{Call: call, Time: time}
	if i := slices.IndexFunc(frames, func(f symbol.Frame) bool { return originOf(f, own) == Own }); i >= 0 {
		b.Function = frames[i].String()
	}
	p.addBlocked(b)
}

func (p *Profile) addBlocked(b Blocked) {
	if i := slices.IndexFunc(p.Blocked, func(known Blocked) bool { return known.Call == b.Call && known.Function == b.Function }); i >= 0 {
		p.Blocked[i].Time += b.Time
	} else {
		p.Blocked = append(p.Blocked, b)
	}
}

// sort puts the largest first, and leaves out functions and packages that are too small.
func (p *Profile) sort() {
	slices.SortFunc(p.Work, func(a, b Work) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Function, b.Function))
	})
	slices.SortFunc(p.Functions, func(a, b Function) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name)) })
	p.Functions = slices.DeleteFunc(p.Functions, func(f Function) bool { return float64(f.Time) < keptShare*float64(p.CPU) })
	slices.SortFunc(p.Packages, func(a, b Package) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name)) })
	p.Packages = slices.DeleteFunc(p.Packages, func(q Package) bool { return float64(q.Time) < keptShare*float64(p.CPU) })
}

// once are the names of the frames of a stack, each once.
func once(frames []symbol.Frame, name func(symbol.Frame) string) map[string]bool {
	names := map[string]bool{}
	for _, f := range frames {
		names[name(f)] = true
	}
	return names
}

// purpose says what a stack is work for: what it was called for, where that is a task for which
// there are libraries, such as JSON, with its allocations and all else; else what the function
// does that ran, or in the kernel what it was entered for.
func purpose(frames []symbol.Frame) Work {
	if len(frames) == 0 {
		return Work{Function: unknown}
	}
	for i := range frames {
		if kind := kindOf(frames[len(frames)-1-i]); kind.IsTask() {
			return Work{Kind: string(kind), Function: nearest(frames, kind)}
		}
	}
	ran := Work{Kind: string(ranFor(frames)), Function: frames[0].String()}
	user := slices.IndexFunc(frames, func(f symbol.Frame) bool { return !f.InKernel() })
	if user == 0 {
		return ran
	}
	if user > 0 {
		if kind := kindOf(frames[user]); kind != "" && kind != work.SystemCalls && kind != work.Runtime {
			return Work{Kind: string(kind), Function: frames[user].String()}
		}
	}
	for _, f := range frames {
		if call, ok := work.SystemCall(f.Function); ok {
			return Work{Kind: "system call " + call, Function: ran.Function}
		}
	}
	return ran
}

// ranFor is the kind of the function that ran: of the small ones that Go's runtime is made of, that
// of the part of the runtime that called it.
func ranFor(frames []symbol.Frame) work.Kind {
	for _, f := range frames {
		switch kind := kindOf(f); {
		case f.Package != "runtime" && !strings.HasPrefix(f.Package, "internal/runtime/"):
			return kindOf(frames[0])
		case kind != work.Runtime && f.Package != "internal/runtime/atomic":
			return kind
		}
	}
	return kindOf(frames[0])
}

func kindOf(f symbol.Frame) work.Kind { return work.Of(f.Function, f.Package) }

// nearest is the function of a kind that is nearest to the one that ran.
func nearest(frames []symbol.Frame, kind work.Kind) string {
	for _, f := range frames {
		if kindOf(f) == kind {
			return f.String()
		}
	}
	return unknown
}
