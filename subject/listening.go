package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"contend/internal/perf"
)

// A Foreign is a server that somebody else started: the processes that listen on an
// address of this machine, and their descendants. Its methods may be called
// concurrently.
type Foreign struct {
	// PID is the first of those that listen, the parent of the others where they are
	// a family.
	PID int
	// Command is the name of its program, at most 15 bytes of it.
	Command string

	listening []identity
	found     time.Time

	mu     sync.Mutex
	census census // of the last Sample
}

// An identity is that of a process that cannot be taken for another one of the same number.
type identity struct {
	pid   int
	ticks uint64 // from the machine's start to its own
}

// Listening finds the server that a connection to addr (host:port, TCP) reaches. The
// error says why that failed: addr is not of this machine, nobody listens there, or
// only processes that this user may not look into; it wraps errors.ErrUnsupported on
// systems other than Linux. ctx bounds the look-up of the host's name.
func Listening(ctx context.Context, addr string) (*Foreign, error) {
	f, err := listening(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("server at %s: %w", addr, err)
	}
	f.found = time.Now()
	return f, nil
}

// Sample reads what the server has used until now, as Subject.Sample does. It fails when
// the processes that listened have ended.
func (f *Foreign) Sample() (Sample, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sample, seen, at, err := f.sample()
	if err == nil && sample.Threads == 0 { // zombies
		err = os.ErrProcessDone
	}
	if err != nil {
		return Sample{}, fmt.Errorf("server %s: sample: %w", f.Command, err)
	}
	f.census, sample.Elapsed = seen, at.Sub(f.found)
	return sample, nil
}

// Clocks reads what is read quickly, as Subject.Clocks does.
func (f *Foreign) Clocks() (Sample, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := time.Now()
	sample, err := f.census.clocks()
	if err != nil && !errors.Is(err, errVanished) {
		return Sample{}, fmt.Errorf("server %s: clocks: %w", f.Command, err)
	}
	sample.Elapsed = at.Sub(f.found)
	return sample, nil
}

// Counters opens counters of what the server does and starts after the call; the
// caller closes them. The errors are those of Subject.Counters.
func (f *Foreign) Counters(events ...perf.Event) (*perf.Counters, error) {
	c, err := perf.Threads(f.threads, events...)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", f.Command, err)
	}
	return c, nil
}

// Profiler opens a sampler of the CPU time of the server and of what it starts after the
// call; the caller closes it. The errors are those of Subject.Counters.
func (f *Foreign) Profiler() (*perf.Sampler, error) {
	p, err := perf.Sample(f.threads)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", f.Command, err)
	}
	return p, nil
}
