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
	dst = append(dst, `{"ProtocolVersion":1,"TransactionID":`...)
	return strconv.AppendUint(dst, transaction, 10)
}

// AppendUpstream appends an Upstream. Customers' clients give up
// their connection when the JSON is bad: so a signal strength that is not finite
// is written as 0, and a position that is not finite not at all.
func AppendUpstream(dst []byte, u *Upstream) []byte {
	dst = begin(dst, u.Transaction)
	if u.Outdated {
		dst = append(dst, `,"Outdated":true`...)
	}
	dst = append(dst, `,"DevEUIs":`...)
	dst = appendArray(dst, u.DevEUIs)
	dst = append(dst, `,"Radio":`...)
	dst = appendRadio(dst, &u.Radio)
	dst = append(dst, `,"RSSI":`...)
	dst = appendFloat32(dst, u.Radio.RSSI)
	dst = append(dst, `,"SNR":`...)
	dst = appendFloat32(dst, u.Radio.SNR)
	dst = append(dst, `},"PHYPayloadNoMIC":`...)
	dst = appendArray(dst, u.PHYNoMIC)
	dst = append(dst, `,"MICChallenge":`...)
	dst = appendArray(dst, u.Challenge)
	if p := u.Position; p.known() {
		dst = appendPosition(dst, p)
	}
	return append(dst, '}')
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func appendFloat32(dst []byte, f float32) []byte {
	if !finite(float64(f)) {
		f = 0
	}
	return strconv.AppendFloat(dst, float64(f), 'g', -1, 32)
}

func appendPosition(dst []byte, p *Position) []byte {
	dst = append(dst, `,"GPS":{"Lat":`...)
	dst = strconv.AppendFloat(dst, p.Latitude, 'g', -1, 64)
	dst = append(dst, `,"Lng":`...)
	dst = strconv.AppendFloat(dst, p.Longitude, 'g', -1, 64)
	if p.HasAltitude && finite(p.Altitude) {
		dst = append(dst, `,"Alt":`...)
		dst = strconv.AppendFloat(dst, p.Altitude, 'g', -1, 64)
	}
	return append(dst, '}')
}

// appendRadio appends a Radio without its closing brace.
func appendRadio(dst []byte, r *Radio) []byte {
	dst = append(dst, `{"Frequency":`...)
	dst = strconv.AppendUint(dst, uint64(r.Frequency), 10)
	switch r.Modulation {
	case FSK:
		dst = append(dst, `,"FSK":{"FrequencyDeviation":`...)
		dst = strconv.AppendUint(dst, uint64(r.FrequencyDeviation), 10)
		dst = append(dst, `,"BitRate":`...)
		dst = strconv.AppendUint(dst, uint64(r.BitRate), 10)
	case FHSS:
		dst = append(dst, `,"FHSS":{"Ocw":`...)
		dst = strconv.AppendUint(dst, uint64(r.ChannelWidth), 10)
		dst = append(dst, `,"CodingRate":`...)
		dst = appendText(dst, r.CodingRate)
	default:
		dst = append(dst, `,"LoRa":{"Spreading":`...)
		dst = strconv.AppendUint(dst, uint64(r.Spreading), 10)
		dst = append(dst, `,"Bandwidth":`...)
		dst = strconv.AppendUint(dst, uint64(r.Bandwidth), 10)
	}
	return append(dst, '}')
}

func appendArray[T ~uint8 | ~uint32 | ~uint64](dst []byte, values []T) []byte {
	dst = append(dst, '[')
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

func appendText(dst []byte, text string) []byte {
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
		dst = append(dst, `,"DevEUI":`...)
		dst = strconv.AppendUint(dst, uint64(a.DevEUI), 10)
		dst = append(dst, `,"MIC":`...)
		dst = strconv.AppendUint(dst, uint64(a.MIC), 10)
		return append(dst, '}')
	}
	code := "Other"
	if a.Reject == MICFailed {
		code = "MICFailed"
	}
	dst = append(dst, `,"ResultCode":`...)
	dst = appendText(dst, code)
	if a.Text != "" {
		dst = append(dst, `,"ResultMessage":`...)
		dst = appendText(dst, a.Text)
	}
	return append(dst, '}')
}

// AppendDownstreamAck appends a DownstreamAck.
func AppendDownstreamAck(dst []byte, a *DownstreamAck) []byte {
	dst = begin(dst, a.Transaction)
	dst = append(dst, `,"MailboxID":`...)
	dst = strconv.AppendUint(dst, a.Mailbox, 10)
	return append(dst, '}')
}

// AppendDownstreamResult appends a DownstreamResult.
func AppendDownstreamResult(dst []byte, r *DownstreamResult) []byte {
	dst = begin(dst, r.Transaction)
	dst = append(dst, `,"MailboxID":`...)
	dst = strconv.AppendUint(dst, r.Mailbox, 10)
	dst = append(dst, `,"ResultCode":`...)
	dst = appendText(dst, r.Code.String())
	dst = append(dst, `,"ResultMessage":`...)
	dst = appendText(dst, r.Text)
	return append(dst, '}')
}
