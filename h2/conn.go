// Package h2 is the client's side of HTTP/2 connections (RFC 9113) without
// I/O: requests become bytes to be sent, bytes received become calls of the
// streams' owner. It is made for load: requests are prebuilt, bodies of responses
// are passed on and not kept, nothing is allocated per stream.
//
// Memory for what a server sends is bounded: a header has at most 256 KiB, and
// replies to its frames are limited between two responses. A breach of HTTP/2 ends
// the stream or the connection with a *errkind.Error of kind Protocol.
//
// A Conn uses prior knowledge, accepts no pushed streams, and ignores priorities.
package h2

import "slices"

const (
	// window is the flow-control window of the connection and of each stream.
	// Nothing is kept of what arrives, so it may be large; half of it is given
	// back at a time.
	window     = 1<<30 - 1
	windowStep = 1 << 29
	// maxReplies is how many PING and SETTINGS frames are answered between two
	// streams that end well (RFC 9113, section 10.5).
	maxReplies = 10_000
)

// Streams own the streams of a connection, which they know by slots. Their
// methods are called during Conn.Receive and must not call the Conn.
type Streams interface {
	// Header takes the header of an answer, and its trailers if there are any.
	// ends says that nothing else follows. An error resets the stream.
	Header(slot int, h *Header, ends bool) error
	// Data takes a part of the body, valid during the call. An error resets the
	// stream.
	Data(slot int, p []byte) error
	// End says that the slot is free again: the answer is complete, or err, which
	// is that of Header or Data or has a *errkind.Error in its chain, says why there
	// will be none.
	End(slot int, err error)
}

// A Conn is a connection with a fixed number of slots; each has at most one
// stream at a time. One goroutine at a time may call its methods. They append
// what is to be sent to out and return it.
type Conn struct {
	owner   Streams
	streams []stream // by slot
	// recent is the slot of a stream, by the last bits of its number, as long as
	// no later stream has taken its place.
	recent  []int32
	waiting []int // slots held back, the first first
	out     []byte
	decoder decoder

	next    uint32 // number of the next stream
	open    int    // streams begun and not ended
	maxOpen int
	// window is what may be sent on the connection, firstWindow on a new stream.
	window, firstWindow int64
	unsent              int // streams with a body that is not sent yet
	turn                int // slot that sends first when the connection's window opens
	received            int // bytes not given back to the connection's window
	replies             int

	indexed  *Request // whose fields are in the server's dynamic table
	noTable  bool     // the server wants a smaller one than ours
	shrink   bool     // and was not told yet that we use none
	greeted  bool     // its SETTINGS have come
	goneAway bool
	inUse    bool // when the server went away
	ended    bool // a stream ended well by what arrived last
	carried  int  // streams that ended well
	parted   int  // how many the connection before carried, if the server ended it in use; 0 once that is reported

	receiver receiver
}

// A stream is what a slot holds; the zero value is a free slot.
type stream struct {
	request  *Request
	id       uint32 // 0: held back
	answered bool   // the header of the answer has come
	window   int64
	received int
	body     []byte // not sent yet
}

// NewConn returns a connection with so many slots. Open comes first.
func NewConn(slots int, owner Streams) *Conn {
	size := 1
	for size < 2*slots {
		size *= 2
	}
	return &Conn{owner: owner, streams: make([]stream, slots), recent: make([]int32, size)}
}

// Open begins a new connection and forgets the previous one.
func (c *Conn) Open(out []byte) []byte {
	if c.inUse {
		c.parted = c.carried
	}
	clear(c.streams)
	c.decoder.reset()
	*c = Conn{
		owner: c.owner, streams: c.streams, recent: c.recent, waiting: c.waiting[:0], decoder: c.decoder, parted: c.parted,
		next: 1, window: defaultWindow, firstWindow: defaultWindow,
		// Until the server has said how many streams it takes there is one.
		maxOpen:  1,
		receiver: receiver{partial: c.receiver.partial[:0], block: c.receiver.block[:0]},
	}
	out = append(out, preface...)
	out = appendFrameHeader(out, frameHeader{length: 3 * settingBytes, kind: frameSettings})
	out = appendSetting(out, settingPush, 0)
	out = appendSetting(out, settingWindow, window)
	out = appendSetting(out, settingHeaderSize, maxHeaderBytes)
	return appendWindowUpdate(out, 0, window-defaultWindow)
}

