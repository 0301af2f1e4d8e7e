// Package trial arranges runs into comparisons: it drives the variants in
// interleaved blocks and restarts them in every round. It knows no protocol.
package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"contend/failure"
	"contend/internal/perf"
	"contend/load"
	"contend/subject"
)

// An Arm is one of the alternatives that are compared.
type Arm struct {
	Name string
	// Start brings the arm to life: its processes are started and ready, its
	// target is open. It is called once per round.
	Start func(ctx context.Context, s Setup) (*Live, error)
}

// Launch brings the arm to life, and names it in errors. A server that is not ours
// to start must accept a connection.
func (a Arm) Launch(ctx context.Context, s Setup) (*Live, error) {
	live, err := a.Start(ctx, s)
	if err == nil && live.Subject == nil {
		if err = load.Reach(ctx, live.Address, live.Target, 0); err != nil {
			err = errors.Join(err, live.End(ctx))
		}
	}
	if err != nil {
		return nil, Named(a.Name, err)
	}
	live.arm, live.onlyCounted = a.Name, s.Counted != nil
	return live, nil
}

// A Setup is what differs from start to start of an arm and should not matter.
type Setup struct {
	// Padding is the length in bytes of an otherwise useless environment
	// variable: it moves the stack, which alone can change speed by per cents
	// (Mytkowicz et al., "Producing wrong data without doing anything obviously
	// wrong", ASPLOS 2009).
	Padding int `json:"padding_bytes"`
	// CPUs are those that the arm's processes may use; empty: all.
	CPUs []int `json:"cpus,omitempty"`
	// Counted are the events that are counted whenever the arm is driven: their
	// counters are opened before the first instruction of its processes, so that none
	// is missed, and stay open.
	Counted []perf.Event `json:"-"`
	// Under is the command that runs the arm's command, Slower times as slowly, such as a simulator; empty: none does.
	Under  []string `json:"-"`
	Slower int      `json:"-"`
	// Named has runtimes name the functions that they run: see subject.Config.
	Named bool `json:"-"`
}

// Live is an arm that can be driven.
type Live struct {
	// Address names the target in results.
	Address string
	Target  load.Target
	// Subject is the process under test; nil when it is not ours to start, or
	// lives in this process.
	Subject Subject
	// Counters opens counters of events on all processes of the arm; nil: these are
	// not known, or are this one, of a load.LocalTarget.
	Counters func(events ...perf.Event) (Counters, error)
	// Profile opens a sampler of where all processes of the arm spend CPU time; nil: these
	// are not known.
	Profile func() (Profiler, error)
	// Inspect is asked what goes on in the program; nil: it cannot be asked.
	Inspect Inspector
	// Stop ends what Start began; nil: nothing to end.
	Stop func(ctx context.Context) error

	foreign     Sampler  // the server that somebody else started; nil: not known
	arm         string   // its name, of one that was launched
	onlyCounted bool     // no time is taken of it
	counters    Counters // that stay open; nil: none
	profiler    Profiler // stays open; nil: none
	heap        []byte   // the profile of its heap before it was driven at a level; nil: none
}

// A Sampler tells what processes used until now: Sample everything, Clocks only what is
// read quickly, of the processes that the last Sample saw.
type Sampler interface {
	Sample() (subject.Sample, error)
	Clocks() (subject.Sample, error)
	// Blocked are the threads that wait in system calls; it sees what Clocks sees.
	Blocked() []subject.Blocked
}

// A Far is a Sampler of another machine, which by its own clock does what cannot wait for a message.
type Far interface {
	Sampler
	// Machine names the host, as load.Generator.Machine does.
	Machine() string
	// ClocksAt has Clocks read at a moment to come. What it returns waits for them.
	ClocksAt(moment time.Time) (read func() (subject.Sample, error))
	// Watch starts recording, on the server's machine, what its threads wait for; stop returns that.
	Watch() (stop func() Waits)
}

// A Subject is what trial needs of a process under test.
type Subject interface {
	Sampler
	Done() <-chan struct{} // closed when the process has ended
	Err() error            // how it ended
}

// Counters count events of some processes. They are perf.Counters.
type Counters interface {
	Start() error
	Stop() (perf.Counts, error) // since Start
	Close() error
}

