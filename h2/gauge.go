package h2

// A Gauge tells how many bytes of one side of a connection belong to requests or answers: the frames that carry their
// headers and content, and nothing that keeps the connection (settings, windows, pings, and changes of the size of the
// dynamic table, with which headers may begin). It takes the bytes in pieces of any size, from the connection's first
// on. The zero value is for what a server sends.
type Gauge struct {
	head   [frameHeaderBytes]byte
	known  int   // bytes of head
	left   int64 // of a payload, or of the preface, are still to come
	counts bool  // those
	resize resizing
}

// A resizing is where in headers a change of the table's size may be.
type resizing uint8

const (
	noResize  resizing = iota
	mayResize          // the next byte begins one, or a field
	inResize           // the next byte goes on with one
)

// ClientGauge is for what a client sends, which begins with the preface.
func ClientGauge() Gauge { return Gauge{left: int64(len(preface))} }

// Count returns how many of the next bytes belong to requests or answers. A frame's own head counts when it is whole.
func (g *Gauge) Count(b []byte) (n int64) {
	for len(b) > 0 {
		switch {
		case g.left > 0 && g.resizes(b[0]):
			g.left--
			b = b[1:]
		case g.left > 0:
			part := min(g.left, int64(len(b)))
			g.left -= part
			b = b[part:]
			if g.counts {
				n += part
			}
		default:
			taken := copy(g.head[g.known:], b)
			b = b[taken:]
			if g.known += taken; g.known == frameHeaderBytes {
				n += g.begin(parseFrameHeader(g.head[:]))
			}
		}
	}
	return n
}

// begin begins a frame, and returns how much of its head counts.
func (g *Gauge) begin(f frameHeader) int64 {
	g.known, g.left, g.resize = 0, int64(f.length), noResize
	g.counts = f.kind == frameData || f.kind == frameHeaders || f.kind == frameContinuation
	if f.kind == frameHeaders && f.flags&(flagPadded|flagPriority) == 0 {
		g.resize = mayResize
	}
	if !g.counts {
		return 0
	}
	return frameHeaderBytes
}

// resizes says of the next byte of a payload that it is part of a change of the table's size (RFC 7541, section 6.3).
func (g *Gauge) resizes(b byte) bool {
	switch {
	case g.resize == mayResize && b&0xe0 == 0x20:
		if b&0x1f == 0x1f {
			g.resize = inResize
		}
		return true
	case g.resize == inResize:
		if b&0x80 == 0 {
			g.resize = mayResize
		}
		return true
	}
	g.resize = noResize
	return false
}
