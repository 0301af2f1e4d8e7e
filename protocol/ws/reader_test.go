package ws

import (
	"io"
	"net"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
)

// A deaf connection has nothing to say and takes everything.
type deaf struct{ net.Conn }

func (deaf) Read([]byte) (int, error)         { return 0, io.EOF }
func (deaf) Write(p []byte) (int, error)      { return len(p), nil }
func (deaf) SetWriteDeadline(time.Time) error { return nil }

// Whatever comes, messages keep to the limit, inflated or not, and the end is an
// error of a kind.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"\x81\x05hello", "\x01\x02he\x89\x00\x80\x03llo", "\x88\x02\x03\xe8", "\x82\x7e\x00\x80" + string(make([]byte, 128)),
		"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", "\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00", "\xaa\xaa\xaa", "\x01\x00\x00\x00\x00\x00"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	const limit = 1000
	f.Fuzz(func(t *testing.T, wire []byte, deflates bool) {
		target, err := New(Config{URL: "ws://host/", MaxMessage: limit})
		testenv.Must(t, err)
		c := newConn(target, deaf{}, wire, deflates)
		defer c.writers.Wait()
		var read int64
		for {
			m, err := c.next()
			if err != nil {
				if kind := errkind.Of(err); kind != errkind.Closed && kind != errkind.Protocol {
					t.Errorf("%v is of kind %s", err, kind)
				}
				return
			}
			read += m.Wire
			if len(m.Data) > limit || m.Body > m.Wire || read > int64(len(wire)) {
				t.Errorf("%d bytes of %d, %d read of %d", len(m.Data), m.Body, read, len(wire))
			}
		}
	})
}
