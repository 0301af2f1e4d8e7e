package outbox

import (
	"time"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/message"
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
		o.rejected(a.Reject)
	} else if o.acknowledged(e, a, now, out) {
		outcome = Answered
	}
	o.settle(e, outcome, out)
}

// rejected charges no device: anybody can send frames with its address, and a
// customer who has no key for one can only say so.
func (o *Outbox) rejected(why message.Reject) {
	if why == message.MICFailed {
		o.stats.MICFailed++
	} else {
		o.stats.OtherRejects++
	}
}

// acknowledged compares the answer with the true MIC. The device that it names is
// credited, or charged. A wrong MIC for a device that was not offered charges the
// one that was, if it is the only one.
func (o *Outbox) acknowledged(e *entry, a *message.Answer, now time.Duration, out *settled) bool {
	d := e.candidate(a.DevEUI)
	right := a.MIC == lorawan.MICOf(e.uplink.PHY)
	if !right {
		o.owe(e, now)
	}
	switch {
	case d == nil:
		o.stats.NotOffered++
		if !right && len(e.others) == 0 {
			o.failed(e.lane, out)
		}
		return false
	case !right:
		o.stats.WrongMIC++
		o.failed(d, out)
		return false
	}
	o.stats.RightMIC++
	o.solved(d)
	o.prove(d, e, now)
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
