package redis

import (
	"bytes"
	"errors"
	"strconv"
)

// maxReply bounds one value of a peer, in bytes and in elements. The longest that
// Redis sends us is the map of a cluster.
const maxReply = 1 << 20

// errProtocol ends a connection before rueidis uses a wrong reply: one reply more
// than there were commands would be taken for the reply to the next, or end the
// process.
var errProtocol = errors.New("not what Redis may say")

// Frames count the values in a stream of Redis' protocol, commands or answers, which
// comes in pieces of any size (redis.io/docs/latest/develop/reference/protocol-spec).
// The zero value is at the start of a stream.
type frames struct {
	line [24]byte // of the line that is being read, as much as a number needs
	have int      // bytes of it

	skip    int  // bytes left of a string
	pending int  // elements left of the value; 0 between values
	size    int  // bytes of the value so far
	push    bool // the value answers nothing
}

// feed returns how many values end in p.
func (f *frames) feed(p []byte) (ended int, err error) {
	for len(p) > 0 {
		n := f.skip
		if n == 0 {
			n = bytes.IndexByte(p, '\n') + 1
		}
		whole := n > 0 && n <= len(p)
		if !whole {
			n = len(p)
		}
		if f.size += n; f.size > maxReply {
			return ended, errProtocol
		}
		if f.take(p[:n], whole) {
			ended++
		}
		if f.pending < 0 {
			return ended, errProtocol
		}
		p = p[n:]
	}
	return ended, nil
}

// take takes a piece of a string or of a line, whole if it reaches to the end, and
// reports whether the value ends there. Afterwards pending is negative if it must not.
func (f *frames) take(piece []byte, whole bool) bool {
	if f.skip > 0 {
		f.skip -= len(piece)
		return f.skip == 0 && f.end(0)
	}
	f.have += copy(f.line[f.have:], piece)
	if !whole {
		return false
	}
	line := f.line[:f.have]
	f.have = 0
	return f.header(line)
}

// header reads the line that begins an element.
func (f *frames) header(line []byte) bool {
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return f.end(0)
	}
	n, err := strconv.Atoi(string(bytes.TrimRight(line[1:], "\r\n")))
	if err != nil || n < -1 || n > maxReply {
		return f.fail()
	}
	switch line[0] {
	case '$', '=', '!':
		if n >= 0 {
			f.skip = n + len("\r\n")
			return false
		}
		return f.end(0)
	case '%':
		return f.end(2 * max(n, 0))
	case '>':
		f.push = f.push || f.pending == 0
		return f.end(max(n, 0))
	case '*', '~':
		return f.end(max(n, 0))
	}
	return f.fail()
}

// end ends an element which contains others, and reports whether the value ends with it.
func (f *frames) end(inside int) bool {
	f.pending = max(f.pending-1, 0) + inside
	if f.pending > maxReply/len("_\r\n") {
		return f.fail()
	}
	if f.pending > 0 {
		return false
	}
	answers := !f.push
	f.size, f.push = 0, false
	return answers
}

func (f *frames) fail() bool {
	f.pending = -1
	return false
}
