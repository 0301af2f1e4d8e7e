package message

import (
	"encoding/binary"
	"math"
	"time"
)

// A Stamp is what the load generator tells the load sink in the payload of an
// uplink: 8 bytes of nanoseconds since the epoch, little-endian, and then, where a
// rate is kept, 4 bytes of microseconds.
type Stamp struct {
	At time.Time // of creation or, where a rate is kept, the due time
	// Lag is how much later than At the uplink was sent, up to 71 minutes; HasLag
	// says that it is known.
	Lag    time.Duration
	HasLag bool
}

const (
	stampSize    = 8
	lagStampSize = 12
	endStamp     = math.MaxUint64
)

// Append appends the payload.
func (s Stamp) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.At.UnixNano()))
	if s.HasLag {
		lag := min(max(0, s.Lag.Microseconds()), math.MaxUint32)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(lag))
	}
	return dst
}

// AppendEndMarker appends the payload of the last uplink of a load: eight ff bytes, and four of the time, without
// which that of an equal load soon after would be a copy.
func AppendEndMarker(dst []byte, at time.Time) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, endStamp)
	return binary.LittleEndian.AppendUint32(dst, uint32(at.UnixMicro()))
}

// IsStamp reports whether a payload of so many bytes can be a stamp or an end marker.
func IsStamp(size int) bool { return size == stampSize || size == lagStampSize }

// ParseStamp reads a payload for whose size IsStamp is true. end is true if it is
// the end marker.
func ParseStamp(payload []byte) (s Stamp, end bool) {
	at := binary.LittleEndian.Uint64(payload)
	s.At = time.Unix(0, int64(at))
	if s.HasLag = len(payload) == lagStampSize; s.HasLag {
		s.Lag = time.Duration(binary.LittleEndian.Uint32(payload[stampSize:])) * time.Microsecond
	}
	return s, at == endStamp
}
