package stream

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"

	"github.com/gobwas/ws"
)

// An endless source has uplinks for ever, and counts answers.
type endless struct {
	uplinks []message.Upstream
	answers int
}

func (e *endless) Take(_ context.Context, dst []message.Upstream, limit int) ([]message.Upstream, error) {
	return append(dst, e.uplinks[:min(limit, len(e.uplinks))]...), nil
}

func (e *endless) Answer(answers []message.Answer) { e.answers += len(answers) }
func (e *endless) Close()                          {}

// A discarding connection takes everything.
type discarding struct {
	net.Conn
	writes, bytes int
}

func (d *discarding) Write(p []byte) (int, error) {
	d.writes++
	d.bytes += len(p)
	return len(p), nil
}

func (d *discarding) SetWriteDeadline(time.Time) error { return nil }

func newEndless(challenge int) *endless {
	e := &endless{uplinks: make([]message.Upstream, maxTake)}
	for i := range e.uplinks {
		e.uplinks[i] = message.Upstream{Transaction: 1763738011223344556 + uint64(i), DevEUIs: []lorawan.EUI{device},
			Radio:    message.Radio{Frequency: 867_500_000, Spreading: 9, Bandwidth: 125_000, RSSI: -97, SNR: 4.75},
			PHYNoMIC: make([]byte, 17), Challenge: make([]uint32, challenge)}
	}
	return e
}

func newSpeedConn(challenge int) (*conn, *endless, *discarding) {
	c := newConn(New(Config{}), "a", Upstream, context.Background())
	source, out := newEndless(challenge), &discarding{}
	c.source, c.net = source, out
	c.writer.size, c.writer.stop = firstSize, func() {}
	c.writer.nextPing = time.Now().Add(time.Hour)
	return c, source, out
}

// Uplinks go out in writes of about 64 KiB, without an allocation, whatever their
// length.
func TestWritesInBatches(t *testing.T) {
	for _, challenge := range []int{2, 4096} {
		c, _, out := newSpeedConn(challenge)
		defer c.cancel()
		write := func() {
			if err := c.writeOnce(); err != nil {
				t.Fatal(err)
			}
		}
		write() // one, from which it learns their length
		before := *out
		if n := testing.AllocsPerRun(100, write); n > 0 {
			t.Errorf("%d entries: %v allocations", challenge, n)
		}
		each := (out.bytes - before.bytes) / (out.writes - before.writes)
		if each > buffer+buffer/10 || each < buffer/3 {
			t.Errorf("%d entries: %d bytes a write", challenge, each)
		}
	}
}

// answers are frames with n of them.
func answers(n int) []byte {
	return bytes.Repeat(frame(ws.OpText, true, message.AppendAnswer(nil,
		&message.Answer{Transaction: 1763738011223344556, DevEUI: device, MIC: 3726252033})), n)
}

// repeated is a network that brings the same bytes with every read.
type repeated []byte

func (r repeated) Read(p []byte) (int, error) { return copy(p, r), nil }

// The answers of one read are handed over in one call, without an allocation.
func TestAnswersInBatches(t *testing.T) {
	c, source, _ := newSpeedConn(2)
	defer c.cancel()
	const n = 400
	bytes := answers(n)
	c.reader = newReader(repeated(bytes), nil)
	calls := 0
	handle := func() {
		_, _ = c.reader.Fill() // it never fails
		frames, _, err := c.handle()
		if err != nil || frames != n {
			t.Fatal(frames, err)
		}
		calls++
	}
	handle()
	if allocs := testing.AllocsPerRun(100, handle); allocs > 0 || source.answers != n*calls {
		t.Errorf("%v allocations, %d answers in %d calls", allocs, source.answers, calls)
	}
}
