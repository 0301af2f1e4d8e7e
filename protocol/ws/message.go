package ws

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"contend/protocol/jsonpath"
)

// A message makes the frames that iterations send. It is not changed after New.
type message struct {
	header ws.Header
	// text is sent as it is, or as deflated by those connections that agreed on it.
	text, deflated []byte
	// With ids the message is before, the id, and after.
	byID          bool
	before, after []byte
}

func newMessage(c Config) (message, error) {
	m := message{
		header: ws.Header{Fin: true, OpCode: ws.OpText, Masked: true},
		text:   bytes.Clone(c.Message),
		byID:   c.Match == ByID,
	}
	if c.Binary {
		m.header.OpCode = ws.OpBinary
	} else if !utf8.Valid(c.Message) {
		return m, errors.New("ws: Message is not UTF-8: set Binary")
	}
	if m.byID {
		return m, m.cut(c.IDPath)
	}
	if c.Compress {
		m.deflated = deflate(nil, m.text)
	}
	return m, nil
}

// cut finds the place of the id.
func (m *message) cut(idPath string) error {
	p, err := jsonpath.Parse(idPath)
	if err != nil {
		return fmt.Errorf("ws: IDPath: %w", err)
	}
	if !json.Valid(m.text) {
		return fmt.Errorf("ws: Message %.40q is not JSON, which IDPath %q needs", m.text, idPath)
	}
	value, ok := p.Find(m.text)
	if !ok {
		return fmt.Errorf("ws: Message %.40q has nothing at IDPath %q", m.text, idPath)
	}
	start := cap(m.text) - cap(value) // value is a part of text
	end := start + len(value)
	if value[0] == '"' {
		start, end = start+1, end-1
	}
	m.before, m.after = m.text[:start:start], m.text[end:]
	return nil
}

// parseID reads an id as we send it: digits, in quotes or not.
func parseID(value []byte) (id uint64, ok bool) {
	if n := len(value); n > 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	if len(value) == 0 || len(value) > 19 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		id = id*10 + uint64(c-'0')
	}
	return id, true
}

// append appends the frame of the message with the id to out, masked by a fresh
// key (RFC 6455, section 5.3), and returns its length.
func (m *message) append(out *outbox, id uint64, deflated bool) int64 {
	h := m.header
	payload := m.text
	if m.byID {
		out.text = strconv.AppendUint(append(out.text[:0], m.before...), id, 10)
		out.text = append(out.text, m.after...)
		payload = out.text
		if deflated {
			out.packed = deflate(out.packed[:0], payload)
			payload = out.packed
		}
	} else if deflated {
		payload = m.deflated
	}
	if deflated {
		h.Rsv = ws.Rsv(true, false, false)
	}
	return out.append(h, payload)
}

// An outbox collects the frames that are to be written next.
type outbox struct {
	frames       bytes.Buffer
	scratch      [ws.MaxHeaderSize]byte
	text, packed []byte
}

// append appends a masked frame and returns its length.
func (o *outbox) append(h ws.Header, payload []byte) int64 {
	before := o.frames.Len()
	h.Masked, h.Length = true, int64(len(payload))
	key := rand.Uint32()
	h.Mask = [4]byte{byte(key), byte(key >> 8), byte(key >> 16), byte(key >> 24)}
	_ = ws.WriteHeaderBuffer(&o.frames, h, o.scratch[:]) // a bytes.Buffer takes everything
	begin := o.frames.Len()
	o.frames.Write(payload)
	ws.Cipher(o.frames.Bytes()[begin:], h.Mask, 0)
	return int64(o.frames.Len() - before)
}
