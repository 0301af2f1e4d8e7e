package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"contend/failure"
	"contend/internal/perf"
	"contend/internal/placement"
	"contend/subject"
	"contend/trial"
	"contend/why"
	"contend/why/symbol"
)

// A remote is a server that a worker has started. Its methods may be called concurrently.
type remote struct {
	fleet  *Fleet
	worker Worker
	id     string
	name   string
	addrs  map[string]string
	inbox  string // of what is told of its end
	quit   context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex
	number int // of its last call
	clock  clock
	err    error // written before ended is closed
}

var (
	_ trial.Server = (*remote)(nil)
	_ trial.Far    = (*remote)(nil)
)

// Start has the worker that offers a subject, NAME or WORKER/NAME, start it, for the generators to
// drive. Nothing of the set-up but the length of the padding, the CPUs and the events is sent. A worker that is the only
// generator on its machine is asked to place itself and the server; place, if it is not nil, has how, and is told where.
func (f *Fleet) Start(ctx context.Context, name string, s trial.Setup, generators []Worker, place *placement.Process) (trial.Server, error) {
	worker, err := f.offering(name)
	if err != nil {
		return nil, err
	}
	r := &remote{fleet: f, worker: worker, id: rand.Text(), name: name[strings.LastIndexByte(name, '/')+1:], inbox: f.conn.NewInbox(), ended: make(chan struct{})}
	told, err := f.conn.Subscribe(r.inbox, r.hear)
	if err != nil {
		return nil, err
	}
	pulse, quit := context.WithCancel(context.WithoutCancel(ctx))
	r.quit = func() {
		quit()
		_ = told.Unsubscribe()
	}
	go r.watch(pulse)
	asked := starting{Name: r.name, Padding: s.Padding, CPUs: s.CPUs, Counted: s.Counted}
	if place != nil && r.drivesAlone(generators) && len(s.CPUs) == 0 {
		asked.Placement, asked.Generator = place.Asked()
	}
	o, err := r.ask(ctx, call{Start: &asked})
	if o.Layout != nil {
		place.Told(*o.Layout)
	}
	if r.addrs = o.Addrs; err == nil {
		err = r.reachable(generators)
	}
	if err != nil {
		_ = r.Stop(context.WithoutCancel(ctx)) // which may not have been started, and else ends alone
		return nil, err
	}
	return r, nil
}

// drivesAlone reports whether its worker is the one generator of its machine.
func (r *remote) drivesAlone(generators []Worker) bool {
	here := slices.DeleteFunc(slices.Clone(generators), func(g Worker) bool { return g.Machine != r.worker.Machine })
	return len(here) == 1 && here[0].ID == r.worker.ID
}

// reachable returns an error if generators on other machines are to drive what listens on the loopback.
func (r *remote) reachable(generators []Worker) error {
	host, _, _ := net.SplitHostPort(r.addrs[""])
	i := slices.IndexFunc(generators, func(g Worker) bool { return g.Machine != r.worker.Machine })
	if i < 0 || !loopback(host) {
		return nil
	}
	return fmt.Errorf("worker %s: server %s listens on %s, which %s, on another machine, cannot reach: write `address: IP` of its machine into the file of --subjects",
		r.worker.Name, r.name, host, generators[i].Name)
}

// watch sends the worker signs of life until ctx is done, and notes that it has gone.
func (r *remote) watch(ctx context.Context) {
	every := time.NewTicker(beat)
	defer every.Stop()
	text := encode(call{From: r.fleet.id, Server: r.id})
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if !r.fleet.there(r.worker.ID) {
			r.die(r.gone())
			return
		}
		_ = r.fleet.conn.PublishRequest(servingPrefix+r.worker.ID, r.inbox, text) // soon it is said again
	}
}

// hear takes what is told of the server's end.
func (r *remote) hear(m *nats.Msg) {
	var o response
	if json.Unmarshal(m.Data, &o) == nil && o.Failure != nil && (o.Ended || r.isStarted()) {
		r.die(r.theirs(o.Failure))
	}
}

