package message

import (
	"encoding/binary"
	"math"
)

// The fields are those of uplink.proto.

// The variants of FromLNS and of FromRAN.
const (
	lnsAck, lnsReject, lnsDownstream, lnsMulticast = 1, 2, 3, 4
	ranUpstream, ranDownstreamAck, ranResult       = 1, 2, 3
)

// beginB starts a message in its wrapper; every one of them has these two fields.
// It returns where the message starts.
func beginB(dst []byte, variant int, transaction uint64) ([]byte, int) {
	dst, start := openField(dst, variant)
	dst = appendNumber(dst, 1, 1)
	dst = append(appendTag(dst, 2, kindBytes), 16)
	dst = binary.BigEndian.AppendUint64(dst, 0)
	return binary.BigEndian.AppendUint64(dst, transaction), start
}

func appendUpstreamB(dst []byte, u *Upstream) []byte {
	dst, start := beginB(dst, ranUpstream, u.Transaction)
	dst = appendPacked(dst, 3, u.DevEUIs)
	dst = appendUpstreamRadio(dst, &u.Radio)
	dst = appendBytes(dst, 6, u.PHYNoMIC)
	if len(u.Challenge) > 0 {
		dst = binary.AppendUvarint(appendTag(dst, 7, kindBytes), uint64(4*len(u.Challenge)))
		for _, mic := range u.Challenge {
			dst = binary.LittleEndian.AppendUint32(dst, mic)
		}
	}
	if p := u.Position; p.known() {
		inner, at := openField(dst, 8)
		inner = appendFloat(inner, 1, float32(p.Latitude))
		inner = appendFloat(inner, 2, float32(p.Longitude))
		if p.HasAltitude && finite(float64(float32(p.Altitude))) {
			inner = binary.LittleEndian.AppendUint32(appendTag(inner, 3, kindFixed32), math.Float32bits(float32(p.Altitude)))
		}
		dst = closeField(inner, at)
	}
	return closeField(dst, start)
}

func appendUpstreamRadio(dst []byte, r *Radio) []byte {
	rssi := uint64(int64(math.Round(float64(r.RSSI)))) // -97 has ten bytes, as every negative int32
	if !finite(float64(r.RSSI)) || math.Abs(float64(r.RSSI)) > math.MaxInt32 {
		rssi = 0
	}
	switch r.Modulation {
	case LoRa:
		inner, at := openField(dst, 4)
		inner = appendNumber(inner, 1, uint64(r.Frequency))
		inner = appendNumber(inner, 2, uint64(r.Spreading))
		inner = appendNumber(inner, 3, uint64(r.Bandwidth))
		inner = appendNumber(inner, 4, rssi)
		inner = appendFloat(inner, 5, r.SNR)
		return closeField(inner, at)
	case FSK:
		inner, at := openField(dst, 5)
		inner = appendNumber(inner, 1, uint64(r.Frequency))
		inner = appendNumber(inner, 2, uint64(r.BitRate))
		inner = appendNumber(inner, 3, rssi)
		return closeField(inner, at)
	}
	return dst
}

func appendPacked[T ~uint64](dst []byte, field int, values []T) []byte {
	if len(values) == 0 {
		return dst
	}
	dst, start := openField(dst, field)
	for _, v := range values {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	return closeField(dst, start)
}

func appendAnswerB(dst []byte, a *Answer) []byte {
	if a.Reject == RejectNone {
		dst, start := beginB(dst, lnsAck, a.Transaction)
		dst = appendNumber(dst, 3, uint64(a.DevEUI))
		return closeField(appendNumber(dst, 4, uint64(a.MIC)), start)
	}
	dst, start := beginB(dst, lnsReject, a.Transaction)
	dst = appendNumber(dst, 3, uint64(a.Reject))
	return closeField(appendString(dst, 4, a.Text), start)
}

func appendDownstreamB(dst []byte, d *Downstream) []byte {
	if d.Multicast {
		dst, start := beginB(dst, lnsMulticast, d.Transaction)
		dst = appendNumber(dst, 3, uint64(d.Group))
		dst = appendWindow(dst, 4, d)
		return closeField(appendBytes(dst, 5, d.PHY), start)
	}
	dst, start := beginB(dst, lnsDownstream, d.Transaction)
	dst = appendNumber(dst, 3, uint64(d.DevEUI))
	if d.Target != nil {
		dst = binary.AppendUvarint(appendTag(dst, 4, kindVarint), uint64(*d.Target))
	}
	dst = appendWindow(dst, 5, d)
	return closeField(appendBytes(dst, 6, d.PHY), start)
}

func appendWindow(dst []byte, field int, d *Downstream) []byte {
	dst, start := openField(dst, field)
	dst = appendDownstreamRadio(dst, &d.Window.Radio)
	tmms, deadline := 4, 5
	if d.Multicast {
		tmms, deadline = 3, 4
	}
	switch w := &d.Window; {
	case w.Delay != 0:
		dst = appendNumber(dst, 3, uint64(w.Delay))
	case len(w.TMMS) > 0:
		inner, at := openField(dst, tmms)
		dst = closeField(appendPacked(inner, 1, w.TMMS), at)
	default:
		dst = appendNumber(dst, deadline, w.Deadline)
	}
	return closeField(dst, start)
}

func appendDownstreamRadio(dst []byte, r *Radio) []byte {
	power := uint64(int64(r.Power))
	switch r.Modulation {
	case LoRa:
		inner, at := openField(dst, 1)
		inner = appendNumber(inner, 1, uint64(r.Frequency))
		inner = appendNumber(inner, 2, uint64(r.Spreading))
		inner = appendNumber(inner, 3, uint64(r.Bandwidth))
		return closeField(appendNumber(inner, 4, power), at)
	case FSK:
		inner, at := openField(dst, 2)
		inner = appendNumber(inner, 1, uint64(r.Frequency))
		inner = appendNumber(inner, 2, uint64(r.FrequencyDeviation))
		inner = appendNumber(inner, 3, uint64(r.BitRate))
		return closeField(appendNumber(inner, 4, power), at)
	}
	return dst
}

func appendDownstreamAckB(dst []byte, a *DownstreamAck) []byte {
	dst, start := beginB(dst, ranDownstreamAck, a.Transaction)
	return closeField(appendNumber(dst, 3, a.Mailbox), start)
}

func appendDownstreamResultB(dst []byte, r *DownstreamResult) []byte {
	dst, start := beginB(dst, ranResult, r.Transaction)
	dst = appendNumber(dst, 3, uint64(r.Code))
	dst = appendString(dst, 4, r.Text)
	return closeField(appendNumber(dst, 5, r.Mailbox), start)
}
