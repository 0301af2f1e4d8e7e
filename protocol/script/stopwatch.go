package script

import (
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"contend/errkind"
	"contend/protocol/wire"
)

// Marks are how far a request has come, and when. Both engines set them, and the times of a request follow from
// them in one place. All but the first field are since its beginning.
type marks struct {
	began                      time.Time
	connected                  bool          // a connection is open,
	got                        time.Duration // since then
	wrote, first               time.Duration // the last byte of the request, the first of the answer; 0: not yet
	lookup, connect, handshake time.Duration // took
}

// tell gives a reply its times as k6 has them: blocked is all that went by until there was a connection, and the
// duration is what came after it. A server may answer before it has read the whole request.
func (m *marks) tell(r *reply) {
	now := time.Since(m.began)
	r.lookup, r.connect, r.handshake, r.total = m.lookup, m.connect, m.handshake, now
	if !m.connected {
		return
	}
	r.blocked, r.total = m.got, now-m.got
	begins := now
	if m.first > 0 {
		begins = m.first
	}
	written := begins
	if m.wrote > 0 {
		written = min(m.wrote, begins)
	}
	r.send, r.wait, r.receive = written-m.got, begins-written, now-begins
}

// A stopwatch takes the marks of one round trip of net/http. A connection may still be on its way when another one
// carries the request, or it was given up.
type stopwatch struct {
	mu                       sync.Mutex
	marks                    marks
	remote                   net.Addr
	looking, dialling, shook time.Duration // began
	tries                    int           // connections that the request was sent over
	idle                     bool          // the latest of them had been
}

// stale reports whether an error ended a connection that had been idle before anything of an answer
// came. net/http has sent again by then what may be.
func (s *stopwatch) stale(err error) (stale bool) {
	s.set(func(m *marks, _ time.Duration) {
		stale = s.idle && m.first == 0 && (errkind.IsLost(err) || wire.ClosedIdle(err))
	})
	return stale
}

// set notes what has happened.
func (s *stopwatch) set(note func(m *marks, now time.Duration)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note(&s.marks, time.Since(s.marks.began))
}

func (s *stopwatch) trace() *httptrace.ClientTrace {
	// opening notes what becomes of a connection while the request has none.
	opening := func(note func(m *marks, now time.Duration)) {
		s.set(func(m *marks, now time.Duration) {
			if !m.connected {
				note(m, now)
			}
		})
	}
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { opening(func(_ *marks, now time.Duration) { s.looking = now }) },
		DNSDone: func(httptrace.DNSDoneInfo) {
			opening(func(m *marks, now time.Duration) { m.lookup = now - s.looking })
		},
		ConnectStart: func(string, string) { opening(func(_ *marks, now time.Duration) { s.dialling = now }) },
		ConnectDone: func(_, _ string, err error) {
			opening(func(m *marks, now time.Duration) {
				if err == nil {
					m.connect = now - s.dialling
				}
			})
		},
		TLSHandshakeStart: func() { opening(func(_ *marks, now time.Duration) { s.shook = now }) },
		TLSHandshakeDone: func(tls.ConnectionState, error) {
			opening(func(m *marks, now time.Duration) { m.handshake = now - s.shook })
		},
		GotConn: func(info httptrace.GotConnInfo) {
			s.set(func(m *marks, now time.Duration) {
				if info.Reused && s.tries == 0 { // what was on its way is another's
					m.lookup, m.connect, m.handshake = 0, 0, 0
				}
				if s.tries++; s.tries == 1 { // else what the lost attempt took is the server's
					m.connected, m.got = true, now
				}
				m.wrote, m.first = 0, 0
				s.remote, s.idle = info.Conn.RemoteAddr(), info.WasIdle
			})
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			s.set(func(m *marks, now time.Duration) {
				if info.Err == nil {
					m.wrote = now
				}
			})
		},
		GotFirstResponseByte: func() { s.set(func(m *marks, now time.Duration) { m.first = now }) },
	}
}

// tell gives a reply its times.
func (s *stopwatch) tell(r *reply) {
	s.set(func(m *marks, _ time.Duration) { m.tell(r) })
	r.remote, r.resent = s.remote, max(0, s.tries-1)
}
