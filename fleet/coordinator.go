package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"contend/load"
)

// A Fleet is the workers that a coordinator knows. It is safe for concurrent use.
type Fleet struct {
	conn    *nats.Conn
	id      string
	name    string // for people
	version string
	base    time.Time         // of the coordinator's clock
	say     func(line string) // nil: to nobody
	end     context.CancelFunc
	ended   chan struct{} // the pulse has ended

	mu       sync.Mutex
	workers  map[string]*member
	changed  chan struct{}     // closed when one has come
	beats    uint64            // of the pulse
	sessions map[string][]byte // that are open, with what is offered to them
	gone     map[string]int    // how often in succession NATS reported other coordinators gone
	fetches  chan struct{}     // holds one for each piece of a result that is being fetched
}

// mostFetches bounds how many pieces of results are fetched at once: see piece.
const mostFetches = 16

// A member is a worker that has said hello.
type member struct {
	Worker
	heard time.Time
}

// Gather connects to the workers at an address. Only those of the same version of the program are
// asked for anything. say gets, a line at a time, what is found there of a coordinator that has
// gone; nil: nobody does.
func Gather(ctx context.Context, at Address, version string, say func(line string)) (*Fleet, error) {
	conn, err := at.connect(ctx, "coordinator", nil)
	if err != nil {
		return nil, err
	}
	f := &Fleet{conn: conn, id: rand.Text(), name: processName(), version: version, base: time.Now(), say: say,
		ended: make(chan struct{}), workers: map[string]*member{}, changed: make(chan struct{}), sessions: map[string][]byte{},
		gone: map[string]int{}, fetches: make(chan struct{}, mostFetches)}
	_, hellos := conn.Subscribe(helloSubject, f.hello)
	_, questions := conn.Subscribe(coordinatorPrefix+f.id, f.offer)
	if err := errors.Join(hellos, questions); err != nil {
		conn.Close()
		return nil, err
	}
	ctx, f.end = context.WithCancel(context.WithoutCancel(ctx))
	go f.beat(ctx)
	return f, nil
}

// Close leaves the fleet; workers end what they have of it.
func (f *Fleet) Close() {
	f.end()
	<-f.ended
	f.conn.Close()
}

// now is the time by the coordinator's clock.
func (f *Fleet) now() time.Duration { return time.Since(f.base) }

// beat announces the coordinator, and looks for what others have left, until ctx is done.
func (f *Fleet) beat(ctx context.Context) {
	defer close(f.ended)
	for ctx.Err() == nil {
		f.mu.Lock()
		f.beats++
		text := encode(pulse{f.id, f.beats, slices.Sorted(maps.Keys(f.sessions))})
		f.mu.Unlock()
		_ = f.conn.Publish(pulseSubject, text) // it is repeated soon
		f.release(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(beat):
		}
	}
}

// release frees the workers of coordinators that NATS twice reports to be gone: what they had is over,
// as nobody can add it up any more.
func (f *Fleet) release(ctx context.Context) {
	others := map[string][]Worker{}
	for _, w := range f.Workers() {
		if f.taken(w) {
			others[w.Busy] = append(others[w.Busy], w)
		}
	}
	maps.DeleteFunc(f.gone, func(id string, _ int) bool { return others[id] == nil })
	for id, workers := range others {
		short, cancel := context.WithTimeout(ctx, patience)
		_, err := f.conn.RequestWithContext(short, coordinatorPrefix+id, nil)
		cancel()
		if !errors.Is(err, nats.ErrNoResponders) {
			delete(f.gone, id)
			continue
		}
		if f.gone[id]++; f.gone[id] == 2 {
			_ = f.conn.Publish(pulseSubject, encode(pulse{From: id, Number: lastPulse}))
			if f.say != nil {
				free := "1 worker is free"
				if n := len(workers); n > 1 {
					free = fmt.Sprintf("%d workers are free", n)
				}
				f.say(fmt.Sprintf("the coordinator %s is gone: its run is over, and %s", cmp.Or(workers[0].BusyFor, id), free))
			}
		}
	}
}

// offer answers a request for a piece of what is offered.
func (f *Fleet) offer(m *nats.Msg) {
	var o fetching
	_ = json.Unmarshal(m.Data, &o) // a request that only asks for a sign of life gets nothing
	f.mu.Lock()
	content := f.sessions[o.Session]
	f.mu.Unlock()
	_ = m.Respond(pieceAt(content, o.Offset)) // it is asked again
}

// begin makes a session, to which content is offered.
func (f *Fleet) begin(session string, content []byte) opening {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[session] = content
	return opening{Scene: parcelOf(content), Name: f.name, Pulse: f.beats}
}

// opened offers nothing more to a session.
func (f *Fleet) opened(session string) { f.begin(session, nil) }

// finish forgets a session, so that workers end what they still have of it.
func (f *Fleet) finish(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, session)
}

// mostWorkers bounds what strangers can make a coordinator keep.
const mostWorkers = 10_000

func (f *Fleet) hello(m *nats.Msg) {
	var w Worker
	if json.Unmarshal(m.Data, &w) != nil || w.ID == "" || strings.ContainsAny(w.ID, ".*> \t\r\n") {
		return // a stranger's
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.workers[w.ID]
	if known == nil && len(f.workers) >= mostWorkers {
		return
	}
	f.workers[w.ID] = &member{w, time.Now()}
	if known == nil {
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

// Workers returns the known workers, by their names.
func (f *Fleet) Workers() []Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []Worker
	for id, m := range f.workers {
		if time.Since(m.heard) > silence {
			delete(f.workers, id)
			continue
		}
		list = append(list, m.Worker)
	}
	slices.SortFunc(list, func(a, b Worker) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID)) })
	return list
}

