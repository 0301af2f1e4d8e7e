package message

import (
	"math"

	"contend/systems/uplink/lorawan"
)

// The members of each object, those that must be there first.
var (
	upstreamKeys   = []string{"ProtocolVersion", "TransactionID", "DevEUIs", "Radio", "PHYPayloadNoMIC", "MICChallenge", "Outdated", "GPS"}
	answerKeys     = []string{"ProtocolVersion", "TransactionID", "DevEUI", "MIC", "ResultCode", "ResultMessage"}
	downstreamKeys = []string{"ProtocolVersion", "TransactionID", "TxWindow", "PHYPayload", "DevEUI", "Addr", "TargetDevAddr"}
	radioKeys      = []string{"RSSI", "SNR", "Frequency", "LoRa", "FSK", "FHSS"}
	loRaKeys       = []string{"Spreading", "Bandwidth"}
	fskKeys        = []string{"FrequencyDeviation", "BitRate"}
	fhssKeys       = []string{"Ocw", "CodingRate"}
	positionKeys   = []string{"Lat", "Lng", "Alt"}
	windowKeys     = []string{"Radio", "Delay", "TMMS", "Deadline"}
)

// ParseUpstream reads an Upstream into u, whose slices and
// position it uses again. After an error u holds anything.
func ParseUpstream(data []byte, u *Upstream) error {
	s := scanner{data: data}
	position := u.Position
	u.Outdated, u.Position = false, nil
	o := s.object(upstreamKeys)
	for o.next() {
		switch s.name {
		case "ProtocolVersion":
			s.positive()
		case "TransactionID":
			u.Transaction = s.positive()
		case "Outdated":
			u.Outdated = s.bool()
		case "DevEUIs":
			u.DevEUIs = appendUints(&s, u.DevEUIs[:0])
		case "Radio":
			s.radio(&u.Radio, true)
		case "PHYPayloadNoMIC":
			u.PHYNoMIC = appendUints(&s, u.PHYNoMIC[:0])
		case "MICChallenge":
			u.Challenge = appendUints(&s, u.Challenge[:0])
		case "GPS":
			if position == nil {
				position = new(Position)
			}
			s.position(position)
			u.Position = position
		}
	}
	o.require(6)
	return s.end()
}

// radio reads a Radio; RSSI and SNR belong to an uplink's.
func (s *scanner) radio(r *Radio, uplink bool) {
	coding := r.CodingRate
	*r = Radio{}
	names, required := radioKeys, 3
	if !uplink {
		names, required = radioKeys[2:], 1
	}
	o := s.object(names)
	for o.next() {
		switch s.name {
		case "Frequency":
			r.Frequency = s.uint32()
		case "LoRa":
			r.Modulation = LoRa
			s.loRa(r)
		case "FSK":
			r.Modulation = FSK
			s.fsk(r)
		case "FHSS":
			r.Modulation = FHSS
			s.fhss(r, coding)
		case "RSSI":
			r.RSSI = float32(s.float(32))
		case "SNR":
			r.SNR = float32(s.float(32))
		}
	}
	o.require(required)
	o.one("LoRa", "FSK", "FHSS")
}

func (s *scanner) loRa(r *Radio) {
	o := s.object(loRaKeys)
	for o.next() {
		switch s.name {
		case "Spreading":
			r.Spreading = uint32(s.uint(MaxSpreading))
		case "Bandwidth":
			r.Bandwidth = s.uint32()
		}
	}
	o.require(2)
}

func (s *scanner) fsk(r *Radio) {
	o := s.object(fskKeys)
	for o.next() {
		switch s.name {
		case "FrequencyDeviation":
			r.FrequencyDeviation = s.uint32()
		case "BitRate":
			r.BitRate = s.uint32()
		}
	}
	o.require(2)
}

// fhss reads an FHSS; last is the coding rate that was read before.
func (s *scanner) fhss(r *Radio, last string) {
	o := s.object(fhssKeys)
	for o.next() {
		switch s.name {
		case "Ocw":
			r.ChannelWidth = s.uint32()
		case "CodingRate":
			r.CodingRate = reuse(last, s.text())
		}
	}
	o.require(2)
}

// reuse returns the text as a string: the last one if it is the same, which
// spares an allocation.
func reuse(last string, text []byte) string {
	if string(text) == last {
		return last
	}
	return string(text)
}

func (s *scanner) position(p *Position) {
	*p = Position{}
	o := s.object(positionKeys)
	for o.next() {
		switch s.name {
		case "Lat":
			p.Latitude = s.float(64)
		case "Lng":
			p.Longitude = s.float(64)
		case "Alt":
			p.Altitude, p.HasAltitude = s.float(64), true
		}
	}
	o.require(2)
}

// ParseAnswer reads an answer into a: an UpstreamAck, or, with a
// ResultCode, an UpstreamReject. After an error a holds anything.
func ParseAnswer(data []byte, a *Answer) error {
	s := scanner{data: data}
	text := a.Text
	*a = Answer{}
	o := s.object(answerKeys)
	for o.next() {
		switch s.name {
		case "ProtocolVersion":
			s.positive()
		case "TransactionID":
			a.Transaction = s.positive()
		case "DevEUI":
			a.DevEUI = lorawan.EUI(s.uint(math.MaxUint64))
		case "MIC":
			a.MIC = s.uint32()
		case "ResultCode":
			a.Reject = s.reject()
		case "ResultMessage":
			a.Text = reuse(text, s.text())
		}
	}
	if a.Reject != RejectNone {
		o.require(2)
		a.DevEUI, a.MIC = 0, 0
	} else {
		o.require(4)
		a.Text = ""
	}
	return s.end()
}

func (s *scanner) reject() Reject {
	switch code := s.text(); string(code) {
	case "MICFailed":
		return MICFailed
	case "Other":
		return RejectOther
	default:
		s.fail("%s is %.40q; expected MICFailed, Other", s.name, code)
		return RejectNone
	}
}

// ParseDownstream reads a Downstream or a MulticastDownstream. Whether it can be sent is
// for CheckFrame and CheckWindow to say.
func ParseDownstream(data []byte) (*Downstream, error) {
	s := scanner{data: data}
	d := new(Downstream)
	o := s.object(downstreamKeys)
	for o.next() {
		switch s.name {
		case "ProtocolVersion":
			s.positive()
		case "TransactionID":
			d.Transaction = s.positive()
		case "DevEUI":
			d.DevEUI = lorawan.EUI(s.uint(math.MaxUint64))
		case "Addr":
			d.Multicast, d.Group = true, lorawan.DevAddr(s.uint32())
		case "TargetDevAddr":
			d.Target = new(lorawan.DevAddr(s.uint32()))
		case "TxWindow":
			s.window(&d.Window)
		case "PHYPayload":
			d.PHY = appendUints(&s, d.PHY)
		}
	}
	o.require(4)
	o.one("DevEUI", "Addr")
	if d.Multicast && d.Target != nil {
		s.fail("TargetDevAddr is set, but only a DevEUI can have one")
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return d, nil
}

func (s *scanner) window(w *Window) {
	o := s.object(windowKeys)
	for o.next() {
		switch s.name {
		case "Radio":
			s.radio(&w.Radio, false)
		case "Delay":
			w.Delay = s.uint32()
		case "TMMS":
			w.TMMS = appendUints(s, w.TMMS)
		case "Deadline":
			w.Deadline = s.uint(math.MaxUint64)
		}
	}
	o.require(1)
	o.one("Delay", "TMMS", "Deadline")
}
