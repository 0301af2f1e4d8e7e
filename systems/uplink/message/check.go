package message

import (
	"errors"
	"fmt"
)

const (
	// MaxPHY is the longest PHYPayload that a radio can send, in bytes: the length
	// field of a LoRa or FSK frame has 8 bits.
	MaxPHY = 255
	// MaxSpreading is the highest spreading factor.
	MaxSpreading = 12

	maxDelay = 15 // seconds, of class A
	maxTMMS  = 8  // moments, of class B
)

// IsCodingRate reports whether a text is one: two numbers of one digit, as "4/6".
func IsCodingRate(text string) bool {
	digit := func(i int) bool { return text[i] >= '1' && text[i] <= '9' }
	return len(text) == 3 && digit(0) && text[1] == '/' && digit(2)
}

// CheckFrame returns why a downlink that was read cannot be sent, whenever that is; nil
// if it can.
func (d *Downstream) CheckFrame() error {
	r := &d.Window.Radio
	switch {
	case len(d.PHY) == 0 || len(d.PHY) > MaxPHY:
		return fmt.Errorf("its PHYPayload has %d bytes; expected 1 to %d", len(d.PHY), MaxPHY)
	case r.Modulation == FHSS && !IsCodingRate(r.CodingRate):
		return fmt.Errorf("its CodingRate is %.40q; expected two numbers, as 4/6", r.CodingRate)
	}
	return nil
}

// CheckWindow returns why a downlink that was read can have no window, nil if it can.
func (d *Downstream) CheckWindow() error {
	w := &d.Window
	switch {
	case w.Delay > maxDelay:
		return fmt.Errorf("its Delay is %d; expected 1 to %d", w.Delay, maxDelay)
	case len(w.TMMS) > maxTMMS:
		return fmt.Errorf("its TMMS has %d moments; expected 1 to %d", len(w.TMMS), maxTMMS)
	case w.Delay == 0 && w.Deadline == 0 && len(w.TMMS) == 0:
		return fmt.Errorf("no moment is given; expected Delay from 1, TMMS with 1 to %d moments, Deadline from 1", maxTMMS)
	case d.Multicast && w.Delay != 0:
		return errors.New("its Delay is set, but a multicast follows no uplink; expected TMMS, Deadline")
	}
	return nil
}

// known reports whether a position is known.
func (p *Position) known() bool {
	return p != nil && finite(p.Latitude) && finite(p.Longitude)
}
