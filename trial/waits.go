package trial

import (
	"fmt"
	"os"
	"slices"
	"time"

	"contend/internal/cpu"
	"contend/internal/perf"
	"contend/subject"
	"contend/why/symbol"
)

const (
	// lookEvery is the time between two looks at what threads wait in: each opens a file for
	// each thread, a tenth of a millisecond for ten of them.
	lookEvery = 10 * time.Millisecond
	// lookRest is how often a look's own time passes at least until the next: of thousands of
	// threads it would take a core.
	lookRest = 20
	// mostPlaces bounds the places that are distinguished: each is kept with its functions.
	mostPlaces = 1000
)

// A Blocked is a place at which threads wait in a system call.
type Blocked struct {
	Call string `json:"call"`
	// Frames are the functions that called it, the innermost first; none: they are not known.
	Frames []symbol.Frame `json:"frames,omitempty"`
	// Threads is how many waited there, on average.
	Threads float64 `json:"threads"`
}

// Waits are what threads waited for over a stretch of time.
type Waits struct {
	Blocked []Blocked `json:"blocked"`
	// MemoryPressure and DiskPressure are how long some thread of its machine waited for memory or a disk.
	MemoryPressure time.Duration `json:"memory_pressure_ns"`
	DiskPressure   time.Duration `json:"disk_pressure_ns"`
}

// watch looks what the threads of a server wait for until the returned function is called.
func watch(server Sampler, resolver *symbol.Resolver) (stop func() Waits) {
	if far, ok := server.(Far); ok {
		return far.Watch()
	}
	return Watch(server, resolver)
}

// Watch looks what the threads of a server of this machine wait for until the returned function is called. Until then
// nobody else may use the resolver.
func Watch(server Sampler, resolver *symbol.Resolver) (stop func() Waits) {
	root := os.DirFS("/")
	memory, disk := cpu.Pressure(root, "memory"), cpu.Pressure(root, "io")
	blocked := watchBlocked(server, resolver)
	return func() Waits {
		return Waits{blocked(), max(0, cpu.Pressure(root, "memory")-memory), max(0, cpu.Pressure(root, "io")-disk)}
	}
}

// watchBlocked looks what the threads of a server wait in until the returned function is called.
func watchBlocked(server Sampler, resolver *symbol.Resolver) (stop func() []Blocked) {
	seen, looks := places{resolver: resolver, began: time.Now(), processes: map[int]*process{}, index: map[string]int{}}, 0.0
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(lookEvery)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			looks++
			began := time.Now()
			for _, b := range server.Blocked() {
				seen.add(b)
			}
			timer.Reset(max(lookEvery, lookRest*time.Since(began)))
		}
	}()
	return func() []Blocked {
		close(done)
		<-ended
		for i := range seen.list {
			seen.list[i].Threads /= looks
		}
		return seen.list
	}
}

// places are where threads were seen to wait.
type places struct {
	resolver  *symbol.Resolver
	began     time.Time
	processes map[int]*process
	index     map[string]int // in the list, by system call and addresses
	list      []Blocked      // Threads are sums over looks
}

// A process is what has been read of one, once: there are a hundred looks a second.
type process struct {
	maps  []perf.Map
	calls func(symbol.Thread) []uint64
}

// add counts a thread, with the functions that its stack shows.
func (p *places) add(b subject.Blocked) {
	of := p.processes[b.PID]
	if of == nil {
		maps := perf.Executable(b.PID)
		of = &process{maps, p.resolver.Calls(maps, p.began)}
		p.processes[b.PID] = of
	}
	var addresses []uint64
	if b.Stack != nil && len(p.list) < mostPlaces {
		addresses = of.calls(symbol.Thread{Instruction: b.Instruction, Pointer: b.Pointer, Stack: b.Stack})
	}
	key := fmt.Sprint(b.Call, b.PID, addresses)
	i, known := p.index[key]
	if !known {
		i = len(p.list)
		p.index[key] = i
		frames := slices.Concat(p.resolver.Frames(b.PID, of.maps, addresses, p.began)...)
		p.list = append(p.list, Blocked{Call: b.Call, Frames: frames})
	}
	p.list[i].Threads++
}
