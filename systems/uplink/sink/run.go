package sink

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gobwas/ws"

	"contend/internal/cpu"
	"contend/systems/uplink/message"
)

const (
	// settle is how long what is late may take after the end marker, or what has
	// come in full may take until it.
	settle = time.Second
	// closeTimeout bounds the orderly end of the last connection, and quietTimeout that of one that has been silent for Idle.
	closeTimeout = 5 * time.Second
	quietTimeout = time.Second
)

var (
	errDone  = errors.New("sink: everything has come")
	errQuiet = errors.New("sink: nothing has come for too long")
)

// A sink is one run.
type sink struct {
	config   Config
	solver   *solver
	conn     *connection
	up       message.Upstream
	body     []byte
	last     time.Time // when something came, or the beginning
	ended    bool      // the end marker was seen
	recorder recorder
}

// Run takes uplinks until the end marker has come, with everything that is
// expected, or until nothing has come for Idle. The result is valid, if short,
// when ctx is done before. With an error there is no result: the configuration
// or token is wrong, or no connection could be opened.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &sink{config: c, solver: newSolver(c.Seed, c.Devices), recorder: newRecorder()}
	if c.NoAck {
		c.Notice(noAcks)
	}
	c.Notice(fmt.Sprintf(poolSize, c.Pool))
	before, _ := cpu.Time()
	err := s.connections(ctx)
	if err != nil && s.recorder.Connections == 0 {
		return nil, err
	}
	c.Notice(waiting)
	if s.conn != nil {
		patience := closeTimeout
		if errors.Is(err, errQuiet) {
			patience = quietTimeout
		}
		s.conn.closeGracefully(patience)
	}
	c.Notice(finished)
	used, _ := cpu.Time()
	return s.result(ctx.Err() != nil, used-before), nil
}

// connections makes one connection after another until the run is over. The one
// that is left is open.
func (s *sink) connections(ctx context.Context) error {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails
	mask := rand.NewChaCha8(seed)
	retry := backoff{first: s.config.FirstRetry}
	s.last = time.Now()
	for {
		s.config.Notice(fmt.Sprintf(connecting, s.config.URL))
		began := time.Now()
		limited, cancel := context.WithDeadline(ctx, s.limit())
		conn, err := s.config.dial(limited, mask)
		cancel()
		if errors.Is(err, ErrUnauthorized) {
			s.recorder.LastError = err.Error()
			return err
		}
		if err == nil {
			s.conn = conn
			s.recorder.Connections++
			s.config.Notice(Connected)
			err = s.serve(ctx)
			s.recorder.counts.BytesOut += conn.bytesOut
			if errors.Is(err, errDone) || errors.Is(err, errQuiet) || ctx.Err() != nil {
				return err
			}
			conn.Close()
			s.conn = nil
		}
		s.recorder.LastError = err.Error()
		s.config.Notice("Connection lost: " + err.Error())
		if !s.pause(ctx, retry.next(time.Since(began))) {
			return err
		}
	}
}

// pause waits before the next connection. It returns false when the run is over.
func (s *sink) pause(ctx context.Context, delay time.Duration) bool {
	delay = min(delay, time.Until(s.limit()))
	if delay > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(delay):
		}
	}
	return ctx.Err() == nil && time.Now().Before(s.limit())
}

// limit returns when to stop waiting for more.
func (s *sink) limit() time.Time {
	wait := s.config.Idle
	complete := s.config.Expect > 0 && s.recorder.Distinct >= s.config.Expect
	if complete || s.ended && s.config.Expect == 0 {
		wait = min(wait, settle)
	}
	return s.last.Add(wait)
}

// done reports whether everything has come.
func (s *sink) done() bool {
	switch {
	case !s.ended:
		return false
	case s.config.Expect > 0:
		return s.recorder.Distinct >= s.config.Expect
	}
	if s.config.Devices > 1 { // only the first one has an end marker
		return false
	}
	_, missing := s.solver.count()
	return missing == 0
}

// serve reads from the connection until it fails, or the run is over.
func (s *sink) serve(ctx context.Context) error {
	conn := s.conn
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		conn.SetDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-interrupted
		}
	}()
	now := time.Now()
	if err := s.arm(ctx, now); err != nil {
		return err
	}
	for {
		if err := s.work(now); err != nil {
			return err
		}
		if s.done() {
			return errDone
		}
		if err := s.arm(ctx, now); err != nil {
			return err
		}
		err := conn.fill()
		now = time.Now()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if err != nil && !now.Before(s.limit()) {
			return errQuiet
		}
	}
}

// arm sets the connection's deadlines. If ctx has ended before, they may have replaced
// those that interrupt it, so it looks.
func (s *sink) arm(ctx context.Context, now time.Time) error {
	if err := s.conn.arm(now, s.limit()); err != nil {
		return err
	}
	return ctx.Err()
}

// work handles all messages that were read at the given time and writes the
// answers.
func (s *sink) work(at time.Time) error {
	for {
		m, err := s.conn.next()
		if err != nil {
			return err
		}
		if m == nil {
			return s.conn.flush()
		}
		switch m.Op {
		case ws.OpPing:
			s.conn.send(ws.OpPong, m.Data)
		case ws.OpClose:
			code, reason := ws.ParseCloseFrameData(m.Data)
			s.conn.send(ws.OpClose, m.Data[:min(len(m.Data), 2)])
			_ = s.conn.flush() // the connection ends either way
			return fmt.Errorf("sink: closed by the server: %d %.100q", code, reason)
		case ws.OpText, ws.OpBinary:
			s.last = at
			s.message(m.Data, at)
		}
		if s.conn.answers >= s.config.Pool {
			if err := s.conn.flush(); err != nil {
				return err
			}
		}
	}
}

// message solves and answers one message.
func (s *sink) message(data []byte, at time.Time) {
	s.recorder.Messages++
	if err := message.ParseUpstream(data, &s.up); err != nil {
		s.recorder.Malformed++
		s.recorder.LastError = err.Error()
		return
	}
	found := s.solver.solve(&s.up)
	s.recorder.note(found, &s.up, len(data), at)
	if found.finding == endMarker && !s.ended {
		s.ended = true
		s.config.Notice(endMarkerSeen)
	}
	if s.config.NoAck {
		return
	}
	answer := message.Answer{Transaction: s.up.Transaction, DevEUI: found.device, MIC: found.mic}
	switch found.finding {
	case unsolved:
		answer.Reject = message.MICFailed
	case foreign:
		answer.Reject = message.RejectOther
	}
	s.body = message.AppendAnswer(s.body[:0], &answer)
	s.conn.send(ws.OpText, s.body)
	s.conn.answers++
}