var (
	_ Subject  = (*subject.Subject)(nil)
	_ Sampler  = (*subject.Foreign)(nil)
	_ Counters = (*perf.Counters)(nil)
)

// server is what the arm's processes are sampled by; nil: they are not known.
func (l *Live) server() Sampler {
	switch {
	case l.Subject != nil:
		return l.Subject
	case l.foreign != nil:
		return l.foreign
	}
	return nil
}

// Find looks for a server that somebody else started and that listens at an address
// (host:port) of this machine: it is sampled, and can be counted. Without such a server
// counting says why. ctx bounds the look-up of the host's name.
func (l *Live) Find(ctx context.Context, address string) {
	server, err := subject.Listening(ctx, address)
	if err == nil {
		l.foreign = server
	}
	l.Counters = func(events ...perf.Event) (Counters, error) {
		if err != nil {
			return nil, err
		}
		return server.Counters(events...)
	}
	l.Profile = func() (Profiler, error) {
		if err != nil {
			return nil, &perf.UnavailableError{Event: perf.CPUTime, Reason: err.Error(),
				Advice: "measure on the machine of the server, as its user"}
		}
		return newProfiler(server.Profiler())
	}
}

// Open opens VUs on the live arm. The error is a *DiedError where its process has
// ended.
func (l *Live) Open(ctx context.Context, vus int) (*load.Session, error) {
	session, err := load.Open(ctx, l.Address, l.Target, vus)
	if err != nil {
		return nil, errors.Join(l.died(1), err)
	}
	return session, nil
}

// Drive drives the live arm once by the plan.
func (l *Live) Drive(ctx context.Context, s *load.Session, plan load.Plan) (Cell, error) {
	cell, err := measure(ctx, s, l, plan)
	cell.Arm = l.arm
	return cell, errors.Join(err, l.diedAfter(cell))
}

// Settled drives the live arm for plan.Warmup to learn its response time, and then,
// after a lead-in of at least two response times, for plan.Duration or four response
// times, whichever is longer: a run shorter than its iterations shows nothing.
// Without a warm-up it is driven for plan.Duration. Afterwards events are counted
// for a while, if possible.
func (l *Live) Settled(ctx context.Context, s *load.Session, plan load.Plan) (Cell, error) {
	plan.Grace = Grace
	if plan.Warmup == 0 {
		return l.driveAndCount(ctx, s, plan)
	}
	pilot := plan
	pilot.Warmup, pilot.Duration, pilot.AtEdge = 0, plan.Warmup, nil
	first, err := l.Drive(ctx, s, pilot)
	if err != nil {
		return Cell{}, err
	}
	return l.driveBehind(ctx, s, first, plan)
}

// Steadied is Settled after a warm-up that continues until the throughput is steady, up to
// four times as long, and with a measured length that is chosen by that throughput, in right
// answers per second; 0: it is not known.
func (l *Live) Steadied(ctx context.Context, s *load.Session, plan load.Plan, choose func(perSec float64) time.Duration) (Cell, error) {
	plan.Grace = Grace
	if plan.Warmup == 0 {
		plan.Duration = choose(0)
		return l.driveAndCount(ctx, s, plan)
	}
	w, err := l.warm(ctx, s, plan, warmupMost*plan.Warmup)
	if err != nil {
		return Cell{}, err
	}
	if w.last.Starved > 0 { // more would be the same, and take as long
		return w.last, nil
	}
	plan.Duration = choose(w.last.ThroughputPerSec)
	return l.driveBehind(ctx, s, w.last, plan)
}

// driveBehind drives the live arm by the plan, as its warm-up suggests.
func (l *Live) driveBehind(ctx context.Context, s *load.Session, warmup Cell, plan load.Plan) (Cell, error) {
	length := lengthen(plan.Duration, warmup.Response.Mean(), 1)
	plan.Warmup, plan.Duration = length.leadIn, length.measured
	return l.driveAndCount(ctx, s, plan)
}

// SettledTakes is how long Settled and Steadied take at least where answers take so long.
func SettledTakes(plan load.Plan, response time.Duration) time.Duration {
	if plan.Warmup == 0 {
		return plan.Duration
	}
	length := lengthen(plan.Duration, response, 1)
	return plan.Warmup + length.leadIn + length.measured
}

