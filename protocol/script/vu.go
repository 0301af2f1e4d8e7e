package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"time"

	"github.com/grafana/sobek"

	"contend/errkind"
	"contend/load"
	"contend/protocol/wire"
)

// A vu is a virtual user: a runtime with the script in it.
type vu struct {
	target  *Target
	of      *driven // the load that it is part of
	id      int     // 1 and up, of all generators; 0 for init, setup and teardown
	own     int     // the same of this one's
	rt      *sobek.Runtime
	env     *sobek.Object
	exports *sobek.Object
	main    sobek.Callable // the function that is an iteration
	data    sobek.Value    // what setup returned
	options sobek.Value    // exec.test.options; nil: not asked for yet
	modules map[string]*lazy
	started bool // init is over

	ctx   context.Context
	watch wire.Watch
	done  <-chan struct{} // of the context that the script follows
	// carry sends a request and reads its answer.
	carry func(*call) *reply
	// away does what waits for something else than an answer.
	away func(work func(ctx context.Context))
	slow *http.Transport
	// conversation is what drives the virtual user on an event loop; nil: it is on none.
	conversation *conversation
	// traffic is all that came and went over the virtual user's connections since its latest iteration.
	traffic wire.Traffic

	iteration  int64
	turn       int64 // the iteration's number among those of all virtual users here
	timers     timers
	rejections rejections // of this iteration
	group      string
	functions  struct{ parse, stringify, freeze sobek.Callable }
	blobs      *sobek.Object // the class Blob; nil: nobody has asked for it
	http       httpState
	jar        *cookiejar.Jar    // of this iteration; nil: nothing is in it
	flow       load.Flow         // of this iteration
	tags       map[string]string // that the script gave the virtual user
	kept       *sobek.Object     // its metadata; nil: nobody has asked for it
	began      time.Time         // of this iteration
	ended      time.Time         // of its function, and of all that this left for later
	connecting time.Duration     // that connections took in it
	cause      load.Outcome      // of the first thing that went wrong
	lost       error             // the first request without an answer
	resent     int               // requests of this iteration that were sent again
	stray      bool              // bytes came in it that belong to no answer
	parted     int               // how many requests a connection carried that the server ended in it; 0: none
	aborted    error             // the script has ended the run
	hearing    *hearing

	connections map[io.Closer]bool // that the script has open, of other protocols than HTTP
}

var _ interface {
	load.VU
	io.Closer
} = (*vu)(nil)

// newVU makes a runtime and runs the outermost part of the script in it.
func (t *Target) newVU(ctx context.Context, own int) (*vu, error) { return t.all.newVU(ctx, own) }

func (p *driven) newVU(ctx context.Context, own int) (*vu, error) {
	t := p.target
	v := &vu{target: t, of: p, own: own, rt: sobek.New(), modules: map[string]*lazy{}, ctx: context.Background(), data: sobek.Undefined()}
	if own > 0 {
		first := int64(p.first)
		v.id = 1 + p.first + int(t.around.Share.From(first).Number(int64(own-1)))
		v.own += int(t.around.Share.Count(first))
	}
	v.hearing = new(hearing)
	v.watch.Interrupt = func() { v.rt.Interrupt(errEnded) }
	v.away = func(work func(context.Context)) {
		v.sendPromised()
		work(v.ctx)
	}
	v.carry = v.roundTrip
	v.rt.SetMaxCallStackSize(maxDepth)
	random := rand.New(rand.NewPCG(t.around.Seed, uint64(v.id)))
	v.rt.SetRandSource(random.Float64)
	v.rt.SetParserOptions()
	v.globals()
	v.rt.SetPromiseRejectionTracker(v.rejections.note)
	v.bound()
	ctx, cancel := context.WithTimeoutCause(ctx, initTimeout, fmt.Errorf("init takes longer than %v", initTimeout))
	defer cancel()
	v.ctx = ctx // which what is left for later waits in
	if err := v.bounded(ctx, v.init); err != nil {
		return nil, err
	}
	v.ctx, v.started = context.Background(), true
	if own > 0 {
		t.tally.users.Add(1)
		v.hearing = t.hearings.add()
		t.memory.enter(v)
	}
	return v, nil
}

// init runs the outermost part of the script and finds its functions.
func (v *vu) init() error {
	json := v.rt.Get("JSON").ToObject(v.rt)
	v.functions.parse, _ = sobek.AssertFunction(json.Get("parse"))
	v.functions.stringify, _ = sobek.AssertFunction(json.Get("stringify"))
	v.functions.freeze, _ = sobek.AssertFunction(v.rt.Get("Object").ToObject(v.rt).Get("freeze"))
	wrapped, err := v.rt.RunProgram(v.target.bundle.program)
	if err != nil {
		return err
	}
	run, _ := sobek.AssertFunction(wrapped)
	module := v.rt.NewObject()
	v.exports = v.rt.NewObject()
	_ = module.Set("exports", v.exports)
	value, err := v.guarded(func() (sobek.Value, error) {
		value, err := run(sobek.Undefined(), v.exports, module, v.rt.ToValue(v.native))
		if err == nil {
			err = v.timers.run(v)
		}
		return value, err
	})
	if err == nil {
		err = v.rejections.take(v)
	} else if v.ctx.Err() != nil {
		err = context.Cause(v.ctx)
	}
	if err != nil {
		return err
	}
	if p, ok := value.Export().(*sobek.Promise); ok && p.State() == sobek.PromiseStatePending {
		return errors.New("the outermost part of the script awaits what never comes")
	}
	v.exports = module.Get("exports").ToObject(v.rt)
	exec := cmp.Or(v.of.load.Exec, "default")
	var ok bool
	if v.main, ok = sobek.AssertFunction(v.exports.Get(exec)); !ok && v.own > 0 {
		return fmt.Errorf("%s exports no function %q, which would be an iteration", v.target.config.Script, exec)
	}
	if v.target.data != "" {
		v.data, err = v.parse(v.target.data)
	}
	return err
}

