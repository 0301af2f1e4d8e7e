package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/systems/uplink/message"

	"github.com/gobwas/ws"
)

// downlink is one as a customer sends it.
func downlink(transaction uint64) []byte {
	return fmt.Appendf(nil, `{"ProtocolVersion": 1, "TransactionID": %d, "DevEUI": %d, "PHYPayload": [96, 218, 27, 1],
		"TxWindow": {"Radio": {"Frequency": 867500000, "LoRa": {"Spreading": 9, "Bandwidth": 125000}}, "Delay": 1}}`, transaction, device)
}

// A reply to a downlink; an acknowledgement has no code.
type reply struct {
	TransactionID, MailboxID  uint64
	ResultCode, ResultMessage string
}

func (c *client) reply() (r reply) {
	c.t.Helper()
	c.must(json.Unmarshal(c.next(), &r))
	return r
}

// A mailbox collects what a service was asked to send.
type mailbox struct {
	mu      sync.Mutex
	got     []*message.Downstream
	from    []string
	replies []Replier
}

func (m *mailbox) downlink(_ context.Context, customer string, d *message.Downstream, reply Replier) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got, m.from, m.replies = append(m.got, d), append(m.from, customer), append(m.replies, reply)
}

// wait returns the nth downlink.
func (m *mailbox) wait(t *testing.T, n int) (*message.Downstream, string, Replier) {
	t.Helper()
	eventually(t, "a downlink", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.got) > n
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.got[n], m.from[n], m.replies[n]
}

// A downlink gets its acknowledgement and then its result, on the connection that
// it came on, also if the service takes its time.
func TestDownstream(t *testing.T) {
	var box mailbox
	s := newService(t, Config{Downlink: box.downlink})
	other, c := s.open("/stream/downstream/", "a"), s.open("/stream/downstream/", "a")
	for i := range 3 {
		c.send(ws.OpText, downlink(uint64(i)+1))
		d, customer, to := box.wait(t, i)
		if d.Transaction != uint64(i)+1 || d.DevEUI != device || !slices.Equal(d.PHY, []byte{96, 218, 27, 1}) || d.Window.Delay != 1 || customer != "a" {
			t.Fatalf("%+v of %s", d, customer)
		}
		ack := message.DownstreamAck{Transaction: d.Transaction, Mailbox: 90017}
		result := message.DownstreamResult{Transaction: d.Transaction, Mailbox: 90017, Code: message.NoAck, Text: "no gateway answered"}
		c.must(errors.Join(to.Ack(ack), to.Result(result)))
		want := reply{TransactionID: d.Transaction, MailboxID: 90017}
		if got := c.reply(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		want.ResultCode, want.ResultMessage = "NoAck", "no gateway answered"
		if got := c.reply(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	_, _, reply := box.wait(t, 0)
	c.must(c.Close())
	eventually(t, "closed", func() bool { return s.Stats().Opened-s.Stats().Closed[1006] == 1 })
	if err := reply.Result(message.DownstreamResult{Transaction: 1, Mailbox: 1, Text: "late"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	other.send(ws.OpPing, []byte("nothing else came"))
	if op, data, err := other.frame(); err != nil || op != ws.OpPong {
		t.Error(op, data, err)
	}
	if got := s.Stats(); got.Downlinks != 3 || got.Replies != 6 || got.LostReplies != 1 {
		t.Errorf("%+v", got)
	}
}

// A customer that sends downlinks and reads no replies is not read any further:
// what waits for it is bounded, and complete once it reads.
func TestRepliesNotRead(t *testing.T) {
	text := strings.Repeat("x", 10_000)
	answer := func(_ context.Context, _ string, d *message.Downstream, reply Replier) {
		_ = reply.Ack(message.DownstreamAck{Transaction: d.Transaction, Mailbox: 1})
		_ = reply.Result(message.DownstreamResult{Transaction: d.Transaction, Mailbox: 1, Text: text})
	}
	inBubble(t, Config{Downlink: answer, PingEvery: time.Hour}, func(t *testing.T, s *service) {
		c := s.lasting("/stream/downstream/")
		const n = 500 // 10 kB of replies each
		go func() {
			for i := range n {
				_, _ = c.Write(frame(ws.OpText, true, downlink(uint64(i)+1))) // missed below
			}
		}()
		synctest.Wait()
		if got := s.Stats(); got.Replies == 0 || got.Replies > 2*(2*maxReplies/int64(len(text))+2) {
			t.Errorf("%d replies wait", got.Replies)
		}
		time.Sleep(30 * time.Second)
		for i := range n {
			ack, result := c.reply(), c.reply()
			if ack.TransactionID != uint64(i)+1 || ack.ResultCode != "" || result.TransactionID != uint64(i)+1 || result.ResultCode != "Success" {
				t.Fatal(i, ack, result)
			}
		}
		c.must(c.Close())
	})
}

// Results that go on to come for a customer that does not read end its
// connection.
func TestResultsNotRead(t *testing.T) {
	var box mailbox
	inBubble(t, Config{Downlink: box.downlink}, func(t *testing.T, s *service) {
		c := s.lasting("/stream/downstream/")
		c.send(ws.OpText, downlink(1))
		_, _, reply := box.wait(t, 0)
		text := strings.Repeat("x", 10_000)
		sent := 0
		for reply.Result(message.DownstreamResult{Transaction: 1, Mailbox: 1, Text: text}) == nil {
			sent++
		}
		if got := sent * len(text); got < farTooMany-maxReplies || got > 2*farTooMany+maxReplies { // the writer holds as many
			t.Errorf("%d bytes waited", got)
		}
		c.must(c.Close())
		synctest.Wait()
		if got := s.Stats().Closed; got[1013] != 1 {
			t.Error(got)
		}
	})
}

// While a downlink is being handed over, the end of its connection is noticed,
// and nothing is read after it.
func TestDownlinkHangs(t *testing.T) {
	inBubble(t, Config{Downlink: func(ctx context.Context, _ string, _ *message.Downstream, _ Replier) { <-ctx.Done() }},
		func(t *testing.T, s *service) {
			c := s.lasting("/stream/downstream/")
			one := frame(ws.OpText, true, downlink(1))
			c.raw(append(one, one...))
			c.must(c.Close())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if got := s.Stats(); got.Downlinks != 1 {
				t.Errorf("%+v", got)
			}
		})
}

// A mistake in the service is reported, and leaves nothing behind.
func TestPanic(t *testing.T) {
	s := newService(t, Config{Downlink: func(context.Context, string, *message.Downstream, Replier) { panic(http.ErrAbortHandler) }})
	c := s.open("/stream/downstream/", "a")
	c.send(ws.OpBinary, downlink(1))
	for op := ws.OpBinary; op != ws.OpClose; {
		var data []byte
		var err error
		op, data, err = c.frame()
		c.must(err)
		if code, reason := ws.ParseCloseFrameData(data); code != 1011 {
			t.Error(code, reason)
		}
	}
	eventually(t, "the connection is gone", func() bool { return s.Stats().Open[Downstream] == 0 })
}
