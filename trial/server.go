package trial

import (
	"context"

	"contend/internal/perf"
	"contend/subject"
)

// A Server is a process under test that was started, and all that can be asked of it.
type Server interface {
	Subject
	Addrs() map[string]string // those handed over, by name
	// Counters and Profile are those of Live, Stop is that of subject.Subject.
	Counters(events ...perf.Event) (Counters, error)
	Profile() (Profiler, error)
	Stop(ctx context.Context) error
}

// Started makes a Server of a subject, or passes on the error.
func Started(s *subject.Subject, err error) (Server, error) {
	if err != nil {
		return nil, err
	}
	return server{s}, nil
}

type server struct{ *subject.Subject }

func (s server) Counters(events ...perf.Event) (Counters, error) {
	return s.Subject.Counters(events...)
}
func (s server) Profile() (Profiler, error) { return newProfiler(s.Profiler()) }
