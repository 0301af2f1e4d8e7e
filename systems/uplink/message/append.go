package message

import (
	"encoding/json"
	"math"
	"strconv"
)

// resultNames are the texts of the ResultCodes.
var resultNames = [...]string{"Success", "WindowNotFound", "GatewayNotFound", "TooLate", "NoAck", "GatewayError"}

// String returns the result as the stream writes it.
func (c ResultCode) String() string {
	if int(c) < len(resultNames) {
		return resultNames[c]
	}
	return "ResultCode(" + strconv.Itoa(int(c)) + ")"
}

// begin starts a message; every one of them has these two members.
func begin(dst []byte, transaction uint64) []byte {
	return appendUint(dst, `{"ProtocolVersion":1,"TransactionID":`, transaction)
}

// AppendUpstream appends an Upstream. Customers' clients give up
// their connection when the JSON is bad: so a signal strength that is not finite
// is written as 0, and a position that is not finite not at all.
func AppendUpstream(dst []byte, u *Upstream) []byte {
	dst = begin(dst, u.Transaction)
	if u.Outdated {
		dst = append(dst, `,"Outdated":true`...)
	}
	dst = appendArray(dst, `,"DevEUIs":`, u.DevEUIs)
	dst = append(dst, `,"Radio":`...)
	dst = appendRadio(dst, &u.Radio)
	dst = appendFloat32(dst, `,"RSSI":`, u.Radio.RSSI)
	dst = appendFloat32(dst, `,"SNR":`, u.Radio.SNR)
	dst = appendArray(dst, `},"PHYPayloadNoMIC":`, u.PHYNoMIC)
	dst = appendArray(dst, `,"MICChallenge":`, u.Challenge)
	if p := u.Position; p.known() {
		dst = appendPosition(dst, p)
	}
	return append(dst, '}')
}

// The functions below append a member: what precedes its value, and the value.

func appendUint(dst []byte, before string, n uint64) []byte {
	return strconv.AppendUint(append(dst, before...), n, 10)
}

func appendFloat(dst []byte, before string, f float64, bits int) []byte {
	return strconv.AppendFloat(append(dst, before...), f, 'g', -1, bits)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func appendFloat32(dst []byte, before string, f float32) []byte {
	if !finite(float64(f)) {
		f = 0
	}
	return appendFloat(dst, before, float64(f), 32)
}

func appendPosition(dst []byte, p *Position) []byte {
	dst = appendFloat(dst, `,"GPS":{"Lat":`, p.Latitude, 64)
	dst = appendFloat(dst, `,"Lng":`, p.Longitude, 64)
	if p.HasAltitude && finite(p.Altitude) {
		dst = appendFloat(dst, `,"Alt":`, p.Altitude, 64)
	}
	return append(dst, '}')
}

// appendRadio appends a Radio without its closing brace.
func appendRadio(dst []byte, r *Radio) []byte {
	dst = appendUint(dst, `{"Frequency":`, uint64(r.Frequency))
	switch r.Modulation {
	case FSK:
		dst = appendUint(dst, `,"FSK":{"FrequencyDeviation":`, uint64(r.FrequencyDeviation))
		dst = appendUint(dst, `,"BitRate":`, uint64(r.BitRate))
	case FHSS:
		dst = appendUint(dst, `,"FHSS":{"Ocw":`, uint64(r.ChannelWidth))
		dst = appendText(dst, `,"CodingRate":`, r.CodingRate)
	default:
		dst = appendUint(dst, `,"LoRa":{"Spreading":`, uint64(r.Spreading))
		dst = appendUint(dst, `,"Bandwidth":`, uint64(r.Bandwidth))
	}
	return append(dst, '}')
}

func appendArray[T ~uint8 | ~uint32 | ~uint64](dst []byte, before string, values []T) []byte {
	dst = append(append(dst, before...), '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v > math.MaxUint8 {
			dst = strconv.AppendUint(dst, uint64(v), 10)
		} else {
			dst = appendByte(dst, byte(v))
		}
	}
	return append(dst, ']')
}

// appendByte appends a number of up to three digits; most are those of a frame.
func appendByte(dst []byte, v byte) []byte {
	switch {
	case v >= 100:
		return append(dst, '0'+v/100, '0'+v/10%10, '0'+v%10)
	case v >= 10:
		return append(dst, '0'+v/10, '0'+v%10)
	}
	return append(dst, '0'+v)
}

func appendText(dst []byte, before, text string) []byte {
	dst = append(dst, before...)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // no string fails
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}

// AppendAnswer appends an UpstreamAck or an UpstreamReject.
func AppendAnswer(dst []byte, a *Answer) []byte {
	dst = begin(dst, a.Transaction)
	if a.Reject == RejectNone {
		dst = appendUint(dst, `,"DevEUI":`, uint64(a.DevEUI))
		dst = appendUint(dst, `,"MIC":`, uint64(a.MIC))
		return append(dst, '}')
	}
	code := "Other"
	if a.Reject == MICFailed {
		code = "MICFailed"
	}
	dst = appendText(dst, `,"ResultCode":`, code)
	if a.Text != "" {
		dst = appendText(dst, `,"ResultMessage":`, a.Text)
	}
	return append(dst, '}')
}

// AppendDownstreamAck appends a DownstreamAck.
func AppendDownstreamAck(dst []byte, a *DownstreamAck) []byte {
	dst = begin(dst, a.Transaction)
	dst = appendUint(dst, `,"MailboxID":`, a.Mailbox)
	return append(dst, '}')
}

// AppendDownstreamResult appends a DownstreamResult.
func AppendDownstreamResult(dst []byte, r *DownstreamResult) []byte {
	dst = begin(dst, r.Transaction)
	dst = appendUint(dst, `,"MailboxID":`, r.Mailbox)
	dst = appendText(dst, `,"ResultCode":`, r.Code.String())
	dst = appendText(dst, `,"ResultMessage":`, r.Text)
	return append(dst, '}')
}
