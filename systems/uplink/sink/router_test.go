package sink

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"contend/systems/uplink/gen"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

// A fakeRouter takes frames from a generator and offers each to whoever connects:
// one message at a time on the wire, sent again with the same transaction when a
// connection was lost before its answer.
type fakeRouter struct {
	t         *testing.T
	challenge func(n int, mic uint32) []uint32 // of message n
	// cut closes the connection when that many messages were sent, once.
	cut  int
	lost bool // it was closed, and what it had is not given back yet: the next one waits, so that all stays in order
	// between is called before each message, with its number.
	between func(conn net.Conn, n int)

	url     string
	mu      sync.Mutex
	changed sync.Cond
	waiting []offered
	open    map[uint64]offered
	sent    int
	addr    map[lorawan.DevAddr]lorawan.EUI
	// The answers: right and wrong acks, and rejects by their reason.
	right, wrong int
	rejects      map[message.Reject]int
	malformed    int
	wg           sync.WaitGroup
}

type offered struct {
	up  message.Upstream
	mic uint32
}

func startRouter(t *testing.T, seed uint64, devices int) *fakeRouter {
	t.Helper()
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRouter(t, seed, devices)
	r.url = "ws://" + listening.Addr().String() + "/api/v1/stream/upstream/"
	t.Cleanup(func() { listening.Close() })
	r.wg.Go(func() {
		for {
			conn, err := listening.Accept()
			if err != nil {
				return
			}
			r.wg.Go(func() { r.serve(conn) })
		}
	})
	return r
}

// newRouter makes one that can be reached by its dial only.
func newRouter(t *testing.T, seed uint64, devices int) *fakeRouter {
	r := &fakeRouter{
		t: t, url: "ws://router/", challenge: challengeOf(2),
		open: map[uint64]offered{}, addr: map[lorawan.DevAddr]lorawan.EUI{}, rejects: map[message.Reject]int{},
	}
	r.changed.L = &r.mu
	for i := range devices {
		d := lorawan.DemoDevice(seed, i)
		r.addr[d.DevAddr] = d.DevEUI
	}
	t.Cleanup(func() {
		r.mu.Lock()
		r.open = nil // those that wait for work end
		r.changed.Broadcast()
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

// dial is the Dial of a Config, without a network.
func (r *fakeRouter) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	r.wg.Go(func() { r.serve(there) })
	return here, nil
}

// challengeOf hides the MIC at the end of n entries.
func challengeOf(n int) func(int, uint32) []uint32 {
	return func(_ int, mic uint32) []uint32 {
		list := make([]uint32, n)
		for i := range list {
			list[i] = mic + uint32(n-1-i)
		}
		return list
	}
}

// add is the Add of a generator.
func (r *fakeRouter) add(_ context.Context, uplinks []*message.Uplink) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range uplinks {
		phy := append([]byte{}, u.PHY...)
		f, err := lorawan.Parse(phy)
		if err != nil {
			r.malformed++
			continue
		}
		eui := r.addr[f.DevAddr]
		if f.Type == lorawan.JoinRequest {
			eui = f.DevEUI
		}
		r.sent++
		r.waiting = append(r.waiting, offered{message.Upstream{
			Transaction: uint64(r.sent), DevEUIs: []lorawan.EUI{eui}, Radio: u.Radio, PHYNoMIC: f.Message(),
			Challenge: r.challenge(r.sent, f.MIC),
		}, f.MIC})
	}
	r.changed.Broadcast()
	return nil
}

// serve is a connection.
func (r *fakeRouter) serve(conn net.Conn) {
	defer conn.Close()
	unauthorized := false
	_, err := ws.Upgrader{OnHeader: func(key, value []byte) error {
		if string(key) == "Authorization" && string(value) != "Bearer demo" {
			unauthorized = true
			return ws.RejectConnectionError(ws.RejectionStatus(http.StatusUnauthorized))
		}
		return nil
	}}.Upgrade(conn)
	if err != nil {
		if !unauthorized {
			r.t.Errorf("upgrade: %v", err)
		}
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.readAnswers(conn)
		r.mu.Lock()
		r.changed.Broadcast()
		r.mu.Unlock()
	}()
	mine := []offered{}
	for n := 0; ; n++ {
		o, ok := r.take(gone)
		if !ok {
			break
		}
		mine = append(mine, o)
		if r.between != nil {
			r.between(conn, n)
		}
		if ws.WriteFrame(conn, ws.NewTextFrame(message.AppendUpstream(nil, &o.up))) != nil {
			break
		}
		if r.cuts(n + 1) {
			break
		}
	}
	conn.Close()
	<-gone
	r.giveBack(mine)
}

// cuts reports whether a connection ends after so many messages, as one does.
func (r *fakeRouter) cuts(sent int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut == 0 || sent < r.cut {
		return false
	}
	r.cut, r.lost = 0, true
	return true
}

// take waits for a message to send.
func (r *fakeRouter) take(gone <-chan struct{}) (offered, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		select {
		case <-gone:
			return offered{}, false
		default:
		}
		if r.open == nil {
			return offered{}, false
		}
		if len(r.waiting) > 0 && !r.lost {
			o := r.waiting[0]
			r.waiting = r.waiting[1:]
			r.open[o.up.Transaction] = o
			return o, true
		}
		r.changed.Wait()
	}
}

