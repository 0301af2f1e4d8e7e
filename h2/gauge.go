package h2

// A Gauge tells how many bytes of one side of a connection belong to requests or answers: the frames that carry their
// headers and content, and none of those that keep the connection (settings, windows, pings). It takes the bytes in
// pieces of any size, from the connection's first on. The zero value is for what a server sends.
type Gauge struct {
	head   [frameHeaderBytes]byte
	known  int   // bytes of head
	left   int64 // of a payload, or of the preface, are still to come
	counts bool  // those
}

// ClientGauge is for what a client sends, which begins with the preface.
func ClientGauge() Gauge { return Gauge{left: int64(len(preface))} }

// Count returns how many of the next bytes belong to requests or answers. A frame's own head counts when it is whole.
func (g *Gauge) Count(b []byte) (n int64) {
	for len(b) > 0 {
		if g.left > 0 {
			part := min(g.left, int64(len(b)))
			g.left -= part
			b = b[part:]
			if g.counts {
				n += part
			}
			continue
		}
		taken := copy(g.head[g.known:], b)
		b = b[taken:]
		if g.known += taken; g.known < frameHeaderBytes {
			break
		}
		frame := parseFrameHeader(g.head[:])
		g.known, g.left = 0, int64(frame.length)
		if g.counts = frame.kind == frameData || frame.kind == frameHeaders || frame.kind == frameContinuation; g.counts {
			n += frameHeaderBytes
		}
	}
	return n
}