// theirs says which worker an error is of.
func (r *remote) theirs(err error) error {
	return failure.About("worker "+r.worker.Name+": ", err, failure.Failure{Worker: r.worker.Name})
}

// gone is the error of a server whose worker is.
func (r *remote) gone() error {
	return r.theirs(failure.About("server "+r.name+": ", errGone, failure.Failure{Server: r.name}))
}

// isStarted reports whether the worker has to know of the server.
func (r *remote) isStarted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.number > 1
}

func (r *remote) die(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.ended)
	}
}

// ask makes a call until it is answered, for as long as the worker shows signs of life.
func (r *remote) ask(ctx context.Context, c call) (o response, err error) {
	r.mu.Lock()
	r.number++
	c.From, c.Server, c.Number = r.fleet.id, r.id, r.number
	r.mu.Unlock()
	text, patience := encode(c), beat
	if c.At > 0 {
		patience += max(0, c.At-r.now())
	}
	for {
		attempt, cancel := context.WithTimeout(ctx, patience)
		m, err := r.fleet.conn.RequestWithContext(attempt, servingPrefix+r.worker.ID, text)
		if errors.Is(err, nats.ErrNoResponders) {
			<-attempt.Done() // it may come back
		}
		cancel()
		switch {
		case err == nil:
			if err = json.Unmarshal(m.Data, &o); err == nil && o.Failure != nil {
				err = o.Failure
			}
			if err != nil {
				err = r.theirs(err)
			}
			return o, err
		case ctx.Err() != nil:
			return o, ctx.Err()
		case errors.Is(err, nats.ErrConnectionClosed):
			return o, err
		case !r.fleet.there(r.worker.ID):
			return o, r.gone()
		}
	}
}

func (r *remote) do(d deed) (response, error) { return r.ask(context.Background(), call{Do: d}) }

// now is about the time by the worker's clock.
func (r *remote) now() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fleet.now() + r.clock.ahead
}

// Addrs returns the addresses handed over.
func (r *remote) Addrs() map[string]string { return r.addrs }

// Machine is that of the worker.
func (r *remote) Machine() string { return r.worker.Machine }

// Sample reads what the server has used, and learns the worker's clock for what is asked next.
func (r *remote) Sample() (subject.Sample, error) {
	now, err := r.fleet.clockOf(context.Background(), r.worker.ID, mostExchanges)
	if err != nil {
		return subject.Sample{}, err
	}
	r.mu.Lock()
	r.clock = now
	r.mu.Unlock()
	o, err := r.do(doSample)
	return o.Sample, err
}

// Clocks reads the server's clocks as soon as the worker is asked.
func (r *remote) Clocks() (subject.Sample, error) {
	o, err := r.do(doClocks)
	return o.Sample, err
}

// ClocksAt has the worker read the server's clocks at a moment, by its own clock as Sample learned it.
func (r *remote) ClocksAt(moment time.Time) (read func() (subject.Sample, error)) {
	at := moment.Sub(r.fleet.base) - r.fleet.now() + r.now()
	type reading struct {
		response
		err error
	}
	ready := make(chan reading, 1)
	go func() {
		o, err := r.ask(context.Background(), call{Do: doClocks, At: max(1, at)})
		ready <- reading{o, err}
	}()
	return sync.OnceValues(func() (subject.Sample, error) {
		got := <-ready
		return got.Sample, got.err
	})
}

// Blocked is not asked over and over from here: see Watch.
func (r *remote) Blocked() []subject.Blocked { return nil }

// Watch has the worker look.
func (r *remote) Watch() (stop func() trial.Waits) {
	_, err := r.do(doWatch)
	return func() trial.Waits {
		if err != nil {
			return trial.Waits{}
		}
		o, _ := r.do(doWatched) // without it there are none
		return o.Waits
	}
}

