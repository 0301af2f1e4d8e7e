package h2

import "encoding/binary"

// preface begins a client's connection (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The types of frames (RFC 9113, section 6).
const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePush         = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9
)

// The flags of frames. An acknowledgement and the end of a stream share a bit.
const (
	flagEnd        = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// The settings that either side looks at (RFC 9113, section 6.5.2).
const (
	settingTableSize     = 1
	settingPush          = 2
	settingStreams       = 3
	settingWindow        = 4
	settingFrameSize     = 5
	settingHeaderSize    = 6
	settingBytes         = 6
	defaultWindow        = 1<<16 - 1
	maxWindow            = 1<<31 - 1
	maxStreamID          = 1<<31 - 1
	maxPeerFrame         = 1<<24 - 1
	frameHeaderBytes     = 9
	maxFrameBytes        = 1 << 14 // of either side, unless it asks for more; nobody does
	priorityBytes        = 5
	streamOffset         = 5 // of the stream's number in a frame
	streamMask           = 1<<31 - 1
	codeBytes, pingBytes = 4, 8
)

// A frameHeader precedes each frame's payload.
type frameHeader struct {
	length int
	kind   byte
	flags  byte
	stream uint32
}

func parseFrameHeader(p []byte) frameHeader {
	return frameHeader{
		length: int(p[0])<<16 | int(p[1])<<8 | int(p[2]),
		kind:   p[3],
		flags:  p[4],
		stream: binary.BigEndian.Uint32(p[streamOffset:]) & streamMask,
	}
}

func (h frameHeader) has(flag byte) bool { return h.flags&flag != 0 }

func appendFrameHeader(dst []byte, h frameHeader) []byte {
	dst = append(dst, byte(h.length>>16), byte(h.length>>8), byte(h.length), h.kind, h.flags)
	return binary.BigEndian.AppendUint32(dst, h.stream)
}

func appendSetting(dst []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, id), value)
}

func appendWindowUpdate(dst []byte, stream uint32, credit int) []byte {
	dst = appendFrameHeader(dst, frameHeader{length: codeBytes, kind: frameWindow, stream: stream})
	return binary.BigEndian.AppendUint32(dst, uint32(credit))
}

func appendReset(dst []byte, stream, code uint32) []byte {
	dst = appendFrameHeader(dst, frameHeader{length: codeBytes, kind: frameReset, stream: stream})
	return binary.BigEndian.AppendUint32(dst, code)
}

// appendHeaders writes a header block, in several frames if it is long.
func appendHeaders(dst []byte, stream uint32, block []byte, ends bool) []byte {
	h := frameHeader{kind: frameHeaders, stream: stream}
	if ends {
		h.flags = flagEnd
	}
	for {
		h.length = min(len(block), maxFrameBytes)
		if h.length == len(block) {
			h.flags |= flagEndHeaders
		}
		dst = append(appendFrameHeader(dst, h), block[:h.length]...)
		block = block[h.length:]
		if len(block) == 0 {
			return dst
		}
		h.kind, h.flags = frameContinuation, 0
	}
}

// appendData writes a part of a body that fits one frame.
func appendData(dst []byte, stream uint32, body []byte, ends bool) []byte {
	h := frameHeader{length: len(body), kind: frameData, stream: stream}
	if ends {
		h.flags = flagEnd
	}
	return append(appendFrameHeader(dst, h), body...)
}
