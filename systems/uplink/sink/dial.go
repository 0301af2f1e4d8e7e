package sink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/gobwas/ws"

	"contend/websocket"
)

// ErrUnauthorized is returned when the server does not know the token.
var ErrUnauthorized = errors.New("sink: unauthorized: the server refused the token")

// dialTimeout bounds connecting and the handshake.
const dialTimeout = 10 * time.Second

// dial opens a connection.
func (c *Config) dial(ctx context.Context, mask *rand.ChaCha8) (*connection, error) {
	d := ws.Dialer{Timeout: dialTimeout, NetDial: c.Dial,
		WrapConn: func(conn net.Conn) net.Conn { return &websocket.Client{Conn: conn} }}
	target := c.URL
	if c.Token != "" {
		d.Header = ws.HandshakeHeaderHTTP(http.Header{"Authorization": {"Bearer " + c.Token}})
		u, err := url.Parse(target)
		if err != nil {
			return nil, err
		}
		query := u.Query()
		query.Set("access_token", c.Token)
		u.RawQuery = query.Encode()
		target = u.String()
	}
	conn, early, _, err := d.Dial(ctx, target)
	if err != nil {
		return nil, dialError(err)
	}
	var first []byte
	if early != nil {
		first, _ = early.Peek(early.Buffered())
	}
	l := newConnection(conn, first, mask)
	if early != nil {
		ws.PutReader(early)
	}
	return l, nil
}

func dialError(err error) error {
	if status, ok := errors.AsType[ws.StatusError](err); ok && int(status) == http.StatusUnauthorized {
		return ErrUnauthorized
	}
	return fmt.Errorf("sink: connect: %w", err)
}