// End stops what Launch began, however little time ctx leaves.
func (l *Live) End(ctx context.Context) error { return stopAll(ctx, []*Live{l}) }

func (l *Live) stop(ctx context.Context) error {
	if l == nil {
		return nil
	}
	var err error
	if l.counters != nil {
		err = l.counters.Close()
	}
	if l.profiler != nil {
		err = errors.Join(err, l.profiler.Close())
	}
	if l.Stop != nil {
		most := stopTimeout
		if s, ok := l.Subject.(interface{ Patience() time.Duration }); ok {
			most += s.Patience()
		}
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		err = errors.Join(err, l.Stop(ctx))
	}
	return err
}

// deathNotice is how long it may take until the end of a process is known
// after its connections broke.
const deathNotice = 250 * time.Millisecond

// died returns an error when the arm's process has exited on its own. After
// errors it waits for the news a little.
func (l *Live) died(errored int64) error {
	if l.Subject == nil {
		return nil
	}
	if errored > 0 {
		select {
		case <-l.Subject.Done():
		case <-time.After(deathNotice):
		}
	}
	select {
	case <-l.Subject.Done():
		return &DiedError{Arm: l.arm, Err: l.Subject.Err()}
	default:
		return nil
	}
}

// diedAfter is died after a run of the arm, whose result may be missing.
func (l *Live) diedAfter(c Cell) error {
	if c.Result == nil {
		return l.died(1)
	}
	return l.died(c.ErroredTotal())
}

// A DiedError says that a subject ended while it was under load.
type DiedError struct {
	Arm string
	Err error
}

// Error names the arm and says how its process ended.
func (e *DiedError) Error() string {
	return Named(e.Arm, fmt.Errorf("its process died: %w", e.Err)).Error()
}

// Named puts the name of an arm before an error, and into its failure; one alone may have none.
func Named(arm string, err error) error {
	if arm == "" {
		return err
	}
	return failure.About(arm+": ", err, failure.Failure{Arm: arm})
}

// Facts are those of package failure.
func (e *DiedError) Facts() failure.Failure { return failure.Failure{Arm: e.Arm, Died: true} }

// Unwrap returns how the process ended.
func (e *DiedError) Unwrap() error { return e.Err }

// stopTimeout bounds the clean-up of an arm, which must happen even when the trial was cancelled, in addition to the time
// that its server has to end.
const stopTimeout = 15 * time.Second

// startAll starts the arms in the given order, each with its set-up. Where one cannot be
// started the others are tried, too, so that the error has all that cannot; what was started is
// stopped again.
func startAll(ctx context.Context, arms []Arm, setups []Setup, order []int) ([]*Live, error) {
	lives, errs := make([]*Live, len(arms)), make([]error, len(arms))
	for _, i := range order {
		lives[i], errs[i] = arms[i].Launch(ctx, setups[i])
		if errs[i] != nil && ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, stopAll(ctx, lives))
	}
	return lives, nil
}

func stopAll(ctx context.Context, lives []*Live) error {
	var errs []error
	for _, live := range lives {
		errs = append(errs, live.stop(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// Alive starts the arms in random order, each with a random padding, and hands
// over arms that are running. Starting one of these returns the running one, and stopping
// it does nothing. When use returns they are all stopped.
func Alive(ctx context.Context, arms []Arm, random *rand.Rand, use func(running []Arm) error) (err error) {
	lives, err := startAll(ctx, arms, padded(random, len(arms)), random.Perm(len(arms)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(ctx, lives)) }()
	running := make([]Arm, len(arms))
	for i, live := range lives {
		one := *live
		one.Stop = nil
		running[i] = Arm{arms[i].Name, func(context.Context, Setup) (*Live, error) { return &one, nil }}
	}
	return use(running)
}

// Measure starts the arm, drives it once by the plan and stops it.
func Measure(ctx context.Context, arm Arm, plan load.Plan) (cell Cell, err error) {
	live, err := arm.Launch(ctx, Setup{})
	if err != nil {
		return Cell{}, err
	}
	defer func() {
		err = errors.Join(err, live.End(ctx))
		load.Settle(live.Target, cell.Result)
	}()
	session, err := live.Open(ctx, plan.VUs)
	if err != nil {
		return Cell{}, err
	}
	defer session.Close()
	return live.Drive(ctx, session, plan)
}
