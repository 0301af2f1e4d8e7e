package ws

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"contend/load"
)

// Whatever comes, messages keep to the limit and the end is an error of a kind.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"\x81\x05hello", "\x01\x02he\x89\x00\x80\x03llo", "\x88\x02\x03\xe8", "\x82\x7e\x00\x80" + string(make([]byte, 128)),
		"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", "\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00", "\xaa\xaa\xaa", "\x01\x00\x00\x00\x00\x00"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	const limit = 1000
	f.Fuzz(func(t *testing.T, wire []byte, deflates bool) {
		r := reader{from: bufio.NewReaderSize(bytes.NewReader(wire), 64), limit: limit, deflates: deflates,
			now:     func() time.Duration { return 0 },
			control: func(op ws.OpCode, data []byte) error { return nil }}
		r.from = bufio.NewReaderSize(bytes.NewReader(wire), 256)
		var read int64
		for {
			m, err := r.next()
			if err != nil {
				if kind := load.KindOf(err); kind != load.Closed && kind != load.Protocol {
					t.Errorf("%v is of kind %s", err, kind)
				}
				return
			}
			read += m.wire
			if len(m.data) > limit || m.body > m.wire || read > int64(len(wire)) {
				t.Errorf("%d bytes of %d, %d read of %d", len(m.data), m.body, read, len(wire))
			}
		}
	})
}

func TestMessageMemoryFollowsTheBytes(t *testing.T) {
	promise := "\x82\x7f\x00\x00\x00\x00\x3f\xff\xff\xff" // 1 GiB − 1
	r := reader{from: bufio.NewReader(bytes.NewReader([]byte(promise + "abc"))), limit: 1 << 30,
		now: func() time.Duration { return 0 }}
	if _, err := r.next(); load.KindOf(err) != load.Closed {
		t.Error(err)
	}
	if cap(r.message) > 4*readBuffer {
		t.Errorf("%d bytes are held for 3", cap(r.message))
	}
}
