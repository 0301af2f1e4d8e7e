package ws

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"contend/errkind"
	"contend/websocket"
)

// maxUnsent bounds what waits to be written, in bytes.
const maxUnsent = 64 << 20

// A Socket is a WebSocket all of whose messages and control frames are handed over. Sending never
// waits: what the server does not take at once is written later. One goroutine at a time may call
// Next, any the others.
type Socket struct {
	stream, wire net.Conn
	reader       *websocket.Reader
	deflates     bool
	maxMessage   int
	plain        []byte // the latest message, inflated

	mu      sync.Mutex
	out     outbox
	spare   []byte
	unsent  int    // bytes that are not written yet
	pong    []byte // to be sent, nil: none
	closing bool   // a close is sent: nothing comes after it
	ended   bool   // nobody writes any more
	writing bool
	writers sync.WaitGroup
}

func newSocket(stream net.Conn, early []byte, deflates bool, maxMessage int) *Socket {
	return &Socket{stream: stream, deflates: deflates, maxMessage: maxMessage,
		reader: websocket.NewReader(stream, early, websocket.Config{Deflated: deflates, MaxMessage: maxMessage, Buffer: readBuffer})}
}

// A Received is a message or a control frame, valid until the next. Body is the bytes of the frames of a message
// without their headers.
type Received struct {
	Op   ws.OpCode
	Data []byte
	Body int64
}

// Next waits for the next message, ping or pong. Pings are answered. The error is a *Closed if the
// server said goodbye.
func (s *Socket) Next() (Received, error) {
	for {
		m, err := s.reader.Next()
		switch {
		case err != nil:
			return Received{}, s.refuse(err)
		case m == nil:
			if _, err := s.reader.Fill(); err != nil {
				return Received{}, s.lost(err)
			}
			continue
		case m.Op == ws.OpClose:
			return Received{}, s.closedByPeer(m.Data)
		case m.Op == ws.OpPing:
			s.answer(m.Data)
		case m.Compressed:
			if m.Data, err = s.inflate(m); err != nil {
				return Received{}, s.refuse(err)
			}
		}
		r := Received{Op: m.Op, Data: m.Data}
		if !m.Op.IsControl() {
			r.Body = m.Body
		}
		return r, nil
	}
}

func (s *Socket) inflate(m *websocket.Message) (_ []byte, err error) {
	if cap(s.plain) > keep {
		s.plain = nil
	}
	if s.plain, err = inflate(s.plain[:0], m.Data, s.maxMessage); err != nil {
		return nil, err
	}
	if m.Op == ws.OpText && !utf8.Valid(s.plain) {
		return nil, &websocket.CloseError{Code: ws.StatusInvalidFramePayloadData, Reason: "a text that is not UTF-8"}
	}
	return s.plain, nil
}

// refuse tells the server what it did wrong, and returns that as an error.
func (s *Socket) refuse(err error) error {
	code := ws.StatusProtocolError
	if wrong, ok := errors.AsType[*websocket.CloseError](err); ok {
		code = wrong.Code
		err = protocolError("%w", err)
	}
	_ = s.SendClose(int(code), "") // one that is sent already is as good
	return err
}

// lost says why nothing more can be read.
func (s *Socket) lost(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing && errors.Is(err, os.ErrDeadlineExceeded) {
		return &errkind.Error{Kind: errkind.Timeout, Err: fmt.Errorf("WebSocket: a close without an answer within %v", closeTimeout)}
	}
	return readError(err)
}

func (s *Socket) closedByPeer(data []byte) error {
	code, reason, err := websocket.ParseClose(data)
	if err != nil {
		return s.refuse(err)
	}
	_ = s.SendClose(int(code), "") // it may be the answer to one of ours
	return &Closed{int(code), reason}
}

// answer has a ping answered; of several that wait the last one is (RFC 6455, section 5.5.3).
func (s *Socket) answer(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.pong = append([]byte{}, data...)
		s.write()
	}
}

// Send sends a message or a ping. After a close nothing is sent.
func (s *Socket) Send(op ws.OpCode, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing || s.ended:
		return net.ErrClosed
	case s.unsent+len(data) > maxUnsent:
		return errFull
	}
	deflated := s.deflates && !op.IsControl()
	if deflated {
		s.out.packed = deflate(s.out.packed[:0], data)
		data = s.out.packed
	}
	s.unsent += int(s.out.append(op, deflated, data))
	s.write()
	return nil
}

// SendClose sends a close frame after what was sent before; 1005 is one without a code. The server has
// five seconds to answer it.
func (s *Socket) SendClose(code int, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.ended {
		return net.ErrClosed
	}
	var data []byte
	if code != int(ws.StatusNoStatusRcvd) {
		data = append([]byte{byte(code >> 8), byte(code)}, reason...)
	}
	s.pong = nil
	s.out.append(ws.OpClose, false, data)
	s.closing = true
	_ = s.stream.SetReadDeadline(time.Now().Add(closeTimeout)) // fails if the connection is closed, which is as good
	s.write()
	return nil
}

// Unsent returns how many bytes wait to be written.
func (s *Socket) Unsent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsent
}

// write has somebody write what is waiting. s.mu is held.
func (s *Socket) write() {
	if s.writing || s.ended {
		return
	}
	s.writing = true
	s.writers.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for s.pong != nil || len(s.out.frames) > 0 {
			s.writeOnce()
		}
		s.writing = false
	})
}

// writeOnce writes what is waiting. s.mu is held when it is called and when it returns.
func (s *Socket) writeOnce() {
	if s.pong != nil {
		s.out.append(ws.OpPong, false, s.pong)
		s.pong = nil
	}
	frames, unsent := s.out.frames, s.unsent
	s.out.frames, s.spare = s.spare[:0], nil
	s.mu.Unlock()
	_, err := s.stream.Write(frames)
	s.mu.Lock()
	s.unsent -= unsent
	if cap(frames) <= keep {
		s.spare = frames
	}
	if err != nil { // reading says why
		s.ended, s.pong, s.out.frames = true, nil, nil
		s.wire.Close()
	}
}

// Close closes the connection when what was sent is written, which patience bounds, and waits until
// nobody writes.
func (s *Socket) Close(patience time.Duration) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	if patience > 0 {
		_ = s.stream.SetWriteDeadline(time.Now().Add(patience)) // fails if the connection is closed, which is as good
		s.writers.Wait()
	}
	s.wire.Close()
	s.writers.Wait()
}
