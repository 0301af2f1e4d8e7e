package stream

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
	"contend/systems/uplink/outbox"

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

func BenchmarkWrite(b *testing.B) {
	c, _, _ := newSpeedConn(2)
	defer c.cancel()
	b.ReportAllocs()
	for b.Loop() {
		_ = c.writeOnce() // discarded
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(c.server.Stats().Sent), "ns/uplink")
}

func BenchmarkHandle(b *testing.B) {
	c, source, _ := newSpeedConn(2)
	defer c.cancel()
	c.reader = newReader(repeated(answers(400)), nil)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.reader.Fill() // it never fails
		_, _, _ = c.handle()   // tested above
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(source.answers), "ns/answer")
}

// BenchmarkStream is the whole way over a socket, with the outbox and a client
// that finds transactions without parsing and answers what one read brought with
// one write.
func BenchmarkStream(b *testing.B) {
	const ahead = 20_000 // uplinks under way
	done := make(chan struct{})
	room := make(chan struct{}, ahead/256) // batches that may be put
	var answered atomic.Int64
	box := outbox.New(outbox.Config{Trust: outbox.TrustConfig{Start: 2}, Settled: func(u []*message.Uplink, _ outbox.Outcome) {
		before := answered.Add(int64(len(u))) - int64(len(u))
		for range (before+int64(len(u)))/256 - before/256 {
			<-room
		}
		if before+int64(len(u)) == int64(b.N) {
			close(done)
		}
	}})
	defer box.Close()
	s := newService(b, Config{Outbox: func(string) *outbox.Outbox { return box }})
	c := s.open("/stream/upstream/", "a")
	c.must(c.SetDeadline(time.Time{}))
	go answerAll(c.from, c.Conn)
	b.ReportAllocs()
	b.ResetTimer()
	uplink := &message.Uplink{PHY: []byte{0x40, 0xda, 0x1b, 1, 0x26, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4}}
	batch := slices.Repeat([]outbox.Message{{Uplink: uplink, Candidates: []outbox.Candidate{{DevEUI: device}}}}, 256)
	for n := 0; n < b.N; n += 256 {
		if n+256 <= b.N {
			room <- struct{}{}
		}
		box.Put(batch[:min(256, b.N-n)])
	}
	<-done
}

// answerAll answers uplinks of generation A, with a mask of zeros.
func answerAll(from *bufio.Reader, to io.Writer) {
	const begin, end = `{"ProtocolVersion":1,"TransactionID":`, `,"DevEUI":11249791761593666359,"MIC":16909060}`
	var out []byte
	scratch := make([]byte, ws.MaxHeaderSize)
	for {
		h, err := ws.ReadHeaderBuffer(from, scratch)
		if err != nil {
			return
		}
		data, err := from.Peek(int(h.Length))
		if err != nil {
			return
		}
		if text, ok := bytes.CutPrefix(data, []byte(begin)); ok {
			transaction := text[:bytes.IndexByte(text, ',')]
			out = append(out, 0x81, 0x80|byte(len(begin)+len(transaction)+len(end)), 0, 0, 0, 0)
			out = append(append(append(out, begin...), transaction...), end...)
		}
		_, _ = from.Discard(len(data)) // they have arrived
		if from.Buffered() > 0 {
			continue
		}
		if _, err := to.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}
