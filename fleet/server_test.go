package fleet

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"contend/failure"
	"contend/internal/perf"
	"contend/internal/placement"
	"contend/internal/testenv"
	"contend/load"
	"contend/probe"
	"contend/protocol"
	"contend/subject"
	"contend/trial"
	"contend/why"
	"contend/why/symbol"
)

// fakeServer is a fake of a process that a worker has started.
type fakeServer struct {
	setup trial.Setup
	ended chan struct{}
	once  sync.Once
	looks chan struct{} // each at what threads wait for, after which there is another

	mu     sync.Mutex
	err    error
	clocks []time.Time // when they were read
}

func (s *fakeServer) Sample() (subject.Sample, error) { return subject.Sample{CPU: time.Second}, nil }
func (s *fakeServer) Done() <-chan struct{}           { return s.ended }
func (s *fakeServer) Addrs() map[string]string        { return map[string]string{"": "127.0.0.1:80"} }
func (s *fakeServer) Counters(events ...perf.Event) (trial.Counters, error) {
	if len(events) == 0 {
		return nil, &perf.UnavailableError{Event: perf.Instructions, Reason: "no such counter", Advice: "another machine"}
	}
	return fakeCounters{s}, nil
}
func (s *fakeServer) Profile() (trial.Profiler, error) { return fakeProfiler{}, nil }

func (s *fakeServer) Clocks() (subject.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clocks = append(s.clocks, time.Now())
	return subject.Sample{CPU: time.Duration(len(s.clocks)) * time.Second}, nil
}

func (s *fakeServer) Blocked() []subject.Blocked {
	select {
	case s.looks <- struct{}{}:
	default: // nobody waits for it
	}
	return []subject.Blocked{{Call: "fsync"}}
}

func (s *fakeServer) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *fakeServer) Stop(context.Context) error { s.end(nil); return nil }

func (s *fakeServer) end(err error) {
	s.once.Do(func() {
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		close(s.ended)
	})
}

type fakeCounters struct{ *fakeServer }

func (fakeCounters) Start() error               { return nil }
func (fakeCounters) Close() error               { return nil }
func (fakeCounters) Stop() (perf.Counts, error) { return perf.Counts{perf.Instructions: 42}, nil }

type fakeProfiler struct{}

var samples = why.Samples{Period: time.Millisecond, Lost: 1, KernelMissing: "not allowed", Stacks: []why.Stack{
	{Frames: []symbol.Frame{{Function: "f", File: "f.go", Line: 7}, {Function: "main"}}, Samples: 3}, {Frames: []symbol.Frame{{Function: "main"}}, Samples: 2}}}

func (fakeProfiler) Start() error { return nil }
func (fakeProfiler) Close() error { return nil }
func (fakeProfiler) Stop(r *symbol.Resolver) (*why.Samples, error) {
	if r == nil {
		return nil, errors.New("nothing to name by")
	}
	return &samples, nil
}

// offer has a worker join that starts fakes by a name, which come out of the channel.
func offer(t *testing.T, at Address, worker string, subjects ...string) (started chan *fakeServer, leave func()) {
	h, started := hostOf(worker, subjects...)
	return started, work(t, at, h)
}

// hostOf is that of offer.
func hostOf(worker string, subjects ...string) (h Host, started chan *fakeServer) {
	started = make(chan *fakeServer, 8)
	h = Host{Name: worker, Subjects: map[string]Starter{}}
	for _, name := range subjects {
		h.Subjects[name] = func(ctx context.Context, s trial.Setup) (trial.Server, error) {
			if name == "broken" {
				return nil, failure.With(errors.New("server broken: not ready: exit status 2; end of its stderr:\n\tno such flag"),
					failure.Failure{Server: "broken", Kind: failure.Exited, Cause: "not ready: exit status 2", LastWords: []string{"no such flag"}})
			}
			server := &fakeServer{setup: s, ended: make(chan struct{}), looks: make(chan struct{})}
			started <- server
			return server, nil
		}
	}
	return h, started
}

