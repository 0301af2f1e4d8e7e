package message

import (
	"math"

	"contend/internal/uplink/lorawan"
)

func parseDownstreamB(data []byte) (*Downstream, error) {
	variant, body, err := unwrap(data)
	if err != nil {
		return nil, err
	}
	d := &Downstream{Multicast: variant == lnsMulticast}
	w := wire{data: body}
	var h head
	switch variant {
	case lnsDownstream:
		d.unicast(&w, &h)
	case lnsMulticast:
		d.multicast(&w, &h)
	default:
		return nil, ErrOther
	}
	d.Transaction = h.transaction
	if err := h.check(&w); err != nil {
		return nil, err
	}
	return d.checked()
}

func (d *Downstream) unicast(w *wire, h *head) {
	windows := 0
	for w.next() {
		if h.read(w) {
			continue
		}
		switch w.field {
		case 3:
			d.DevEUI = lorawan.EUI(w.number(0, math.MaxUint64))
		case 4:
			d.Target = new(lorawan.DevAddr(w.uint32()))
		case 5:
			windows++
			w.join(d.Window.parse(w.content(), false))
		case 6:
			d.PHY = append(d.PHY[:0], w.content()...)
		}
	}
	if windows != 1 {
		w.fail("%d of tx_window, want one", windows)
	}
}

func (d *Downstream) multicast(w *wire, h *head) {
	windows := 0
	for w.next() {
		if h.read(w) {
			continue
		}
		switch w.field {
		case 3:
			d.Group = lorawan.DevAddr(w.uint32())
		case 4:
			windows++
			w.join(d.Window.parse(w.content(), true))
		case 5:
			d.PHY = append(d.PHY[:0], w.content()...)
		}
	}
	if windows != 1 {
		w.fail("%d of tx_window, want one", windows)
	}
}

// parse reads a TransmissionWindow; that of a multicast has no delay, and its
// timing one number less.
func (win *Window) parse(data []byte, multicast bool) error {
	w := wire{data: data}
	radios, timings := 0, 0
	for w.next() {
		field := w.field
		if multicast && field > 2 {
			field++
		}
		switch field {
		case 1, 2:
			radios++
			w.join(parseDownstreamRadio(&win.Radio, field == 2, w.content()))
		case 3:
			timings++
			win.Delay = uint32(w.number(1, maxDelay))
		case 4:
			timings++
			w.join(win.parseTMMS(w.content()))
		case 5:
			timings++
			win.Deadline = w.number(1, math.MaxUint64)
		}
	}
	if radios != 1 || timings != 1 {
		w.fail("a tx_window with %d radios and %d timings, want one each", radios, timings)
	}
	return w.err
}

func (win *Window) parseTMMS(data []byte) error {
	w := wire{data: data}
	for w.next() {
		if w.field == 1 {
			win.TMMS = appendVarints(&w, win.TMMS)
		}
	}
	return w.err
}

func parseDownstreamRadio(r *Radio, fsk bool, data []byte) error {
	w := wire{data: data}
	if fsk {
		r.Modulation = FSK
	}
	for w.next() {
		switch {
		case w.field == 1:
			r.Frequency = w.uint32()
		case w.field == 2 && fsk:
			r.FrequencyDeviation = w.uint32()
		case w.field == 2:
			r.Spreading = uint32(w.number(0, 12))
		case w.field == 3 && fsk:
			r.BitRate = w.uint32()
		case w.field == 3:
			r.Bandwidth = w.uint32()
		case w.field == 4:
			r.Power = w.int32()
		}
	}
	return w.err
}
