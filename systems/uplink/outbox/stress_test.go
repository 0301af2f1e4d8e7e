package outbox

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestManyConnections has connections come and go under load: each message is
// settled once, as answered, and at no moment do two connections hold it.
func TestManyConnections(t *testing.T) {
	const producers, each, conns = 3, 2000, 5
	var mu sync.Mutex
	settled := map[*message.Uplink]int{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := New(Config{
		Trust: TrustConfig{Start: 256},
		Settled: func(uplinks []*message.Uplink, outcome Outcome) {
			mu.Lock()
			defer mu.Unlock()
			for _, u := range uplinks {
				if settled[u]++; settled[u] > 1 || outcome != Answered {
					t.Errorf("settled %d times, now %v", settled[u], outcome)
				}
			}
			if len(settled) == producers*each {
				cancel()
			}
		},
	})
	defer o.Close()

	holders := &holders{by: map[uint64]int{}}
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() { comeAndGo(ctx, t, o, holders, i+1) })
	}
	for i := range producers {
		wg.Go(func() { produce(o, i, each) })
	}
	wg.Wait()
	if len(settled) != producers*each {
		t.Errorf("%d of %d settled", len(settled), producers*each)
	}
	if s := o.Stats(); s.Redelivered == 0 || s.Waiting+s.Unanswered+s.Bytes+s.Connections != 0 {
		t.Errorf("stats %+v", s)
	}
}

func produce(o *Outbox, producer, n int) {
	rng := rand.New(rand.NewPCG(uint64(producer), 1))
	for n > 0 {
		batch := make([]Message, min(n, 1+rng.IntN(40)))
		for i := range batch {
			mic := binary.BigEndian.AppendUint32(nil, rng.Uint32())
			phy := append(append(mic, 0, 0, 0, 0), mic...) // answers finds it in front
			eui := lorawan.EUI(rng.IntN(10))
			batch[i] = Message{Uplink: &message.Uplink{PHY: phy}, Candidates: []Candidate{{DevEUI: eui}, {DevEUI: 20 + eui}}}
		}
		o.Put(batch)
		n -= len(batch)
	}
}

// holders knows which connection holds which transaction.
type holders struct {
	mu sync.Mutex
	by map[uint64]int
}

func (h *holders) take(t *testing.T, conn int, messages []message.Upstream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range messages {
		if other := h.by[m.Transaction]; other != 0 {
			t.Errorf("connections %d and %d hold the same message", conn, other)
		}
		h.by[m.Transaction] = conn
	}
}

func (h *holders) release(messages []message.Upstream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range messages {
		delete(h.by, m.Transaction)
	}
}

// comeAndGo answers some messages and loses its connection now and then.
func comeAndGo(ctx context.Context, t *testing.T, o *Outbox, h *holders, id int) {
	rng := rand.New(rand.NewPCG(uint64(id), 2))
	for ctx.Err() == nil {
		c := o.Connect()
		var held []message.Upstream
		patience, cancel := context.WithTimeout(ctx, time.Millisecond)
		for range 1 + rng.IntN(10) {
			got, err := c.Take(patience, nil, 1+rng.IntN(100))
			if err != nil {
				break
			}
			h.take(t, id, got)
			keep := rng.IntN(len(got) + 1)
			h.release(got[keep:])
			c.Answer(answers(got[keep:]))
			held = append(held, got[:keep]...)
		}
		cancel()
		h.release(held)
		c.Close()
	}
}

func answers(messages []message.Upstream) []message.Answer {
	list := make([]message.Answer, len(messages))
	for i, m := range messages {
		mic := binary.BigEndian.Uint32(m.PHYNoMIC)
		list[i] = message.Answer{Transaction: m.Transaction, DevEUI: m.DevEUIs[i%2], MIC: mic}
	}
	return list
}
