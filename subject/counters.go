package subject

import (
	"fmt"
	"os"
	"slices"

	"contend/internal/perf"
)

// Counters opens counters of what the subject does, all processes of its tree or of its
// container and what they start after the call; the caller closes them, before the subject's end
// or after it. Called for the first time with the events of Config.Counted, it hands out those
// that were opened before the subject's first instruction, unless it is in a container.
//
// The error wraps os.ErrProcessDone when the subject has ended, and is a perf.UnavailableError
// if the machine or its owner is the reason.
func (s *Subject) Counters(events ...perf.Event) (*perf.Counters, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return nil, fmt.Errorf("server %s: counters: %w", s.name, os.ErrProcessDone)
	}
	list := func() ([]int, error) { return threadsOf(s.PID(), s.container) }
	if c := s.counters; c != nil && slices.Equal(events, s.counted) {
		if _, err := list(); err != nil {
			return nil, fmt.Errorf("server %s: %w", s.name, err)
		}
		s.counters = nil
		return c, nil
	}
	c, err := perf.Threads(list, events...)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", s.name, err)
	}
	return c, nil
}

// Profiler opens a sampler of the CPU time of all processes of the subject's tree or container and of
// what they start after the call; the caller closes it. The errors are those of Counters.
func (s *Subject) Profiler() (*perf.Sampler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return nil, fmt.Errorf("server %s: samples: %w", s.name, os.ErrProcessDone)
	}
	p, err := perf.Sample(func() ([]int, error) { return threadsOf(s.PID(), s.container) })
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", s.name, err)
	}
	return p, nil
}

// closeCounters closes those that nobody asked for.
func (s *Subject) closeCounters() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counters != nil {
		_ = s.counters.Close()
		s.counters = nil
	}
}
