package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"contend/internal/secret"
	"contend/pace"
	"contend/trial"
	"contend/why/symbol"
)

// A Starter starts a server.
type Starter func(ctx context.Context, s trial.Setup) (trial.Server, error)

// hosting is the servers that a worker has started, all for one coordinator.
type hosting struct {
	*worker
	mu      sync.Mutex
	servers map[string]*hosted
	all     sync.WaitGroup
	// resolvers (*symbol.Resolver) of servers that have ended, for the next ones, which often run the same files.
	resolvers sync.Pool

	placed
}

// A hosted is a server from its start to its end.
type hosted struct {
	id, from, name string
	ctx            context.Context // until it is to end
	end            context.CancelFunc

	mu    sync.Mutex // of what follows
	heard time.Duration
	last  *nats.Msg        // by which its coordinator asked how it is
	calls map[int]*pending // by number
	died  *response        // how it exited on its own; nil: it has not

	doing    sync.Mutex // of what follows: one thing at a time is done
	server   trial.Server
	resolver *symbol.Resolver
	watched  func() trial.Waits
	counters trial.Counters
	profiler trial.Profiler
}

// A pending is a call that was made, and its response once that is known.
type pending struct {
	to   *nats.Msg // who made it last
	done []byte
}

// mostCalls is how many calls of a server are kept; the oldest of them have been answered.
const mostCalls = 64

// handle answers a call, or has it done.
func (h *hosting) handle(m *nats.Msg) {
	var c call
	if json.Unmarshal(m.Data, &c) != nil || c.Server == "" {
		return // a stranger's
	}
	s, err := h.find(&c)
	switch {
	case err != nil:
		_ = m.Respond(encode(h.failed(err))) // who hears nothing asks again
	case c.Number == 0:
		s.show(m)
	case s.isNew(m, c.Number):
		h.all.Go(func() { s.answer(c.Number, h.do(s, &c)) })
	}
}

// find returns the server of a call, which is a new one if it is to be started.
func (h *hosting) find(c *call) (*hosted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.servers[c.Server]
	switch {
	case s != nil:
		s.hear(h.now())
		return s, nil
	case c.Start == nil:
		return nil, errors.New("it knows nothing of this server: it was started again, or had heard nothing for too long")
	case h.host.Subjects[c.Start.Name] == nil:
		return nil, fmt.Errorf("it has no subject %s; it has: %s", c.Start.Name, cmp.Or(strings.Join(h.names(), ", "), "none"))
	}
	for _, other := range h.servers {
		if other.from != c.From {
			return nil, errors.New("it starts servers for another coordinator")
		}
	}
	s = &hosted{id: c.Server, from: c.From, name: c.Start.Name, heard: h.now(), calls: map[int]*pending{}}
	s.resolver = h.resolvers.Get().(*symbol.Resolver)
	s.ctx, s.end = context.WithCancel(context.Background())
	h.servers[s.id] = s
	h.all.Go(func() { h.abandon(s) })
	return s, nil
}

func (h *hosting) names() []string { return slices.Sorted(maps.Keys(h.host.Subjects)) }

// owner is the coordinator that has servers here; "": none.
func (h *hosting) owner() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.servers {
		return s.from
	}
	return ""
}

// abandon waits until a server is to end, or its coordinator has been silent for too long, and ends it.
func (h *hosting) abandon(s *hosted) {
	every := time.NewTicker(beat)
	defer every.Stop()
	for s.ctx.Err() == nil {
		select {
		case <-every.C:
			if s.silentFor(h.now()) > h.host.silence() {
				h.say("the coordinator is silent: its server " + s.name + " ends")
				s.end()
			}
		case <-s.ctx.Done():
		}
	}
	_ = s.stop(context.Background()) // nobody is left to hear of it
	h.resolvers.Put(s.resolver)      // do refuses whoever comes later
	h.forget(s)
}

// leave ends the servers of a coordinator that is gone.
func (h *hosting) leave(from string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.servers {
		if s.from == from {
			h.say("the coordinator is gone: its server " + s.name + " ends")
			s.end()
		}
	}
}

// close ends all servers.
func (h *hosting) close() {
	h.mu.Lock()
	for _, s := range h.servers {
		s.end()
	}
	h.mu.Unlock()
	h.all.Wait()
}

// do does what a call asks for.
func (h *hosting) do(s *hosted, c *call) response {
	if c.At > 0 {
		timer, _ := pace.NewWaiter(s.ctx, pace.Precise)
		defer timer.Close()
		timer.Wait(c.At - h.now())
	}
	if c.Do == doStop {
		defer s.end()
		if err := s.stop(context.Background()); err != nil {
			return h.failed(err)
		}
		return response{}
	}
	s.doing.Lock()
	defer s.doing.Unlock()
	o, err := s.do(h, c)
	if err != nil {
		o = h.failed(err)
	}
	if c.Start != nil && err == nil {
		h.all.Go(func() { h.await(s) })
	}
	if c.Start != nil && err != nil {
		defer s.end()
	}
	return o
}