// follow has the end of ctx interrupt the script.
func (v *vu) follow(ctx context.Context) {
	v.ctx = ctx
	if ctx.Done() == v.done && v.done != nil {
		return
	}
	v.watch.Off()
	v.rt.ClearInterrupt()
	v.done = ctx.Done()
	v.watch.On(ctx)
}

// begin forgets the iteration before.
func (v *vu) begin() {
	if v.own > 0 { // setup and teardown are no iterations
		_ = v.rt.Set("__ITER", v.iteration)
	}
	v.flow = load.Flow{Requests: v.flow.Requests[:0], Checks: v.flow.Checks[:0], Readings: v.flow.Readings[:0]}
	v.cause, v.lost, v.group, v.connecting = load.Outcome{}, nil, "", 0
	v.resent, v.stray, v.parted = 0, false, 0
	v.timers.clear()
	v.conversation.forget()
	v.rejections = nil
	if !v.target.Options.KeepCookies {
		v.jar = nil
	}
}

// Do runs the script's function once.
func (v *vu) Do(ctx context.Context) (load.Outcome, error) {
	v.follow(ctx)
	v.begin()
	err := v.run()
	out := v.outcome(err)
	return out, v.failure(err)
}

// run runs the function to its end, what it has left for later included.
func (v *vu) run() error {
	if v.aborted != nil { // the end is near
		return v.aborted
	}
	v.turn, v.began = v.of.begin(), time.Now()
	_, err := v.settle(v.main, v.data)
	v.ended = time.Now()
	if rest := v.target.Options.LeastIteration - v.ended.Sub(v.began); rest > 0 && v.aborted == nil && v.ctx.Err() == nil {
		v.away(func(ctx context.Context) { wait(ctx, rest) })
	}
	if err != nil {
		v.timers.clear() // what it has open is of no more use
		v.conversation.forget()
	}
	over := v.ctx.Err()
	cut := over == context.Canceled || over != nil && err != nil // a call that the end cut short may have been the last
	if cut {
		v.target.apart.note(v) // what it measured until then counts
	}
	v.of.end(cut)
	v.iteration++
	return err
}

// settle calls a function, runs what it leaves for later, and returns what a promise resolved to. A
// promise that was rejected without a handler is also an exception.
func (v *vu) settle(f sobek.Callable, argument sobek.Value) (sobek.Value, error) {
	value, err := v.guarded(func() (sobek.Value, error) {
		value, err := f(sobek.Undefined(), argument)
		if err == nil {
			err = v.timers.run(v)
		}
		return value, err
	})
	if err == nil {
		err = v.rejections.take(v)
	}
	if err != nil {
		return nil, err
	}
	promise, ok := value.Export().(*sobek.Promise)
	if !ok {
		return value, nil
	}
	switch promise.State() {
	case sobek.PromiseStateRejected:
		return nil, v.rejected(promise)
	case sobek.PromiseStatePending:
		return nil, errors.New("the promise that the function returned never settles")
	}
	return promise.Result(), nil
}

// outcome is what an iteration came to that ended with err.
func (v *vu) outcome(err error) load.Outcome {
	out := v.cause
	if err != nil && !out.Failed {
		out.Failed, out.Check = true, "exception"
		out.Detail = []byte(v.explain(err).Error())
	}
	out.BytesIn, out.BytesOut = v.traffic.Take()
	out.Phases.Connect = v.connecting
	for i := range v.flow.Requests {
		out.BodyIn += v.flow.Requests[i].BodyIn
	}
	if err == nil || v.ctx.Err() == nil {
		v.meterIteration(&out)
	}
	out.Resent, out.Stray, out.Parted = v.resent, v.stray, v.parted
	v.flow.Whole = err == nil
	out.Flow = &v.flow
	return out
}

// failure is why an iteration got no valid answer, or nil: a request had none, or the run ended.
func (v *vu) failure(err error) error {
	if interrupted := (*sobek.InterruptedError)(nil); v.aborted == nil && errors.As(err, &interrupted) {
		if abort, ok := interrupted.Value().(*load.Abort); ok {
			v.aborted = &load.Abort{Reason: place(interrupted.Stack()) + abort.Reason}
		}
	}
	if v.aborted != nil {
		return v.aborted
	}
	if ended := v.ctx.Err(); ended != nil && err != nil {
		return fmt.Errorf("script: %w", ended)
	}
	return v.lost
}

// wrong notes the first thing that went wrong.
func (v *vu) wrong(cause load.Outcome) {
	if !v.cause.Failed {
		v.cause = cause
		v.cause.Failed = true
	}
}

// note counts a request and its outcome.
func (v *vu) note(r load.Request, err error, detail []byte, expected string) {
	if err != nil {
		r.Err = errkind.Of(err)
		if v.lost == nil {
			v.lost = err
		}
	}
	if r.Failed {
		v.wrong(load.Outcome{Status: r.Status, Detail: detail, Expected: expected})
	}
	v.flow.Requests = append(v.flow.Requests, r)
}

// Close ends what the virtual user has open. It must not be called during Do.
func (v *vu) Close() error {
	v.watch.Off()
	if v.own > 0 {
		v.target.tally.users.Add(-1)
		v.target.memory.leave(v)
	}
	if v.slow != nil {
		v.slow.CloseIdleConnections()
	}
	v.timers.clear()
	for c := range v.connections {
		c.Close()
	}
	return nil
}

func (v *vu) stringify(this, value sobek.Value) (sobek.Value, error) {
	return v.functions.stringify(this, value)
}
