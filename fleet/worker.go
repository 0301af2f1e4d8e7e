package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"contend/load"
	"contend/protocol"
	"contend/why/symbol"
)

// A Host is what a worker is on its machine.
type Host struct {
	Name    string // "": that of the machine, and the number of the process
	Version string // of the program: a coordinator of another one refuses it
	// Opener makes what opens targets, for each session.
	Opener func() (protocol.Opener, error)
	// Limit measures how many requests a second this process can send; nil: it is not known.
	Limit func(ctx context.Context) (perSec float64, err error)
	// Subjects start the servers that the worker offers, by name.
	Subjects map[string]Starter
	// Hide returns a text without the secrets of what was driven and started; nil: as it is.
	Hide func(text string) string
	// Say is told what happens, a line at a time; nil: nobody is.
	Say func(line string)

	silence func() time.Duration // of a coordinator, until it is gone; nil: as of all peers
}

// Work is a worker until ctx is done: it waits for a coordinator that asks for callers, drives them as
// it is told, and ends them when that says so or has been silent for 10 s. An error means that it
// could not join.
func (h Host) Work(ctx context.Context, at Address) error {
	if h.Hide == nil {
		h.Hide = func(text string) string { return text }
	}
	if h.silence == nil {
		h.silence = func() time.Duration { return silence }
	}
	w := &worker{host: h, base: time.Now(), sessions: map[string]*session{}, over: map[string]error{},
		done: make(chan outcome), ended: make(chan *session)}
	w.self = Worker{ID: rand.Text(), Name: h.Name, Machine: machine(), Version: h.Version, Form: load.SentForm, Cores: runtime.GOMAXPROCS(0)}
	if w.self.Name == "" {
		w.self.Name = processName()
	}
	var err error
	if w.conn, err = at.connect(ctx, w.self.Name, func(err error) { w.say(err.Error() + "; it is tried again and again") }); err != nil {
		return err
	}
	defer w.conn.Close()
	messages := make(chan *nats.Msg, 64)
	for _, subject := range []string{orderPrefix + w.self.ID, pulseSubject} {
		if _, err := w.conn.ChanSubscribe(subject, messages); err != nil {
			return err
		}
	}
	servers := &hosting{worker: w, servers: map[string]*hosted{}, resolvers: sync.Pool{New: func() any { return new(symbol.Resolver) }}}
	calls, err := w.conn.Subscribe(servingPrefix+w.self.ID, servers.handle)
	if err != nil {
		return err
	}
	w.self.Subjects, w.hosting = servers.names(), servers
	defer servers.close()
	defer calls.Unsubscribe()
	w.say("joined the fleet at " + at.String() + " as " + w.self.Name)
	w.serve(ctx, messages)
	for _, s := range w.sessions {
		s.end()
	}
	for range w.sessions {
		<-w.ended
	}
	return nil
}

// processName tells processes apart for people.
func processName() string {
	name, _ := os.Hostname() // the number tells them apart
	return fmt.Sprintf("%s/%d", name, os.Getpid())
}

type worker struct {
	host Host
	self Worker    // Busy while there are sessions
	base time.Time // of its clock
	conn *nats.Conn

	sessions map[string]*session // of one coordinator
	over     map[string]error    // sessions of that one that have ended, and why
	heard    time.Duration       // when it said something last, by the worker's clock
	pulse    uint64              // the last one of it
	done     chan outcome
	ended    chan *session // has cleaned up
	hosting  *hosting
	saying   sync.Mutex
}

func (w *worker) say(line string) {
	w.saying.Lock()
	defer w.saying.Unlock()
	if w.host.Say != nil {
		w.host.Say(line)
	}
}

// now is the time by the worker's clock.
func (w *worker) now() time.Duration { return time.Since(w.base) }

// serve obeys until ctx is done.
func (w *worker) serve(ctx context.Context, messages <-chan *nats.Msg) {
	every := time.NewTicker(beat)
	defer every.Stop()
	w.hello()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			w.hello()
			w.abandon()
		case o := <-w.done:
			w.finish(o)
		case s := <-w.ended:
			delete(w.sessions, s.id)
			if w.over[s.id] = s.last.err; len(w.sessions) == 0 {
				w.self.Busy, w.self.BusyFor = "", ""
				w.hello()
			}
		case m := <-messages:
			if m.Subject == pulseSubject {
				w.follow(m)
			} else {
				w.obey(m, w.now())
			}
		}
	}
}

// abandon ends what a coordinator has left alone.
func (w *worker) abandon() {
	if w.self.Busy == "" || w.now()-w.heard <= w.host.silence() {
		return
	}
	for _, s := range w.sessions {
		if s.ctx.Err() == nil {
			w.say("the coordinator is silent: its callers end")
			s.end()
		}
	}
}

func (w *worker) hello() {
	self := w.self
	self.Busy = cmp.Or(self.Busy, w.hosting.owner())
	_ = w.conn.Publish(helloSubject, encode(self)) // soon it is said again
}