// begin starts the server.
func (s *hosted) begin(h *hosting, c *starting) (o response, err error) {
	setup, err := c.setup()
	if err == nil {
		o.Layout, err = h.place(s.from, c, &setup)
	}
	if err == nil {
		s.server, err = h.host.Subjects[s.name](s.ctx, setup)
	}
	if err != nil {
		return response{}, err
	}
	o.Addrs = s.server.Addrs()
	return o, nil
}

func (s *hosted) do(h *hosting, c *call) (o response, err error) {
	if c.Start != nil {
		return s.begin(h, c.Start)
	}
	switch {
	case s.server == nil:
		return o, errors.New("the server was not started")
	case s.ctx.Err() != nil:
		return o, errors.New("the server was stopped")
	}
	switch c.Do {
	case doSample:
		o.Sample, err = s.server.Sample()
	case doClocks:
		o.Sample, err = s.server.Clocks()
	case doWatch:
		s.unwatch()
		s.watched = trial.Watch(s.server, s.resolver)
	case doWatched:
		o.Waits = s.unwatch()
	default:
		return s.measure(c)
	}
	return o, err
}

// failed is the response to a call that failed. A server's last words are among it.
func (h *hosting) failed(err error) response {
	o := failed(err)
	*o.Failure = secret.In(*o.Failure, h.host.Hide)
	return o
}

// measure does what is asked of the counters and of the profiler; there is one of each.
func (s *hosted) measure(c *call) (o response, err error) {
	switch opened := s.counters != nil; {
	case c.Do == doCounters:
		s.uncount()
		if s.counters, err = s.server.Counters(c.Events...); err != nil {
			s.counters = nil
		}
	case c.Do == doCount && opened:
		err = s.counters.Start()
	case c.Do == doCounted && opened:
		o.Counts, err = s.counters.Stop()
	case c.Do == doUncount:
		err = s.uncount()
	default:
		return s.profile(c)
	}
	return o, err
}

func (s *hosted) profile(c *call) (o response, err error) {
	switch opened := s.profiler != nil; {
	case c.Do == doProfiler:
		s.unprofile()
		if s.profiler, err = s.server.Profile(); err != nil {
			s.profiler = nil
		}
	case c.Do == doProfile && opened:
		err = s.profiler.Start()
	case c.Do == doProfiled && opened:
		samples, err := s.profiler.Stop(s.resolver)
		if err != nil {
			return o, err
		}
		o.Samples = packSamples(samples)
	case c.Do == doCloseProfile:
		err = s.unprofile()
	default:
		err = fmt.Errorf("it cannot do %q now", c.Do)
	}
	return o, err
}

func (s *hosted) unwatch() (w trial.Waits) {
	if s.watched != nil {
		w, s.watched = s.watched(), nil
	}
	return w
}

func (s *hosted) uncount() (err error) {
	if s.counters != nil {
		err, s.counters = s.counters.Close(), nil
	}
	return err
}

func (s *hosted) unprofile() (err error) {
	if s.profiler != nil {
		err, s.profiler = s.profiler.Close(), nil
	}
	return err
}

// stop ends the server and all that looks at it. A start under way is given up.
func (s *hosted) stop(ctx context.Context) error {
	s.mu.Lock()
	starting := s.calls[1] != nil && s.calls[1].done == nil
	s.mu.Unlock()
	if starting {
		s.end()
	}
	s.doing.Lock()
	defer s.doing.Unlock()
	s.unwatch()
	if s.server == nil {
		return nil
	}
	return errors.Join(s.uncount(), s.unprofile(), s.server.Stop(ctx))
}

// await tells the coordinator that the server has ended, unless it was asked to end.
func (h *hosting) await(s *hosted) {
	select {
	case <-s.ctx.Done():
		return
	case <-s.server.Done():
	}
	err := s.server.Err()
	if err == nil {
		return // it was stopped
	}
	o := h.failed(err)
	o.Ended = true
	s.mu.Lock()
	s.died = &o
	last := s.last
	s.mu.Unlock()
	if last != nil {
		_ = last.Respond(encode(o)) // it asks again soon
	}
}

func (s *hosted) hear(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = now
}

func (s *hosted) silentFor(now time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now - s.heard
}

// show reports whether the server lives, now and when it dies.
func (s *hosted) show(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = m
	if s.died != nil {
		_ = m.Respond(encode(*s.died))
		return
	}
	_ = m.Respond(encode(response{}))
}

// isNew reports whether a call was not made before; one that was is answered, now or once that is known.
func (s *hosted) isNew(m *nats.Msg, number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.calls[number]; p != nil {
		if p.to = m; p.done != nil {
			_ = m.Respond(p.done)
		}
		return false
	}
	s.calls[number] = &pending{to: m}
	delete(s.calls, number-mostCalls)
	return true
}

// answer answers a call.
func (s *hosted) answer(number int, o response) {
	text := encode(o)
	if len(text) > maxMessage {
		text = encode(failed(fmt.Errorf("its answer takes %d bytes; expected at most %d", len(text), maxMessage)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.calls[number]; p != nil {
		p.done = text
		_ = p.to.Respond(text) // who hears nothing asks again
	}
}
