package message

import (
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf8"

	"contend/internal/uplink/lorawan"
)

// ErrOther says that a parser of generation B was given another kind of message:
// all kinds share one stream.
var ErrOther = errors.New("message: another kind of message")

var (
	errNoVersion     = errors.New("message: no protocol_version")
	errNoTransaction = errors.New("message: no transaction_id")
	errVariants      = errors.New("message: not exactly one message in its wrapper")
)

// A head is what every message of generation B begins with.
type head struct {
	version, transaction uint64
}

// read takes the current field if it belongs to the head.
func (h *head) read(w *wire) bool {
	switch w.field {
	case 1:
		h.version = w.number(1, math.MaxUint32)
	case 2:
		id := w.content()
		if len(id) != 16 {
			w.fail("a transaction_id of %d bytes, want 16", len(id))
			return true
		}
		if binary.BigEndian.Uint64(id) != 0 {
			w.fail("a transaction_id whose first 8 bytes are not zero")
		}
		h.transaction = binary.BigEndian.Uint64(id[8:])
	default:
		return false
	}
	return true
}

func (h *head) check(w *wire) error {
	switch {
	case w.err != nil:
		return w.err
	case h.version == 0:
		return errNoVersion
	case h.transaction == 0:
		return errNoTransaction
	}
	return nil
}

// unwrap returns the one message of a wrapper, and which it is.
func unwrap(data []byte) (variant int, body []byte, err error) {
	w := wire{data: data}
	for w.next() {
		if w.field > 4 {
			continue
		}
		if variant != 0 {
			return 0, nil, errVariants
		}
		variant, body = w.field, w.content()
	}
	if w.err == nil && variant == 0 {
		w.err = errVariants
	}
	return variant, body, w.err
}

func parseUpstreamB(data []byte, u *Upstream) error {
	variant, body, err := unwrap(data)
	if err != nil {
		return err
	}
	if variant != ranUpstream {
		return ErrOther
	}
	position, radios := u.Position, 0
	*u = Upstream{DevEUIs: u.DevEUIs[:0], PHYNoMIC: u.PHYNoMIC[:0], Challenge: u.Challenge[:0]}
	w := wire{data: body}
	var h head
	for w.next() {
		if h.read(&w) {
			continue
		}
		switch w.field {
		case 3:
			u.DevEUIs = appendVarints(&w, u.DevEUIs)
		case 4, 5:
			radios++
			w.join(parseUpstreamRadio(&u.Radio, w.field == 5, w.content()))
		case 6:
			u.PHYNoMIC = append(u.PHYNoMIC[:0], w.content()...)
		case 7:
			u.Challenge = w.appendFixed(u.Challenge)
		case 8:
			if position == nil {
				position = new(Position)
			}
			u.Position = position
			w.join(parsePosition(position, w.content()))
		}
	}
	if radios > 1 {
		w.fail("%d radios, want one at most", radios)
	}
	u.Transaction = h.transaction
	return h.check(&w)
}

func parseUpstreamRadio(r *Radio, fsk bool, data []byte) error {
	w := wire{data: data}
	if fsk {
		r.Modulation = FSK
		for w.next() {
			switch w.field {
			case 1:
				r.Frequency = w.uint32()
			case 2:
				r.BitRate = w.uint32()
			case 3:
				r.RSSI = float32(w.int32())
			}
		}
		return w.err
	}
	for w.next() {
		switch w.field {
		case 1:
			r.Frequency = w.uint32()
		case 2:
			r.Spreading = uint32(w.number(0, 12))
		case 3:
			r.Bandwidth = w.uint32()
		case 4:
			r.RSSI = float32(w.int32())
		case 5:
			r.SNR = w.float()
		}
	}
	return w.err
}

func parsePosition(p *Position, data []byte) error {
	*p = Position{}
	w := wire{data: data}
	for w.next() {
		switch w.field {
		case 1:
			p.Latitude = float64(w.float())
		case 2:
			p.Longitude = float64(w.float())
		case 3:
			p.Altitude, p.HasAltitude = float64(w.float()), true
		}
	}
	return w.err
}

func parseAnswerB(data []byte, a *Answer) error {
	variant, body, err := unwrap(data)
	if err != nil {
		return err
	}
	text := a.Text
	*a = Answer{}
	w := wire{data: body}
	var h head
	switch variant {
	case lnsAck:
		for w.next() {
			switch {
			case h.read(&w):
			case w.field == 3:
				a.DevEUI = lorawan.EUI(w.number(0, math.MaxUint64))
			case w.field == 4:
				a.MIC = w.uint32()
			}
		}
	case lnsReject:
		for w.next() {
			switch {
			case h.read(&w):
			case w.field == 3:
				a.Reject = Reject(min(w.number(1, math.MaxInt32), uint64(RejectOther)))
			case w.field == 4:
				a.Text = again(w.text(), text)
			}
		}
		if a.Reject == RejectNone {
			w.fail("no result_code")
		}
	default:
		return ErrOther
	}
	a.Transaction = h.transaction
	return h.check(&w)
}

// text returns the content of a string field.
func (w *wire) text() []byte {
	text := w.content()
	if !utf8.Valid(text) {
		w.fail("a string that is not UTF-8")
	}
	return text
}

func parseDownstreamReplyB(data []byte) (DownstreamAck, *DownstreamResult, error) {
	var r DownstreamResult
	variant, body, err := unwrap(data)
	if err != nil {
		return DownstreamAck{}, nil, err
	}
	mailbox := 3
	switch variant {
	case ranDownstreamAck:
	case ranResult:
		mailbox = 5
	default:
		return DownstreamAck{}, nil, ErrOther
	}
	w := wire{data: body}
	var h head
	for w.next() {
		switch {
		case h.read(&w):
		case w.field == mailbox:
			r.Mailbox = w.number(1, math.MaxUint64)
		case w.field == 3:
			r.Code = ResultCode(w.number(0, uint64(GatewayError)))
		case w.field == 4 && variant == ranResult:
			r.Text = string(w.text())
		}
	}
	if r.Mailbox == 0 {
		w.fail("no mailbox_id")
	}
	r.Transaction = h.transaction
	ack := DownstreamAck{Transaction: r.Transaction, Mailbox: r.Mailbox}
	if variant == ranDownstreamAck {
		return ack, nil, h.check(&w)
	}
	return ack, &r, h.check(&w)
}
