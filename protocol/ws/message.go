package ws

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"contend/protocol/jsonpath"
	"contend/setting"
	"contend/websocket"
)

// A message makes the frames that iterations send. It is not changed after New.
type message struct {
	op ws.OpCode
	// text is sent as it is, or as deflated by those connections that agreed on it.
	text, deflated []byte
	// With ids the message is before, the id, and after.
	byID          bool
	before, after []byte
}

func newMessage(c Config) (message, error) {
	m := message{
		op:   ws.OpText,
		text: bytes.Clone(c.Message),
		byID: c.Match == ByID,
	}
	if c.Binary {
		m.op = ws.OpBinary
	} else if !utf8.Valid(c.Message) {
		return m, c.Body.In(setting.At(&c, &c.Message)).Wrong("is not UTF-8, as text is: set binary")
	}
	if m.byID && c.IDPath != "" {
		return m, m.cut(c)
	}
	if c.Compress {
		m.deflated = deflate(nil, m.text)
	}
	return m, nil
}

// cut finds the place of the id.
func (m *message) cut(c Config) error {
	data := c.Body.In(setting.At(&c, &c.Message))
	p, err := jsonpath.Parse(c.IDPath)
	if err != nil {
		return setting.At(&c, &c.IDPath).About(err)
	}
	if !json.Valid(m.text) {
		return data.Wrong("is %.40q, which is not JSON, as id_path %q needs it", m.text, c.IDPath)
	}
	value, ok := p.Find(m.text)
	if !ok {
		return data.Wrong("is %.40q, which has nothing at id_path %q", m.text, c.IDPath)
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

// append appends the frame of the message with the id to out and returns its
// length.
func (m *message) append(out *outbox, id uint64, deflated bool) int64 {
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
	return out.append(m.op, deflated, payload)
}

// An outbox collects the frames that are to be written next.
type outbox struct {
	frames       []byte
	text, packed []byte
}

// append appends a frame and returns its length.
func (o *outbox) append(op ws.OpCode, deflated bool, payload []byte) int64 {
	before := len(o.frames)
	o.frames = websocket.AppendMasked(o.frames, op, deflated, payload, rand.Uint32())
	return int64(len(o.frames) - before)
}
