package message

import "strconv"

// A Generation is one of the two forms of a customer's stream. Its methods append
// messages to dst, and read one from data, which they do not keep.
type Generation uint8

const (
	// A is JSON over two streams, which customers' clients speak. The package's
	// functions are its.
	A Generation = iota
	// B is protobuf over one stream, by uplink.proto. It is experimental: its field
	// numbers are ours. It knows neither Outdated nor FHSS, whose radio is left out;
	// RSSI is rounded, the deviation and the SNR of FSK are missing, and a position
	// has 32 bits.
	B
)

// String returns the letter.
func (g Generation) String() string {
	switch g {
	case A:
		return "A"
	case B:
		return "B"
	}
	return "Generation(" + strconv.Itoa(int(g)) + ")"
}

// AppendUpstream appends an uplink for a customer.
func (g Generation) AppendUpstream(dst []byte, u *Upstream) []byte {
	if g == B {
		return appendUpstreamB(dst, u)
	}
	return AppendUpstream(dst, u)
}

// ParseUpstream reads an uplink into u, as the function of that name.
func (g Generation) ParseUpstream(data []byte, u *Upstream) error {
	if g == B {
		return parseUpstreamB(data, u)
	}
	return ParseUpstream(data, u)
}

// AppendAnswer appends a customer's answer to an uplink.
func (g Generation) AppendAnswer(dst []byte, a *Answer) []byte {
	if g == B {
		return appendAnswerB(dst, a)
	}
	return AppendAnswer(dst, a)
}

// ParseAnswer reads a customer's answer into a, as the function of that name.
func (g Generation) ParseAnswer(data []byte, a *Answer) error {
	if g == B {
		return parseAnswerB(data, a)
	}
	return ParseAnswer(data, a)
}

// AppendDownstream appends a customer's downlink.
func (g Generation) AppendDownstream(dst []byte, d *Downstream) []byte {
	if g == B {
		return appendDownstreamB(dst, d)
	}
	return AppendDownstream(dst, d)
}

// ParseDownstream reads a customer's downlink.
func (g Generation) ParseDownstream(data []byte) (*Downstream, error) {
	if g == B {
		return parseDownstreamB(data)
	}
	return ParseDownstream(data)
}

// AppendDownstreamAck appends the first reply to a downlink.
func (g Generation) AppendDownstreamAck(dst []byte, a *DownstreamAck) []byte {
	if g == B {
		return appendDownstreamAckB(dst, a)
	}
	return AppendDownstreamAck(dst, a)
}

// AppendDownstreamResult appends the second reply to a downlink.
func (g Generation) AppendDownstreamResult(dst []byte, r *DownstreamResult) []byte {
	if g == B {
		return appendDownstreamResultB(dst, r)
	}
	return AppendDownstreamResult(dst, r)
}

// ParseDownstreamReply reads either reply, as the function of that name.
func (g Generation) ParseDownstreamReply(data []byte) (DownstreamAck, *DownstreamResult, error) {
	if g == B {
		return parseDownstreamReplyB(data)
	}
	return ParseDownstreamReply(data)
}
