package grpc

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"contend/h2"
)

// prefixBytes precede each message: a flag and a length.
const prefixBytes = 5

// An answer is what has arrived of one call's answer.
type answer struct {
	begun    time.Time // only if there is a timeout
	prefix   [prefixBytes]byte
	have     int // bytes of the prefix
	left     int // bytes of the message that are to come
	messages int
	size     int64 // of the message
	ended    bool  // with trailers, and so with a status:
	code     int
	detail   []byte // its message, if it was not expected
}

func (a *answer) reset(now time.Time) { *a = answer{begun: now, detail: a.detail[:0]} }

// take counts messages and passes the parts to keep, unless that is nil. There must be exactly one message.
func (a *answer) take(p []byte, maxMessage int, keep func(part []byte)) error {
	for len(p) > 0 {
		if a.left > 0 {
			n := min(a.left, len(p))
			if keep != nil {
				keep(p[:n])
			}
			a.left -= n
			p = p[n:]
			continue
		}
		n := copy(a.prefix[a.have:], p)
		a.have += n
		p = p[n:]
		if a.have == prefixBytes {
			if err := a.begin(maxMessage); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins a message.
func (a *answer) begin(maxMessage int) error {
	length := int64(binary.BigEndian.Uint32(a.prefix[1:]))
	switch {
	case a.prefix[0] != 0:
		return errPacked
	case length > int64(maxMessage):
		return fmt.Errorf("%w: %d bytes, and %d are allowed", errLarge, length, maxMessage)
	case a.messages > 0:
		return errMany
	}
	a.have, a.left = 0, int(length)
	a.messages++
	a.size = length
	return nil
}

// end reads the status, and its message if it is not the expected one. Trailers
// without a status mean UNKNOWN.
func (a *answer) end(h *h2.Header, expect int) error {
	var message []byte
	a.ended, a.code = true, int(codes.Unknown)
	for i := range h.Len() {
		name, value := h.Field(i)
		switch string(name) {
		case "grpc-status":
			var ok bool
			if a.code, ok = parseCode(value); !ok {
				return foreign("grpc-status %.40q is not a number", value)
			}
		case "grpc-message":
			message = value
		}
	}
	if a.code != expect {
		a.detail = appendMessage(a.detail[:0], message, maxDetail)
	}
	return nil
}

func parseCode(value []byte) (code int, ok bool) {
	if len(value) == 1 && value[0] >= '0' && value[0] <= '9' {
		return int(value[0] - '0'), true
	}
	n, err := strconv.ParseUint(string(value), 10, 31)
	return int(n), err == nil
}

// judge returns why a complete answer is invalid.
func (a *answer) judge(timed bool) error {
	switch {
	case a.have > 0 || a.left > 0:
		return errCut
	case !a.ended:
		return errNoStatus
	case timed && a.code == int(codes.DeadlineExceeded):
		return errExceeded
	case a.code == int(codes.OK) && a.messages == 0:
		return errEmpty
	}
	return nil
}

// appendMessage decodes the beginning of a percent-encoded grpc-message, at most so many bytes. Invalid
// escapes stay as they are.
func appendMessage(dst, message []byte, most int) []byte {
	for i := 0; i < len(message) && len(dst) < most; i++ {
		if message[i] == '%' && i+2 < len(message) {
			if b, err := strconv.ParseUint(string(message[i+1:i+3]), 16, 8); err == nil {
				dst = append(dst, byte(b))
				i += 2
				continue
			}
		}
		dst = append(dst, message[i])
	}
	return dst
}