// there reports whether a worker has said hello lately.
func (f *Fleet) there(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.workers[id]
	return m != nil && time.Since(m.heard) <= silence
}

// next returns a channel that is closed when a worker has come.
func (f *Fleet) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// taken reports whether another coordinator uses a worker.
func (f *Fleet) taken(w Worker) bool { return w.Busy != "" && w.Busy != f.id }

// Wait returns n workers, by their names, as soon as there are as many without the excepted ones, of the
// coordinator's version and not used by another. The error says who was there when ctx was done.
func (f *Fleet) Wait(ctx context.Context, n int, except ...Worker) ([]Worker, error) {
	for {
		changed := f.next()
		if free := f.Free(except...); len(free) >= n {
			return free[:n], nil
		}
		select {
		case <-changed:
		case <-time.After(beat): // one may have become free
		case <-ctx.Done():
			return nil, f.missing(n + len(except))
		}
	}
}

// foreign says how a worker's build differs from the coordinator's; "": it does not.
func (f *Fleet) foreign(w Worker) string {
	switch {
	case w.Version != f.version:
		return fmt.Sprintf("%s is version %s, and this is %s", w.Name, w.Version, f.version)
	case w.Form != load.SentForm:
		return fmt.Sprintf("%s sends histograms of another form (%s, and not %s): it is another build of %s", w.Name, w.Form, load.SentForm, f.version)
	}
	return ""
}

// Unusable says why a worker cannot be used, with its name; "": it can.
func (f *Fleet) Unusable(w Worker) string {
	if text := f.foreign(w); text != "" {
		return text
	}
	if f.taken(w) {
		return w.Name + " is used by another coordinator"
	}
	return ""
}

// Free returns the workers that can be used, without the excepted ones.
func (f *Fleet) Free(except ...Worker) []Worker {
	return slices.DeleteFunc(f.Workers(), func(w Worker) bool {
		return f.Unusable(w) != "" || slices.ContainsFunc(except, func(e Worker) bool { return e.ID == w.ID })
	})
}

// All returns the known workers, including those that cannot be used, once there are n and no other
// has joined for a while; fewer, but at least one, when ctx is done.
func (f *Fleet) All(ctx context.Context, n int, quiet time.Duration) ([]Worker, error) {
	for {
		changed := f.next()
		select {
		case <-changed:
		case <-time.After(quiet):
			if list := f.Workers(); len(list) >= n {
				return list, nil
			}
		case <-ctx.Done():
			if list := f.Workers(); len(list) > 0 {
				return list, nil
			}
			return nil, f.missing(n)
		}
	}
}

// missing says which workers there are where n free ones of the version are wanted.
func (f *Fleet) missing(n int) error {
	list := f.Workers()
	if len(list) == 0 {
		return fmt.Errorf("there is no worker, and %d are wanted: start them with contend worker --fleet, and see that they reach this address, through any firewall", n)
	}
	var said []string
	for _, w := range list {
		said = append(said, cmp.Or(f.Unusable(w), w.Name+" is ready"))
	}
	return fmt.Errorf("%d workers are wanted: %s", n, strings.Join(said, "; "))
}

// A said is what a worker has replied, and when it was asked for that and the reply came, by the coordinator's clock.
type said struct {
	reply
	asked, came time.Duration
	content     []byte
}

// ask sends an order again and again until it is answered, for as long as the worker says that it is
// there. What is driven when ctx is done is cancelled, and its result is still waited for.
func (f *Fleet) ask(ctx context.Context, worker string, o *order) (said, error) {
	o.From = f.id
	for {
		asked := f.now()
		m, err := request(ctx, f.conn, orderPrefix+worker, encode(o))
		came := f.now()
		switch {
		case err == nil:
			return f.read(ctx, worker, o, m.Data, asked, came)
		case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrMaxPayload):
			return said{}, err
		case !f.there(worker):
			return said{}, errGone
		case ctx.Err() == nil:
		case o.Drive != nil && !o.Cancel:
			o.Cancel = true
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), mostEnding, errNever)
			defer cancel()
		default:
			return said{}, context.Cause(ctx)
		}
	}
}

// read reads a reply, and gets the rest of the content whose beginning follows it.
func (f *Fleet) read(ctx context.Context, worker string, o *order, b []byte, asked, came time.Duration) (said, error) {
	s := said{asked: asked, came: came}
	first, err := decode(b, &s.reply)
	switch {
	case err != nil:
		return said{}, fmt.Errorf("its reply: %w", err)
	case s.Error != "":
		return said{}, errors.New(s.Error)
	case s.Result == parcel{}:
		return s, nil
	}
	s.content, err = s.Result.collect(first, func(offset int) ([]byte, error) {
		return f.fetch(ctx, worker, &order{From: f.id, Session: o.Session, Number: o.Number, Fetch: offset})
	})
	if err != nil {
		return said{}, fmt.Errorf("its result: %w", err)
	}
	return s, nil
}

// fetch gets a piece of a result.
func (f *Fleet) fetch(ctx context.Context, worker string, o *order) ([]byte, error) {
	f.fetches <- struct{}{}
	defer func() { <-f.fetches }()
	for {
		m, err := request(ctx, f.conn, orderPrefix+worker, encode(o))
		switch {
		case err == nil:
			return m.Data, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !f.there(worker):
			return nil, errGone
		}
	}
}

// mostEnding bounds how long a run may take to end when it is cancelled.
const mostEnding = 30 * time.Second

var errNever = fmt.Errorf("there, but did not say what it did within %v of the end", mostEnding)

// errGone is of a worker that has ended, or cannot be reached.
var errGone = fmt.Errorf("gone, or silent for %v", silence)
