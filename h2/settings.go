package h2

import "encoding/binary"

// settings applies what the server wants (RFC 9113, section 6.5).
func (c *Conn) settings(h frameHeader, p []byte) error {
	if h.stream != 0 || len(p)%settingBytes != 0 || h.has(flagAck) && len(p) > 0 {
		return wrongSize(h)
	}
	if h.has(flagAck) {
		return nil
	}
	if !c.greeted {
		c.greeted = true
		c.maxOpen = len(c.streams)
	}
	for ; len(p) > 0; p = p[settingBytes:] {
		id, value := binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])
		if !c.set(id, value) {
			return protocolError("setting %d is %d", id, value)
		}
	}
	if err := c.reply(frameHeader{kind: frameSettings, flags: flagAck}, nil); err != nil {
		return err
	}
	c.beginWaiting()
	c.resume()
	return nil
}

// set applies one setting and reports whether its value is allowed.
func (c *Conn) set(id uint16, value uint32) bool {
	switch id {
	case settingTableSize:
		if value < tableSize && !c.noTable {
			c.noTable, c.shrink, c.indexed = true, true, nil
		}
	case settingPush:
		return value == 0
	case settingStreams:
		c.maxOpen = int(min(value, uint32(len(c.streams))))
	case settingWindow:
		return value <= maxWindow && c.resizeWindows(int64(value))
	case settingFrameSize:
		return value >= maxFrameBytes && value <= maxPeerFrame
	}
	return true
}

// resizeWindows gives all streams another first window, also those that were
// opened with the old one: theirs may become negative (RFC 9113, section 6.9.2).
func (c *Conn) resizeWindows(first int64) bool {
	change := first - c.firstWindow
	c.firstWindow = first
	for i := range c.streams {
		s := &c.streams[i]
		if s.id == 0 {
			continue
		}
		if s.window += change; s.window > maxWindow {
			return false
		}
	}
	return true
}

// resume sends bodies that were held back by a window of whatever kind.
func (c *Conn) resume() {
	if c.unsent > 0 {
		c.sendAll()
	}
}

func (c *Conn) ping(h frameHeader, p []byte) error {
	switch {
	case h.stream != 0 || len(p) != pingBytes:
		return wrongSize(h)
	case h.has(flagAck):
		return nil
	}
	return c.reply(frameHeader{length: pingBytes, kind: framePing, flags: flagAck}, p)
}

// reply answers a frame, unless the server sends only such frames.
func (c *Conn) reply(h frameHeader, p []byte) error {
	if c.replies++; c.replies > maxReplies {
		return errFlood
	}
	c.out = append(appendFrameHeader(c.out, h), p...)
	return nil
}

// windowUpdate opens the window of the connection or of a stream.
func (c *Conn) windowUpdate(h frameHeader, p []byte) error {
	if len(p) != codeBytes {
		return wrongSize(h)
	}
	credit := int64(binary.BigEndian.Uint32(p) & streamMask)
	if h.stream == 0 {
		if c.window += credit; credit == 0 || c.window > maxWindow {
			return protocolError("the connection's window grows by %d", credit)
		}
		c.resume()
		return nil
	}
	if err := c.checkStream(h); err != nil {
		return err
	}
	slot := c.slotOf(h.stream)
	if slot < 0 {
		return nil
	}
	s := &c.streams[slot]
	if s.window += credit; credit == 0 || s.window > maxWindow {
		c.fail(slot, codeProtocol, protocolError("a stream's window grows by %d", credit))
		return nil
	}
	if len(s.body) > 0 {
		c.send(s)
	}
	return nil
}
