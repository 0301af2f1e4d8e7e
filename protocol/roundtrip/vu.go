package roundtrip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/protocol/wire"
)

// A vu is one virtual user.
type vu struct {
	target  *Target
	slot    *wire.Slot[clientConn]
	owns    bool // the slot
	timeout time.Duration
	detail  []byte
	said    load.Content
	// answered is the connection over which the latest answer came.
	answered clientConn

	// parent is the end of the context that life comes from.
	parent <-chan struct{}
	life   *life
}

// A life is the context of iterations until one is cut off.
type life struct {
	ctx     context.Context
	end     context.CancelCauseFunc
	timer   *time.Timer // ends it
	request *http.Request
}

var _ interface {
	load.VU
	load.TimeoutSetter
	io.Closer
} = (*vu)(nil)

var errTimeout = &errkind.Error{Kind: errkind.Timeout, Err: errors.New("no complete answer in time")}

func (v *vu) SetTimeout(d time.Duration) { v.timeout = d }

// Do sends the request and reads the answer.
func (v *vu) Do(ctx context.Context) (load.Outcome, error) {
	l := v.begin(ctx)
	out, err := v.do(l)
	ended := l.ctx.Err() != nil || v.timeout > 0 && !l.timer.Stop()
	if ended {
		v.forget()
	}
	if err != nil {
		return load.Outcome{Resent: out.Resent}, v.cause(ctx, l, err)
	}
	return out, nil
}

// begin starts the timer of an iteration. It makes a context per run and per
// timeout, not one per iteration.
func (v *vu) begin(ctx context.Context) *life {
	if v.life == nil || v.parent != ctx.Done() {
		v.forget()
		l := &life{}
		l.ctx, l.end = context.WithCancelCause(ctx)
		l.timer = time.AfterFunc(time.Hour, func() { l.end(errTimeout) })
		l.timer.Stop()
		l.request = v.target.request.WithContext(l.ctx)
		v.parent, v.life = ctx.Done(), l
	}
	if v.timeout > 0 {
		v.life.timer.Reset(v.timeout)
	}
	return v.life
}

// forget ends the context of iterations.
func (v *vu) forget() {
	if v.life != nil {
		v.life.timer.Stop()
		v.life.end(context.Canceled)
		v.life = nil
	}
}

// cause returns what ended an iteration, if that was its context.
func (v *vu) cause(ctx context.Context, l *life, err error) error {
	if context.Cause(l.ctx) == error(errTimeout) {
		err = errTimeout
	}
	return wire.OrCancelled(ctx, "roundtrip", err)
}

func (v *vu) do(l *life) (load.Outcome, error) {
	conn := v.slot.Get()
	if conn == nil || conn.IsDead() {
		return v.connectAndExchange(l)
	}
	idle := v.owns && v.answered == conn
	out, err := v.exchange(l, conn)
	stale := idle && isUnanswered(err) && errkind.IsLost(err)
	switch {
	case err == nil || l.ctx.Err() != nil:
	case isUnprocessed(err) || stale && wire.IsSafe(l.request.Method):
		out, err = v.connectAndExchange(l)
		out.Resent = 1
	case stale:
		err = errkind.StaleError(err)
	}
	return out, err
}

// connectAndExchange is do without a connection.
func (v *vu) connectAndExchange(l *life) (load.Outcome, error) {
	start := v.target.now()
	conn, err := v.slot.Connect(l.ctx)
	if err != nil {
		return load.Outcome{}, err
	}
	connected := v.target.now()
	out, err := v.exchange(l, conn)
	out.Phases.Connect, out.Phases.Exchange = connected-start, v.target.now()-connected
	if v.target.config.Sharing.Sharing == wire.PerIteration {
		v.slot.Close()
	}
	return out, err
}

// exchange sends the request over a connection.
func (v *vu) exchange(l *life, conn clientConn) (load.Outcome, error) {
	request := l.request
	if body := v.target.config.Body; len(body) > 0 {
		// The library may still be reading the last one's body.
		another := *l.request
		another.Body = io.NopCloser(bytes.NewReader(body))
		request = &another
	}
	start := v.target.now()
	response, err := conn.RoundTrip(request)
	if err != nil {
		return v.fail(&unanswered{err})
	}
	firstByte := v.target.now()
	if strconv.Itoa(response.ProtoMajor) != v.target.config.Version {
		response.Body.Close()
		return v.fail(fmt.Errorf("the server answered in %s", response.Proto))
	}
	failed := !v.target.right(response.StatusCode)
	var n int64
	if failed {
		n, err = v.readDetail(response)
	}
	if err == nil {
		var rest int64
		rest, err = io.Copy(io.Discard, response.Body)
		n += rest
	}
	response.Body.Close() // read to its end, or of no use
	if err != nil {
		return v.fail(fmt.Errorf("body, after %d bytes: %w", n, err))
	}
	out := load.Outcome{
		Status: response.StatusCode, Failed: failed,
		BytesIn: n, BodyIn: n, BytesOut: int64(len(v.target.config.Body)),
		Phases: load.Phases{FirstByte: firstByte - start},
	}
	if took := conn.traffic(); took != nil {
		out.BytesIn, out.BytesOut = took.Take()
	}
	v.answered = conn
	if failed {
		out.Detail, out.Expected = v.detail, v.target.expected
		return out, nil
	}
	v.said.Type = wire.AppendMediaType(v.said.Type[:0], response.Header.Get("Content-Type"))
	v.said.Location = wire.AppendLocation(v.said.Location[:0], response.Header.Get("Location"))
	v.said.Redirect = len(v.target.config.ExpectStatus) == 0 && wire.IsRedirect(response.StatusCode)
	out.Content = &v.said
	return out, nil
}

// maxDetail is how much is kept of a wrong answer, as in package http.
const maxDetail = 200

// readDetail keeps the status and the beginning of a body, or all of a short one, and
// returns how much of the body it has read.
func (v *vu) readDetail(response *http.Response) (int64, error) {
	v.detail = fmt.Appendf(v.detail[:0], "HTTP/%s %d\r\n\r\n", v.target.config.Version, response.StatusCode)
	head := len(v.detail)
	v.detail = slices.Grow(v.detail, maxDetail)[:maxDetail]
	n, err := io.ReadFull(response.Body, v.detail[head:])
	v.detail = v.detail[:head+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return int64(n), err
}

// fail drops a connection of our own, whose state is unknown now.
func (v *vu) fail(err error) (load.Outcome, error) {
	if v.owns {
		v.slot.Close()
	}
	return load.Outcome{}, classify(err, false)
}

// Close closes the virtual user's own connection. It must not be called during
// Do.
func (v *vu) Close() error {
	v.forget()
	if v.owns {
		v.slot.Close()
	}
	return nil
}