// giveBack puts what was not answered in front again.
func (r *fakeRouter) giveBack(mine []offered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var again []offered
	for _, o := range mine {
		if _, open := r.open[o.up.Transaction]; open {
			delete(r.open, o.up.Transaction)
			again = append(again, o)
		}
	}
	r.waiting, r.lost = append(again, r.waiting...), false
	r.changed.Broadcast()
}

func (r *fakeRouter) readAnswers(conn net.Conn) {
	from := bufio.NewReader(conn)
	for {
		h, err := ws.ReadHeader(from)
		payload := make([]byte, min(h.Length, 1000))
		if err == nil {
			_, err = io.ReadFull(from, payload)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrUnexpectedEOF) {
				r.t.Logf("read answers: %v", err)
			}
			return
		}
		if !h.Masked {
			r.t.Errorf("a frame is not masked")
		}
		ws.Cipher(payload, h.Mask, 0)
		switch h.OpCode {
		case ws.OpClose:
			_ = ws.WriteFrame(conn, ws.NewCloseFrame(payload[:2]))
			conn.Close()
			return
		case ws.OpPong:
			if string(payload) != "are you there" {
				r.t.Errorf("pong %q", payload)
			}
			continue
		}
		var a message.Answer
		if err := message.ParseAnswer(payload, &a); err != nil {
			r.t.Errorf("answer %q: %v", payload, err)
			return
		}
		r.answered(&a)
	}
}

func (r *fakeRouter) answered(a *message.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, open := r.open[a.Transaction]
	if !open {
		r.t.Errorf("an answer to transaction %d, which is not open", a.Transaction)
		return
	}
	delete(r.open, a.Transaction)
	switch {
	case a.Reject != message.RejectNone:
		r.rejects[a.Reject]++
	case a.MIC == o.mic && a.DevEUI == o.up.DevEUIs[len(o.up.DevEUIs)-1]:
		r.right++
	default:
		r.wrong++
	}
}

// answers returns the counts once all of the messages are answered, or fails.
func (r *fakeRouter) answers() (right, wrong int, rejects map[message.Reject]int) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) > 0 || len(r.waiting) > 0 {
		r.t.Errorf("%d messages are not answered, %d not sent", len(r.open), len(r.waiting))
	}
	return r.right, r.wrong, r.rejects
}

// generate and run are a generator and a sink that have to work.
func generate(t *testing.T, c gen.Config) *gen.Result {
	t.Helper()
	r, err := gen.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(ctx context.Context, t *testing.T, c Config) *Result {
	t.Helper()
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// within is a context that ends long after a test should have.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
