package ws

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"contend/websocket"
)

// keep is how much memory a connection keeps for inflating.
const keep = 64 << 10

// next reads the next message and inflates it. The data is valid until the next.
func (c *conn) next() (*websocket.Message, error) {
	for {
		m, err := c.reader.Next()
		switch {
		case err != nil:
			return m, protocolError("%w", err)
		case m == nil:
			if _, err := c.reader.Fill(); err != nil {
				return m, readError(err)
			}
		case m.Op.IsControl():
			if err := c.control(m.Op, m.Data); err != nil {
				return m, err
			}
		case m.Compressed:
			m.Data, err = c.inflate(m)
			return m, err
		default:
			return m, nil
		}
	}
}

func (c *conn) inflate(m *websocket.Message) ([]byte, error) {
	if cap(c.plain) > keep {
		c.plain = nil
	}
	var err error
	if c.plain, err = inflate(c.plain[:0], m.Data, c.target.config.MaxMessage); err != nil {
		return nil, err
	}
	if m.Op == ws.OpText && !utf8.Valid(c.plain) {
		return nil, protocolError("a text that is not UTF-8")
	}
	return c.plain, nil
}

// readError says that the connection failed.
func readError(err error) error {
	if err == io.EOF {
		return fmt.Errorf("closed without a close frame: %w", err)
	}
	return err
}