// Done is closed when the server has ended, or its worker is gone.
func (r *remote) Done() <-chan struct{} { return r.ended }

// Err says how it exited on its own.
func (r *remote) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stop ends the server. A worker that is gone ends its own.
func (r *remote) Stop(ctx context.Context) error {
	defer r.quit()
	select {
	case <-r.ended:
		if !r.fleet.there(r.worker.ID) {
			return nil
		}
	default:
	}
	_, err := r.ask(ctx, call{Do: doStop})
	return err
}

// Counters opens counters where the server is.
func (r *remote) Counters(events ...perf.Event) (trial.Counters, error) {
	if _, err := r.ask(context.Background(), call{Do: doCounters, Events: events}); err != nil {
		return nil, err
	}
	return remoteCounters{r}, nil
}

type remoteCounters struct{ *remote }

func (c remoteCounters) Start() error { _, err := c.do(doCount); return err }
func (c remoteCounters) Close() error { _, err := c.do(doUncount); return c.unlessOver(err) }

func (c remoteCounters) Stop() (perf.Counts, error) {
	o, err := c.do(doCounted)
	return o.Counts, err
}

// Profile opens a sampler where the server is.
func (r *remote) Profile() (trial.Profiler, error) {
	if _, err := r.do(doProfiler); err != nil {
		return nil, err
	}
	return remoteProfiler{r}, nil
}

type remoteProfiler struct{ *remote }

func (p remoteProfiler) Start() error { _, err := p.do(doProfile); return err }
func (p remoteProfiler) Close() error { _, err := p.do(doCloseProfile); return p.unlessOver(err) }

func (p remoteProfiler) Stop(*symbol.Resolver) (*why.Samples, error) {
	o, err := p.do(doProfiled)
	if err != nil {
		return nil, err
	}
	return unpackSamples(o.Samples)
}

// unlessOver returns an error unless the server has ended, and what looked at it with it.
func (r *remote) unlessOver(err error) error {
	select {
	case <-r.ended:
		return nil
	default:
		return err
	}
}

// offering returns the worker that offers a subject, NAME or WORKER/NAME.
func (f *Fleet) offering(name string) (Worker, error) {
	i := strings.LastIndexByte(name, '/')
	of, alone := name[:max(0, i)], name[i+1:]
	var found []Worker
	var offered, workers []string
	for _, w := range f.Free() {
		for _, s := range w.Subjects {
			offered = append(offered, w.Name+"/"+s)
			if s == alone && (of == "" || of == w.Name) {
				found, workers = append(found, w), append(workers, "subject:"+w.Name+"/"+s)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Worker{}, fmt.Errorf("%w: subject %s is offered by %d workers: name one of %s", errAmbiguous, alone, len(found), strings.Join(workers, ", "))
	case offered == nil:
		return Worker{}, fmt.Errorf("no worker offers subject %s, nor any other: start one with contend worker --fleet URL --subjects FILE on the machine of the servers", name)
	}
	return Worker{}, fmt.Errorf("no worker offers subject %s; offered are %s", name, cmp.Or(strings.Join(offered, ", "), "none"))
}

var errAmbiguous = errors.New("which one")

// Offering waits for the workers that offer subjects.
func (f *Fleet) Offering(ctx context.Context, names []string) ([]Worker, error) {
	for {
		changed := f.next()
		var workers []Worker
		var errs []error
		for _, name := range names {
			w, err := f.offering(name)
			if errs = append(errs, err); err == nil && !slices.ContainsFunc(workers, func(o Worker) bool { return o.ID == w.ID }) {
				workers = append(workers, w)
			}
		}
		err := errors.Join(errs...)
		if err == nil || errors.Is(err, errAmbiguous) {
			return workers, err
		}
		select {
		case <-changed:
		case <-time.After(beat): // one may have become free
		case <-ctx.Done():
			return nil, err
		}
	}
}
