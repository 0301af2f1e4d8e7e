package websocket

import (
	"bytes"
	"net"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxHandshake is how many bytes of a handshake's response are looked at.
const maxHandshake = 32 << 10

// A Client is a connection over which a client of package ws shakes hands. The package accepts one
// form of the response alone, "Connection: Upgrade" and "Upgrade: websocket", and gets this one where
// the fields are lists that hold these tokens (RFC 6455, section 4.1). Informational responses before
// it are left out. All other bytes are as they came.
type Client struct {
	net.Conn
	head []byte // read, and still to be given out
	done bool   // the header has been seen
	err  error  // of the read that ended it
}

// Read reads the header of the response as a whole, and then what there is.
func (c *Client) Read(p []byte) (int, error) {
	for !c.done {
		c.readHead()
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	if err := c.err; err != nil {
		c.err = nil
		return 0, err
	}
	return c.Conn.Read(p)
}

// readHead reads once, and rewrites a header that is complete.
func (c *Client) readHead() {
	start := len(c.head)
	c.head = slices.Grow(c.head, 4<<10)
	n, err := c.Conn.Read(c.head[start:cap(c.head)])
	c.head, c.err = c.head[:start+n], err
	for !c.done {
		end := endOfHead(c.head)
		switch {
		case end == 0:
			c.done = err != nil || len(c.head) > maxHandshake
			return
		case isInformational(c.head):
			c.head = c.head[end:]
		default:
			c.head = append(plainHead(c.head[:end]), c.head[end:]...)
			c.done = true
		}
	}
}

// endOfHead returns where the empty line of a header ends; 0: it has not come.
func endOfHead(b []byte) int {
	for at := 0; ; {
		line := bytes.IndexByte(b[at:], '\n')
		if line < 0 {
			return 0
		}
		if rest := bytes.TrimSuffix(b[at:at+line], []byte{'\r'}); len(rest) == 0 {
			return at + line + 1
		}
		at += line + 1
	}
}

// isInformational reports whether a response only comes before another one: 1xx except 101.
func isInformational(head []byte) bool {
	_, status, _ := bytes.Cut(head[:min(len(head), len("HTTP/1.1 103"))], []byte{' '})
	return len(status) == 3 && status[0] == '1' && string(status) != "101"
}

// plainHead gives the lists of a header their plain form.
func plainHead(head []byte) []byte {
	plain := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket"}
	values := map[string][]string{}
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		values[key] = append(values[key], strings.TrimSpace(string(value)))
	}
	var out []byte
	given := map[string]bool{}
	for line := range bytes.Lines(head) {
		name, _, _ := bytes.Cut(line, []byte{':'})
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		token, listed := plain[key]
		switch {
		case !listed || !httpguts.HeaderValuesContainsToken(values[key], token):
			out = append(out, line...)
		case !given[key]:
			given[key] = true
			out = append(out, key+": "+token+"\r\n"...)
		}
	}
	return out
}
