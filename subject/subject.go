package subject

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"contend/failure"
	"contend/finding"
	"contend/internal/perf"
	"contend/internal/rebind"
)

const (
	defaultStopTimeout  = 5 * time.Second
	stubbornStopTimeout = time.Second     // of a command that was seen to ignore TERM
	killTimeout         = 5 * time.Second // for the kernel to end what was killed
)

// DefaultStartTimeout is the StartTimeout where none is asked for.
const DefaultStartTimeout = 10 * time.Second

// errVanished says that a process of the tree ended while it was sampled.
var errVanished = errors.New("a process ended while it was sampled")

// errEnded says that the subject ended where it should have lived.
var errEnded = errors.New("exited on its own")

// A Config says what to start and how. Command and Env may contain the placeholders
// {{addr}} (host:port), {{port}} and {{host}}, and {{addr.NAME}} and {{port.NAME}} for
// further addresses: the subject is to listen there. The port of the default address is
// also in the environment, as PORT, which many servers read, unless Env sets that.
type Config struct {
	// Name is for messages; empty means the base name of the command.
	Name string
	// Command is the program and its arguments. No shell is involved.
	Command []string
	// Under, if not empty, is a command that runs Command, which it gets as further arguments: a simulator. What starts
	// a container cannot be run by one.
	Under []string
	// Named has Node and Python name the functions that they run, for profiles; Node is slower meanwhile.
	Named bool
	// Env holds KEY=VALUE entries added to the environment of this process.
	Env []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// Files holds texts by local path, such as a configuration. They are written
	// to a fresh folder, {{dir}} in Command, Env and Files, and removed when the
	// subject has ended.
	Files map[string]string
	// CPUs are those that the subject and everything that it starts may use, from
	// its first instruction; empty means those that this process may use, or is
	// pinned to. Linux only.
	CPUs []int
	// Host is the address of this machine, without a port, on which the addresses handed over are;
	// empty means 127.0.0.1, which no other machine reaches.
	Host string
	// Addressed asks for the default address where no text has a placeholder for it: PORT is then all that the
	// subject is given of it, and if it listens at another port instead, its address is there (not on Windows). AnyPort
	// allows several such ports; the address is then at the first of them, and Listening has all.
	Addressed, AnyPort bool
	// Port, if not 0, is one that the subject insists on. What it and its descendants
	// bind on the loopback or on all addresses they get on a loopback address of
	// their own, {{addr}} with this port (package rebind), so that several subjects
	// may have the same port. Rebind is the command that does so and then becomes its
	// arguments, by rebind.Exec; without a Port it does so for any port. Linux only.
	Port   int
	Rebind []string
	// At, if not empty, is the address (host:port) that a subject insists on whose binds
	// stay as they are: {{addr}}. Nobody else may listen there.
	At string
	// Counted are events whose counters are opened before the subject's first
	// instruction, for Counters to hand out: they miss no thread and need none looked
	// for, but cost the subject some speed as long as they are open. Empty means none.
	Counted []perf.Event
	// Ready says when the subject counts as ready.
	Ready Ready
	// StartTimeout bounds the time from start to ready; 0 means 10 s. Where the subject waits for a
	// CPU, that time is added, at most five times as much (Linux).
	StartTimeout time.Duration
	// StopTimeout is the time from TERM to KILL; 0 means 5 s.
	StopTimeout time.Duration
	// Stubborn, if not nil and without a StopTimeout, is set once a subject ignored TERM; later ones with the
	// same command are given at most 1 s.
	Stubborn *atomic.Bool

	folder string // {{dir}}; "" without Files
	again  bool   // after a start at addresses that others had
}

// A Subject is a running child process. Its methods may be called concurrently.
type Subject struct {
	name        string
	addrs       map[string]string
	stopTimeout time.Duration
	stubborn    *atomic.Bool
	cmd         *exec.Cmd
	cpus        []int
	counted     []perf.Event
	container   *container // that it is the client of; nil: of none
	onlyPORT    bool       // is what it was given of its address
	insists     bool       // on its port
	launched    time.Time
	stdout      tail
	stderr      tail
	done        chan struct{}
	ended       func() error     // cleans up after the process
	handover    *rebind.Handover // of the listener of its binds; nil: these stay as they are
	refusals    refusals
	own         netip.Addr // that its binds are moved to
	found       bool       // its address is where it was found; written before Start returns
	named       bool       // its runtime writes which functions it runs

	// mu is held to signal or sample the process, so that it is not reaped, and
	// its number not given to a stranger, in between.
	mu       sync.Mutex
	census   census // of the last Sample
	looked   bool   // whether it is a Go program
	isGo     bool
	counters *perf.Counters // of counted, until they are handed out
	reaped   bool
	stopping bool
	ignored  time.Duration // for how long TERM was; 0: it was not

	unmoved   chan error // why its binds are not moved; closed when that is over
	unguarded error      // why the guardian is missing; written before Start returns
	err       error      // how it exited on its own; written before done is closed
	left      error      // what it has left behind; written before done is closed
}

// Start starts a subject and waits until it is ready. If it cannot, the error
// tells how the process ended and the last lines of its output, and nothing is
// left running. ctx bounds only Start.
//
// Addresses are on 127.0.0.1 and free for TCP and UDP when chosen, but another
// process may bind them before the subject does. A subject is therefore started a
// second time, with new addresses, if it ends before it is ready and speaks of an
// address in use, or if an older program listens at its address for a second (Linux).
func Start(ctx context.Context, cfg Config) (*Subject, error) {
	if len(cfg.Command) == 0 {
		return nil, fmt.Errorf("server %s: command is empty", cfg.Name)
	}
	if cfg.Name == "" {
		cfg.Name = filepath.Base(cfg.Command[0])
	}
	s, err := start(ctx, cfg)
	if s.lostItsAddress(err) {
		cfg.again = true
		s, err = start(ctx, cfg)
	}
	if err != nil {
		return nil, called(cfg.Name, err)
	}
	return s, nil
}