// Start sends a request on a free slot, or holds it back until the server
// takes another stream.
func (c *Conn) Start(out []byte, slot int, r *Request) []byte {
	c.streams[slot].request = r
	if c.open >= c.maxOpen {
		c.waiting = append(c.waiting, slot)
		return out
	}
	c.out = out
	c.begin(slot)
	return c.sent()
}

// Cancel gives a slot's stream up; the slot is free again and End is not
// called.
func (c *Conn) Cancel(out []byte, slot int) []byte {
	s := &c.streams[slot]
	switch {
	case s.request == nil:
		return out
	case s.id == 0:
		s.request = nil
		c.waiting = slices.DeleteFunc(c.waiting, func(other int) bool { return other == slot })
		return out
	}
	c.out = appendReset(out, s.id, codeCancel)
	c.release(slot)
	return c.sent()
}

// Greeted reports whether the server has sent its SETTINGS, with which it shows that it speaks HTTP/2.
func (c *Conn) Greeted() bool { return c.greeted }

// Draining reports that no request should be started any more: the server said
// that it will take none, or the numbers of streams are nearly used up.
func (c *Conn) Draining() bool {
	return c.goneAway || int(c.next) > maxStreamID-4*len(c.streams)
}

// Parted returns, once, how many requests the connection before this one carried if the server ended it by GOAWAY while
// it was in use: with streams open, or together with the end of one. Else 0, as for a connection that was idle for too long.
func (c *Conn) Parted() int {
	n := c.parted
	c.parted = 0
	return n
}

// sent returns what is to be sent and keeps no reference to it.
func (c *Conn) sent() []byte {
	out := c.out
	c.out = nil
	return out
}

// begin opens the stream of a slot.
func (c *Conn) begin(slot int) {
	s := &c.streams[slot]
	s.id, s.window = c.next, c.firstWindow
	c.recent[int(s.id>>1)&(len(c.recent)-1)] = int32(slot)
	c.next += 2
	c.open++
	r := s.request
	f := c.form(r)
	if n := int64(len(r.body)); f.frames != nil && !c.shrink && n <= min(c.window, s.window) {
		c.window -= n
		c.out = f.appendTo(c.out, s.id)
		return
	}
	block := f.block
	if c.shrink {
		block = append([]byte{0x20}, block...) // the dynamic table has size 0 from here
		c.shrink = false
	}
	c.out = appendHeaders(c.out, s.id, block, len(r.body) == 0)
	if s.body = r.body; len(s.body) > 0 {
		c.unsent++
		c.send(s)
	}
}

// form chooses how the header of r is written.
func (c *Conn) form(r *Request) *form {
	switch {
	case c.indexed == r:
		return &r.later
	case c.indexed == nil && !c.noTable && !r.rewritten:
		c.indexed = r
		return &r.first
	}
	return &r.plain
}

// send sends as much of a stream's body as the windows allow.
func (c *Conn) send(s *stream) {
	for len(s.body) > 0 {
		n := int(min(int64(len(s.body)), maxFrameBytes, c.window, s.window))
		if n <= 0 {
			return
		}
		c.window -= int64(n)
		s.window -= int64(n)
		c.out = appendData(c.out, s.id, s.body[:n], n == len(s.body))
		s.body = s.body[n:]
	}
	c.unsent--
}

// sendAll sends what the connection's window had held back, beginning with
// another stream each time.
func (c *Conn) sendAll() {
	for i := 0; i < len(c.streams) && c.unsent > 0 && c.window > 0; i++ {
		c.turn = (c.turn + 1) % len(c.streams)
		if s := &c.streams[c.turn]; len(s.body) > 0 {
			c.send(s)
		}
	}
}

// release frees the slot of a stream and begins one that was held back.
func (c *Conn) release(slot int) {
	if len(c.streams[slot].body) > 0 {
		c.unsent--
	}
	c.streams[slot] = stream{}
	c.open--
	c.beginWaiting()
}

func (c *Conn) beginWaiting() {
	n := 0
	for ; n < len(c.waiting) && c.open < c.maxOpen; n++ {
		c.begin(c.waiting[n])
	}
	c.waiting = c.waiting[:copy(c.waiting, c.waiting[n:])]
}

// slotOf returns the slot of an open stream, or -1.
func (c *Conn) slotOf(id uint32) int {
	if slot := int(c.recent[int(id>>1)&(len(c.recent)-1)]); c.streams[slot].id == id {
		return slot
	}
	return slices.IndexFunc(c.streams, func(s stream) bool { return s.id == id })
}
