package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"contend/internal/secret"
	"contend/load"
	"contend/protocol"
)

// A session is the callers that a worker has, from their opening to their end. It carries out
// orders in turn, on a goroutine of its own.
type session struct {
	id    string
	tasks chan task
	ctx   context.Context
	end   context.CancelFunc
	last  answer // of the worker's goroutine

	target  load.Target
	callers *load.Session
	folder  string  // of the files that were sent; "": there are none
	limit   float64 // that was measured instead of making callers; 0: none was
}

// A task is what an order asks for.
type task struct {
	number int
	ctx    context.Context
	do     func(ctx context.Context) (content []byte, err error)
}

// An answer is what an order has come to, which is said as often as it is asked for.
type answer struct {
	number  int
	to      *nats.Msg // who asked last
	stop    context.CancelFunc
	done    bool // the rest is known
	err     error
	content []byte
}

func newSession(id string) *session {
	s := &session{id: id, tasks: make(chan task, 1)} // the coordinator waits for an answer before it orders more
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// order has the session do something that it was not asked for before.
func (s *session) order(number int, m *nats.Msg, do func(ctx context.Context) ([]byte, error)) {
	if s.last.stop != nil {
		s.last.stop()
	}
	ctx, stop := context.WithCancel(s.ctx)
	s.last = answer{number: number, to: m, stop: stop}
	select {
	case s.tasks <- task{number, ctx, do}:
	default:
		s.last.done, s.last.err = true, errors.New("it has not done yet what it was asked before")
	}
}

// work does what is to do until the session ends.
func (s *session) work(w *worker) {
	for s.ctx.Err() == nil {
		select {
		case t := <-s.tasks:
			content, err := t.do(t.ctx)
			select {
			case w.done <- outcome{s, t.number, content, err}:
			case <-s.ctx.Done():
			}
		case <-s.ctx.Done():
		}
	}
	if s.callers != nil {
		_ = s.callers.Close() // whatever a caller says at its end
	}
	_ = protocol.Close(s.target)
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
	w.ended <- s
}

// An outcome is of a task.
type outcome struct {
	session *session
	number  int
	content []byte
	err     error
}

// open makes the callers, of what the coordinator offers.
func (s *session) open(ctx context.Context, w *worker, from string, o *opening) (err error) {
	content, err := w.fetch(ctx, s.id, from, o.Scene)
	if err != nil {
		return err
	}
	var all scene
	if err := json.Unmarshal(content, &all); err != nil {
		return err
	}
	if !bytes.Equal(encode(all), content) {
		return errors.New("it does not know all that is asked for: coordinator and worker are of different builds")
	}
	opener, err := w.host.Opener()
	if err != nil {
		return err
	}
	if len(all.Files) > 0 {
		if s.folder, err = os.MkdirTemp("", "contend-worker-"); err != nil {
			return err
		}
	}
	target, err := all.unpack(s.folder)
	if err != nil {
		return err
	}
	opener.VUs, opener.Share, opener.Seed = all.VUs, o.Share, all.Seed
	if s.target, err = opener.Open(s.ctx, target); err != nil {
		return err
	}
	s.callers, err = load.Open(s.ctx, target.URL(), s.target, o.VUs)
	return err
}

// drive drives the callers once and returns the result as it is sent. Their progress is published
// each second.
func (s *session) drive(ctx context.Context, w *worker, d *driving) ([]byte, error) {
	if s.callers == nil {
		return nil, errors.New("it has no callers")
	}
	var plan load.Plan
	if err := json.Unmarshal(d.Plan, &plan); err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	if !same(d.Plan, plan) {
		return nil, errors.New("it does not know all of the plan: coordinator and worker are of different builds")
	}
	plan.Begin = w.base.Add(d.Begin)
	plan.Progress = func(now load.Progress) {
		_ = w.conn.Publish(livePrefix+s.id+"."+w.self.ID, encode(glanceOf(now))) // the next one says more
	}
	result, err := s.callers.Run(ctx, plan)
	if err != nil {
		return nil, err
	}
	return secret.In(result, w.host.Hide).AppendBinary(nil)
}

// A glance is what of a run under way is told: counts alone, for times of several cannot be added up.
type glance struct {
	Elapsed      time.Duration `json:"elapsed_ns"`
	Measured     time.Duration `json:"measured_ns"`
	Completed    int64         `json:"completed"`
	Failed       int64         `json:"failed"`
	Errored      int64         `json:"errored"`
	Ops          int64         `json:"ops"`
	GeneratorCPU time.Duration `json:"generator_cpu_ns"`
}

func glanceOf(p load.Progress) glance {
	return glance{p.Elapsed, p.Measured, p.Completed, p.Failed, p.Errored, p.Ops, p.GeneratorCPU}
}