// Addr returns the address (host:port) handed over under name, "" being the
// default one, or "" if that name has none.
func (s *Subject) Addr(name string) string { return s.addrs[name] }

// Addrs returns the addresses handed over, by name.
func (s *Subject) Addrs() map[string]string { return maps.Clone(s.addrs) }

// PID returns the number of the process that Start started.
func (s *Subject) PID() int { return s.cmd.Process.Pid }

// Done is closed when the process and everything in its session have ended.
func (s *Subject) Done() <-chan struct{} { return s.done }

// Err tells how the subject ended if it exited on its own, with the last lines of
// its output. It is nil before Done is closed and after a Stop that came first.
func (s *Subject) Err() error {
	select {
	case <-s.done:
	default:
		return nil
	}
	if s.err == nil {
		return nil
	}
	return called(s.name, s.err)
}

// called says which server an error is about.
func called(name string, err error) error {
	return failure.About("server "+name+": ", err, failure.Failure{Server: name})
}

// Warnings returns what a reader of the figures or the owner of the machine
// should know: no_guardian (there is no /bin/sh: the subject's own children would
// outlive a kill -9 of this process) and killed (TERM was not enough in the time that the subject had).
func (s *Subject) Warnings() []finding.Warning {
	var all []finding.Warning
	if s.unguarded != nil {
		all = append(all, finding.NoGuardian.Warning("children of %s would outlive a kill -9 of contend: %v", s.name, s.unguarded))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ignored > 0 {
		all = append(all, finding.Killed.Warning("%s was killed: it ignored SIGTERM for %v (--stop-timeout)", s.name, s.ignored))
	}
	return all
}

// Sample reads what the subject has used until now. The CPU clocks are read
// last, within microseconds. The error wraps os.ErrProcessDone when the subject has
// ended, and errors.ErrUnsupported on systems other than Linux.
func (s *Subject) Sample() (Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return Sample{}, fmt.Errorf("server %s: sample: %w", s.name, os.ErrProcessDone)
	}
	sample, seen, at, err := sampleAll(s.PID(), s.container)
	if err != nil {
		return Sample{}, fmt.Errorf("server %s: sample: %w", s.name, err)
	}
	if s.census = seen; !s.looked {
		s.looked, s.isGo = true, seen.runsGo()
	}
	sample.Elapsed, sample.Go = at.Sub(s.launched), s.isGo
	return sample, nil
}

// Clocks reads only what a short window needs and what is read quickly (some
// microseconds a thread, where Sample looks through all processes of the
// machine): Elapsed, and CPU and Waited of the processes and threads that the last
// Sample saw. The errors are those of Sample.
func (s *Subject) Clocks() (Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped {
		return Sample{}, fmt.Errorf("server %s: clocks: %w", s.name, os.ErrProcessDone)
	}
	at := time.Now()
	sample, err := s.census.clocks()
	if err != nil && !errors.Is(err, errVanished) {
		return Sample{}, fmt.Errorf("server %s: clocks: %w", s.name, err)
	}
	sample.Elapsed = at.Sub(s.launched)
	return sample, nil
}

// afterwards is how long it may take until the end of a killed process is that of all.
func (s *Subject) afterwards() time.Duration {
	if s.container == nil {
		return 0
	}
	return killTimeout
}

// Stop ends the subject: TERM to its process group, and KILL to all its processes
// after StopTimeout or as soon as ctx is done. It returns when nothing is left, or why
// something is. A subject that has ended already is not an error here; see Err.
func (s *Subject) Stop(ctx context.Context) error {
	s.askToEnd()
	limit := s.Patience()
	patience := time.NewTimer(limit)
	defer patience.Stop()
	select {
	case <-s.done:
		return s.left
	case <-patience.C:
		s.mu.Lock()
		s.ignored = limit
		s.mu.Unlock()
		if s.stubborn != nil {
			s.stubborn.Store(true)
		}
	case <-ctx.Done():
	}
	return s.kill()
}

// learning is how subjects with the same command learn that one ignored TERM; nil: the time to wait is set.
func (c Config) learning() *atomic.Bool {
	if c.StopTimeout > 0 {
		return nil
	}
	return c.Stubborn
}

// Patience is the time from TERM to KILL, above 0. Safe for concurrent use.
func (s *Subject) Patience() time.Duration {
	if s.stubborn != nil && s.stubborn.Load() {
		return stubbornStopTimeout
	}
	return s.stopTimeout
}

// askToEnd sends TERM, but only once: many servers take a second one as a
// demand to drop everything.
func (s *Subject) askToEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reaped || s.stopping {
		return
	}
	s.stopping = true
	terminateGroup(s.PID())
}

func (s *Subject) kill() error {
	s.mu.Lock()
	if !s.reaped {
		s.stopping = true
		killTree(s.PID())
	}
	s.mu.Unlock()
	select {
	case <-s.done:
		return s.left
	case <-time.After(killTimeout + s.afterwards()):
		return fmt.Errorf("server %s: process %d survived KILL for %v", s.name, s.PID(), killTimeout)
	}
}