// follow heeds the pulse of a coordinator: the worker announces itself to a new one, and what its own
// one no longer has is ended.
func (w *worker) follow(m *nats.Msg) {
	var p pulse
	if json.Unmarshal(m.Data, &p) != nil {
		return // a stranger's
	}
	switch p.Number {
	case 1:
		w.hello()
	case lastPulse:
		w.hosting.leave(p.From)
	}
	if p.From != w.self.Busy || p.Number <= w.pulse {
		return
	}
	w.heard, w.pulse = w.now(), p.Number
	if p.Number == lastPulse {
		w.say("the coordinator is gone: its callers end")
	}
	for id, s := range w.sessions {
		if !slices.Contains(p.Sessions, id) {
			s.end()
		}
	}
}

// obey does what is asked for, or has the session do what takes time.
func (w *worker) obey(m *nats.Msg, got time.Duration) {
	var o order
	if _, err := decode(m.Data, &o); err != nil {
		w.reply(m, got, err, nil)
		return
	}
	s := w.sessions[o.Session]
	if s != nil {
		w.heard = got
	}
	switch {
	case o.Session == "": // about its clock
		w.reply(m, got, nil, nil)
	case o.Close:
		if s != nil {
			s.end()
		}
		w.reply(m, got, nil, nil)
	case o.Open != nil && s == nil:
		w.open(m, got, &o)
	case s == nil:
		w.reply(m, got, errUnknown, nil)
	case o.Number < s.last.number: // came late
	case o.Fetch > 0:
		_ = m.Respond(pieceAt(s.last.content, o.Fetch)) // who hears nothing asks again
	case o.Number == s.last.number:
		s.last.to = m
		if o.Cancel {
			s.last.stop()
		}
		w.answer(s)
	case o.Cancel:
		s.order(o.Number, m, func(context.Context) ([]byte, error) { return nil, errors.New("the run ended before it had begun") })
	case o.Drive != nil:
		s.order(o.Number, m, func(ctx context.Context) ([]byte, error) { return s.drive(ctx, w, o.Drive) })
		w.answer(s)
	}
}

var errUnknown = errors.New("it knows nothing of these callers: it was started again, or had heard nothing for too long")

// open begins a session, unless it was one before.
func (w *worker) open(m *nats.Msg, got time.Duration, o *order) {
	why, over := w.over[o.Session]
	switch {
	case over && why == nil:
		why = errUnknown
		fallthrough
	case over:
		w.reply(m, got, why, nil)
		return
	case w.self.Busy != "" && w.self.Busy != o.From:
		w.reply(m, got, fmt.Errorf("another coordinator uses it: %s", w.self.BusyFor), nil)
		return
	case w.self.Busy == "":
		clear(w.over)
		w.self.Busy, w.self.BusyFor, w.pulse = o.From, o.Open.Name, 0
	}
	w.heard, w.pulse = got, max(w.pulse, o.Open.Pulse)
	s := newSession(o.Session)
	w.sessions[s.id] = s
	go s.work(w)
	s.order(o.Number, m, func(ctx context.Context) ([]byte, error) {
		if o.Open.Measure != nil {
			return s.measure(ctx, w, o.Open.Measure), nil
		}
		return nil, s.open(ctx, w, o.From, o.Open)
	})
	w.hello()
}

// finish keeps what an order has come to, and answers it. Callers that cannot be made end the session.
func (w *worker) finish(o outcome) {
	s := o.session
	if o.number != s.last.number {
		return
	}
	s.last.done, s.last.err, s.last.content = true, o.err, o.content
	if s.limit > 0 {
		w.self.LimitPerSec = s.limit
	}
	if len(o.content) > mostContent {
		s.last.err = fmt.Errorf("its result takes %d bytes; expected at most %d", len(o.content), mostContent)
	}
	w.answer(s)
	if o.err != nil && s.callers == nil {
		s.end()
	}
}

// answer answers who asked last, if there is an answer.
func (w *worker) answer(s *session) {
	if s.last.done {
		w.reply(s.last.to, w.now(), s.last.err, s.last.content)
	}
}

// reply answers an order, followed by the beginning of the content.
func (w *worker) reply(m *nats.Msg, got time.Duration, err error, content []byte) {
	r := reply{Got: got}
	switch {
	case err != nil:
		r.Error, content = w.host.Hide(err.Error()), nil
	case content != nil:
		r.Result = parcelOf(content)
	}
	r.Sent = w.now()
	_ = m.Respond(withPiece(r, content[:min(len(content), firstPiece)])) // who hears nothing asks again
}

// fetch gets the scene that a coordinator offers to a session, until ctx is done.
func (w *worker) fetch(ctx context.Context, session, from string, p parcel) ([]byte, error) {
	return p.collect(nil, func(offset int) ([]byte, error) {
		for {
			m, err := request(ctx, w.conn, coordinatorPrefix+from, encode(fetching{session, offset}))
			switch {
			case err == nil:
				return m.Data, nil
			case ctx.Err() != nil:
				return nil, ctx.Err()
			}
		}
	})
}

// request asks once, and lets who gets no answer ask again.
func request(ctx context.Context, conn *nats.Conn, subject string, message []byte) (*nats.Msg, error) {
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := conn.RequestWithContext(short, subject, message)
	if err != nil && short.Err() == nil { // at once, because nobody answers now
		select {
		case <-short.Done():
		case <-time.After(patience / 4):
		}
	}
	return m, err
}
