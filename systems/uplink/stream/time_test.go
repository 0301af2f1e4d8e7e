package stream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"

	"github.com/gobwas/ws"
)

// A pipes is a listener whose connections are in memory, where time may be fake:
// what is written there waits until it is read.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// inBubble runs a test of a service in fake time.
func inBubble(t *testing.T, c Config, test func(*testing.T, *service)) {
	synctest.Test(t, func(t *testing.T) {
		s := prepare(t, c)
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		s.dial = func() (net.Conn, error) {
			mine, its := net.Pipe()
			listener.conns <- its
			return mine, nil
		}
		server := http.Server{Handler: s.mux()}
		served := make(chan error)
		go func() { served <- server.Serve(listener) }()
		defer func() {
			s.stop()
			if err := errors.Join(server.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		test(t, s)
	})
}

// lasting is a connection without a deadline for the test.
func (s *service) lasting(path string) *client {
	c := s.open(path, "a")
	c.must(c.SetDeadline(time.Time{}))
	return c
}

// A client that is busy for 30 s, and answers pings only afterwards, is not
// disconnected; the same holds for 59 s.
func TestBusyClient(t *testing.T) {
	for _, busy := range []time.Duration{0, 30 * time.Second, 59 * time.Second} {
		inBubble(t, Config{}, func(t *testing.T, s *service) {
			c := s.lasting("/stream/upstream/")
			for begin := time.Now(); time.Since(begin) < time.Hour; {
				time.Sleep(busy)
				op, data, err := c.frame()
				if err != nil || op != ws.OpPing {
					t.Fatal(busy, time.Since(begin), op, data, err)
				}
				c.send(ws.OpPong, data)
			}
			if got := s.Stats(); got.Open[Upstream] != 1 || got.Pongs < 60 {
				t.Errorf("%+v", got)
			}
			c.must(c.Close())
		})
	}
}

// A client that reads but never sends is closed after the time between pings
// and the time to answer one.
func TestSilentClient(t *testing.T) {
	for _, path := range []string{"/stream/upstream/", "/stream/downstream/"} {
		inBubble(t, Config{}, func(t *testing.T, s *service) {
			c := s.lasting(path)
			begin := time.Now()
			pings := 0
			for {
				op, data, err := c.frame()
				c.must(err)
				if op == ws.OpPing {
					pings++
					continue
				}
				code, reason := ws.ParseCloseFrameData(data)
				if op != ws.OpClose || code != 1008 || reason != "no frame came for 1m30s, not even a pong" ||
					time.Since(begin) != 90*time.Second || pings < 2 {
					t.Error(op, code, reason, time.Since(begin), pings)
				}
				break
			}
			c.must(c.Close())
			synctest.Wait()
			if got := s.Stats(); got.Silent != 1 || got.Closed[1008] != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Any complete frame is a sign of life; a frame that never ends is not.
func TestSignsOfLife(t *testing.T) {
	part := frame(ws.OpBinary, true, make([]byte, 1000))
	tests := []struct {
		name  string
		every time.Duration
		give  func(i int) []byte
		alive bool
	}{
		{"a message", 80 * time.Second, func(int) []byte {
			return frame(ws.OpText, true, message.AppendAnswer(nil, &message.Answer{Transaction: 1, DevEUI: 1}))
		}, true},
		{"a pong that nobody asked for", 80 * time.Second, func(int) []byte { return frame(ws.OpPong, true, nil) }, true},
		{"parts of a message", 80 * time.Second, func(i int) []byte {
			return frame([]ws.OpCode{ws.OpContinuation, ws.OpText}[1/(i+1)], false, nil)
		}, false},
		{"one frame, byte by byte", time.Second, func(i int) []byte { return part[i : i+1] }, false},
	}
	for _, tt := range tests {
		inBubble(t, Config{}, func(t *testing.T, s *service) {
			c := s.lasting("/stream/upstream/")
			closed := make(chan ws.StatusCode, 1)
			go func() {
				for {
					op, data, err := c.frame()
					if op == ws.OpClose || err != nil {
						code, _ := ws.ParseCloseFrameData(data)
						closed <- code
						c.Close()
						return
					}
				}
			}()
			alive := true
			for i := range 200 {
				time.Sleep(tt.every)
				if _, err := c.Write(tt.give(i)); err != nil {
					alive = false
					break
				}
			}
			if alive != tt.alive {
				t.Errorf("%s: alive: %v", tt.name, alive)
			}
			c.Close()
			if code := <-closed; (code == 1008) == tt.alive {
				t.Errorf("%s: closed with %d", tt.name, code)
			}
		})
	}
}

// A connection on which a write makes no progress is closed: a customer that
// then begins to read hears why. Another connection has its messages at once, with
// the same transactions, if their deadline is not over.
func TestStalledClient(t *testing.T) {
	inBubble(t, Config{WriteTimeout: 50 * time.Second}, func(t *testing.T, s *service) {
		c := s.lasting("/stream/upstream/")
		s.put("a", 0, 500)
		u := c.uplink()
		time.Sleep(51 * time.Second)
		if s.Stats().Stalled != 1 {
			t.Errorf("%+v", s.Stats())
		}
		other := s.lasting("/stream/upstream/")
		if again := other.uplink(); again.Transaction != u.Transaction {
			t.Errorf("%+v, want %+v", again, u)
		}
		for {
			op, data, err := c.frame()
			c.must(err)
			if op == ws.OpText || op == ws.OpPing {
				continue
			}
			code, reason := ws.ParseCloseFrameData(data)
			if op != ws.OpClose || code != 1013 || reason != "nothing was read for 50s" {
				t.Error(op, code, reason)
			}
			break
		}
		c.ack(u) // too late for the connection, but not for the message
		c.send(ws.OpClose, []byte{3, 0xf5})
		c.must(c.Close())
		synctest.Wait()
		if s.outcomes(outbox.Answered) != 1 {
			t.Errorf("%+v", s.box("a").Stats())
		}
		other.must(other.Close())
	})
}

// A customer that reads nothing at all is cut off, 5 s after the close frame
// could have been read.
func TestNeverReads(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, s *service) {
		c := s.lasting("/stream/upstream/")
		s.put("a", 0, 500)
		time.Sleep(65*time.Second - time.Millisecond)
		if s.Stats().Open == [kinds]int64{} {
			t.Error("cut off too early")
		}
		time.Sleep(2 * time.Millisecond)
		if got := s.Stats(); got.Open != [kinds]int64{} || got.Closed[1013] != 1 || got.Stalled != 1 {
			t.Errorf("%+v", got)
		}
		if got := s.box("a").Stats(); got.Unanswered != 0 || got.Connections != 0 {
			t.Errorf("%+v", got)
		}
		c.must(c.Close())
	})
}

// A customer that reads slowly, but reads, stays.
func TestSlowReader(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, s *service) {
		c := s.lasting("/stream/upstream/")
		s.put("a", 0, 500)
		buf := make([]byte, 100)
		for range 200 {
			time.Sleep(50 * time.Second)
			if _, err := c.Read(buf); err != nil {
				t.Fatal(err)
			}
			c.send(ws.OpPong, nil)
		}
		if got := s.Stats(); got.Open[Upstream] != 1 || got.Stalled != 0 {
			t.Errorf("%+v", got)
		}
		c.must(c.Close())
	})
}

// When the service stops it waits 5 s for a customer that does not close, or
// less if less is allowed.
func TestShutdownOfTheDeaf(t *testing.T) {
	for _, tt := range []struct{ give, want time.Duration }{{time.Minute, closeTimeout}, {time.Second, time.Second}} {
		inBubble(t, Config{}, func(t *testing.T, s *service) {
			quiet, stuck := s.lasting("/stream/downstream/"), s.lasting("/stream/upstream/")
			go func() {
				for {
					if _, _, err := quiet.frame(); err != nil {
						return
					}
				}
			}()
			s.put("a", 0, 500)
			synctest.Wait()
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), tt.give)
			defer cancel()
			err := s.Shutdown(ctx)
			if (err != nil) != (tt.give < closeTimeout) || time.Since(begin) != tt.want {
				t.Error(err, time.Since(begin), tt.want)
			}
			quiet.Close()
			stuck.Close()
		})
	}
}
