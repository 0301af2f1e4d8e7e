package outbox

import (
	"encoding/binary"
	"time"

	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/message"
)

func (o *Outbox) answer(a *message.Answer, now time.Duration, out *settled) {
	e := o.sent[a.Transaction]
	if e == nil {
		o.stats.Unknown++
		return
	}
	o.stats.AnswerTime.count(micros(now - e.sent))
	outcome := Rejected
	if a.Reject != message.RejectNone {
		o.rejected(e, a.Reject, out)
	} else if o.acknowledged(e, a, out) {
		outcome = Answered
	}
	o.settle(e, outcome, out)
}

// rejected charges the device, if it is the only one in question.
func (o *Outbox) rejected(e *entry, why message.Reject, out *settled) {
	factor, text := 2, "MICFailed"
	if why == message.MICFailed {
		o.stats.MICFailed++
	} else {
		o.stats.OtherRejects++
		factor, text = 1, "Other"
	}
	if len(e.others) == 0 {
		o.failed(e.lane, factor, text, out)
	}
}

// acknowledged compares the answer with the true MIC. Only the device that it
// names is credited, or charged.
func (o *Outbox) acknowledged(e *entry, a *message.Answer, out *settled) bool {
	d := e.candidate(a.DevEUI)
	switch {
	case d == nil:
		o.stats.NotOffered++
		if len(e.others) == 0 {
			o.failed(e.lane, 4, "a DevEUI that was not offered", out)
		}
		return false
	case a.MIC != e.mic():
		o.stats.WrongMIC++
		o.failed(d, 4, "a wrong MIC", out)
		return false
	}
	o.stats.RightMIC++
	o.solved(d)
	out.solved = append(out.solved, solution{d.DevEUI, e.uplink})
	return true
}

func (e *entry) candidate(eui lorawan.EUI) *device {
	for d := range e.candidates {
		if d.DevEUI == eui {
			return d
		}
	}
	return nil
}

// mic is the frame's own, as the integer of the challenge: big-endian.
func (e *entry) mic() uint32 {
	phy := e.uplink.PHY
	return binary.BigEndian.Uint32(phy[len(phy)-micLen:])
}