func begin(t *testing.T, f *Fleet, name string, generators []Worker) trial.Server {
	t.Helper()
	server, err := f.Start(t.Context(), name, trial.Setup{Padding: 7, CPUs: []int{1}, Counted: []perf.Event{perf.Instructions}}, generators, nil)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// A server on another machine can do all that one on this machine can; only its name and what a set-up
// has is sent.
func TestServerElsewhere(t *testing.T) {
	t.Parallel()
	at := engine(t)
	started, _ := offer(t, at, "a", "counter")
	f, workers := gather(t, at, 1)
	server := begin(t, f, "counter", workers)
	fake := <-started
	if want := (trial.Setup{Padding: 7, CPUs: []int{1}, Counted: []perf.Event{perf.Instructions}}); !reflect.DeepEqual(fake.setup, want) {
		t.Errorf("%+v, want %+v", fake.setup, want)
	}
	if got := server.Addrs()[""]; got != "127.0.0.1:80" {
		t.Errorf("it listens on %q", got)
	}
	if s, err := server.Sample(); err != nil || s.CPU != time.Second {
		t.Errorf("%+v, %v", s, err)
	}
	far := server.(trial.Far)
	if far.Machine() != machine() {
		t.Errorf("it is on %q", far.Machine())
	}
	moment := time.Now().Add(5 * time.Second) // when the first answer has come
	read := far.ClocksAt(moment)
	if s, err := server.Clocks(); err != nil || s.CPU != time.Second { // in the meantime
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := read(); err != nil || s.CPU != 2*time.Second {
		t.Errorf("%+v, %v", s, err)
	}
	early := moment.Sub(fake.clocks[1])
	if bound := server.(*remote).clock.bound; early > bound {
		t.Errorf("read %v too early, with clocks known to ±%v", early, bound)
	}
	stop := far.Watch()
	<-fake.looks
	<-fake.looks // the first one has ended
	if waits := stop(); len(waits.Blocked) != 1 || waits.Blocked[0].Call != "fsync" {
		t.Errorf("it waits for %+v", waits.Blocked)
	}
	counters, err := server.Counters(perf.Instructions)
	if err == nil {
		err = counters.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if counts, err := counters.Stop(); err != nil || counts[perf.Instructions] != 42 {
		t.Errorf("%v, %v", counts, err)
	}
	var unavailable *perf.UnavailableError
	if _, err := server.Counters(); !errors.As(err, &unavailable) || unavailable.Advice != "another machine" {
		t.Errorf("%v, want what is not available", err)
	}
	profiler, err := server.Profile()
	if err == nil {
		err = profiler.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := profiler.Stop(nil); err != nil || !reflect.DeepEqual(got, &samples) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := errors.Join(counters.Close(), profiler.Close(), server.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	<-fake.ended
}

// awaitEnd waits until a server is said to have ended.
func awaitEnd(t *testing.T, server trial.Server) {
	t.Helper()
	select {
	case <-server.Done():
	case <-time.After(testenv.Patience):
		t.Fatal("nobody heard of its end")
	}
}

// A server that dies says so at once, with how; the error of one that cannot be asked any more is that of a
// process that has ended.
func TestServerElsewhereDies(t *testing.T) {
	t.Parallel()
	at := engine(t)
	started, _ := offer(t, at, "a", "counter")
	f, workers := gather(t, at, 1)
	server := begin(t, f, "counter", workers)
	fake := <-started
	time.AfterFunc(2*beat, func() { fake.end(errors.New("server counter: exited on its own: exit status 7")) })
	awaitEnd(t, server)
	if err := server.Err(); err == nil || err.Error() != "worker a: server counter: exited on its own: exit status 7" {
		t.Error(err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func (s *fakeServer) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(testenv.Patience):
		t.Fatal("it lives on")
	}
}

func TestServerEndsWithItsCoordinator(t *testing.T) {
	t.Parallel()
	at := engine(t)
	h, started := hostOf("a", "counter")
	var over atomic.Bool
	h.silence = until(&over)
	work(t, at, h)
	f, workers := gather(t, at, 1)
	begin(t, f, "counter", workers)
	f.Close()
	over.Store(true)
	(<-started).awaitEnd(t)
	over.Store(false)
	f, workers = gather(t, at, 1) // as soon as it is free
	begin(t, f, "counter", workers)
}

func TestServerEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	at := engine(t)
	started, leave := offer(t, at, "a", "counter")
	f, workers := gather(t, at, 1)
	server := begin(t, f, "counter", workers)
	leave()
	(<-started).awaitEnd(t)
	age(f, "a")
	awaitEnd(t, server)
	if err := server.Err(); !errors.Is(err, errGone) {
		t.Error(err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServersThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	at := engine(t)
	offer(t, at, "a", "counter", "broken", "both")
	offer(t, at, "b", "both")
	f, workers := gather(t, at, 2)
	elsewhere := append(workers[:1:1], Worker{Name: "c", Machine: "another"})
	for _, c := range []struct {
		name       string
		setup      trial.Setup
		generators []Worker
		want       string
	}{
		{"nginx", trial.Setup{}, workers, "no worker offers subject nginx; offered are a/both, a/broken, a/counter, b/both"},
		{"b/counter", trial.Setup{}, workers, "no worker offers subject b/counter"},
		{"both", trial.Setup{}, workers, "subject both is offered by 2 workers: name one of subject:a/both, subject:b/both"},
		{"broken", trial.Setup{}, workers, "worker a: server broken: not ready: exit status 2; end of its stderr:\n\tno such flag"},
		{"counter", trial.Setup{Padding: mostPadding + 1}, workers, "worker a: a padding of 65537 bytes; expected 0 to 65536"},
		{"counter", trial.Setup{CPUs: []int{-1}}, workers, "worker a: CPUs that no machine has"},
		{"counter", trial.Setup{}, elsewhere, "worker a: server counter listens on 127.0.0.1, which c, on another machine, cannot reach"},
	} {
		server, err := f.Start(t.Context(), c.name, c.setup, c.generators, nil)
		if err == nil || server != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "knows nothing") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		want := failure.Failure{Worker: "a", Server: "broken", Kind: failure.Exited, Cause: "not ready: exit status 2", LastWords: []string{"no such flag"}}
		if got, _ := failure.Of(err); c.name == "broken" && !reflect.DeepEqual(got, want) {
			t.Errorf("%v carries %+v, want %+v", err, got, want)
		}
	}
	server := begin(t, f, "b/both", workers)
	other, err := Gather(t.Context(), at, "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w, err := f.offering("b/both")
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{fleet: other, worker: w, id: "other"}
	if _, err := r.ask(t.Context(), call{Start: &starting{Name: "both"}}); err == nil || !strings.Contains(err.Error(), "for another coordinator") {
		t.Error(err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := server.Clocks(); err == nil {
		t.Error("what has been stopped was read")
	}
}

// A worker that drives and starts a server places both, says where, and lets go when the server has ended. One that does not
// drive, or not alone on its machine, has nothing to place. Not in parallel: it holds this process to CPUs.
func TestServerElsewhereIsPlaced(t *testing.T) {
	all, err := probe.CPUs()
	if err != nil {
		t.Skip(err)
	}
	at := engine(t)
	started, _ := offer(t, at, "a", "counter")
	offer(t, at, "b")
	f, workers := gather(t, at, 2)
	for _, tt := range []struct {
		kind       placement.Kind
		generators []Worker
		asked      bool
	}{{placement.Auto, workers[:1], true}, {placement.Shared, workers[:1], true}, {placement.Auto, workers, false}, {placement.Auto, workers[1:], false}} {
		far := placement.Far()
		if err := far.Place(tt.kind); err != nil {
			t.Fatal(err)
		}
		server, err := f.Start(t.Context(), "counter", trial.Setup{}, tt.generators, &far)
		if err != nil {
			t.Fatal(err)
		}
		setup := (<-started).setup
		if !slices.Equal(setup.CPUs, far.Servers) || far.Apart() && !tt.asked || tt.asked && tt.kind == placement.Auto && !far.Apart() && far.Because == "" {
			t.Errorf("%s: started on %v, and told %v", tt.kind, setup.CPUs, far.Layout)
		}
		if held, _ := probe.CPUs(); far.Apart() && !slices.Equal(held, far.Generator) {
			t.Errorf("%s: held to %v, and told %v", tt.kind, held, far.Layout)
		}
		if err := server.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		for begun := time.Now(); ; time.Sleep(time.Millisecond) {
			if now, _ := probe.CPUs(); slices.Equal(now, all) {
				break
			} else if time.Since(begun) > time.Minute {
				t.Fatalf("held to %v after the end of the server", now)
			}
		}
	}
	if _, err := (&starting{Placement: "elsewhere"}).setup(); err == nil {
		t.Error("a placement that there is not")
	}
}

// The CPU time of a server on another machine is that between the edges of the window, as its worker read it.
func TestServerElsewhereIsMeasured(t *testing.T) {
	t.Parallel()
	at, answers := engine(t), serve(t)
	started, _ := offer(t, at, "a", "counter")
	f, workers := gather(t, at, 1)
	driven, err := f.Target(protocol.At(answers.URL), 1, workers)
	if err != nil {
		t.Fatal(err)
	}
	arm := trial.Arm{Name: "A", Start: func(ctx context.Context, s trial.Setup) (*trial.Live, error) {
		server, err := f.Start(ctx, "counter", s, workers, nil)
		if err != nil {
			return nil, err
		}
		return &trial.Live{Address: answers.URL, Target: driven, Subject: server, Stop: server.Stop}, nil
	}}
	cell, err := trial.Measure(t.Context(), arm, load.Plan{VUs: 1, Warmup: 2 * time.Second, Duration: 8 * time.Second, Think: 10 * time.Millisecond, Grace: testenv.Patience})
	if err != nil {
		t.Fatal(err)
	}
	fake := <-started
	if cell.Server == nil || cell.Server.CPUSec != 1 || len(fake.clocks) != 2 || cell.ServerApart {
		t.Fatalf("%+v; clocks were read at %v", cell.Server, fake.clocks)
	}
}

func FuzzSamples(f *testing.F) {
	f.Add(packSamples(&samples))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		s, err := unpackSamples(packed)
		if err != nil {
			return
		}
		again, err := unpackSamples(packSamples(s))
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%+v, %v; want %+v", again, err, s)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, want := range []error{os.ErrProcessDone, errors.ErrUnsupported} {
		if got := failed(want).Failure; !errors.Is(got, want) || errors.Is(got, errGone) {
			t.Errorf("%v is not %v any more", got, want)
		}
	}
}
