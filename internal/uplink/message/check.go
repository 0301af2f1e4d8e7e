package message

import (
	"errors"
	"fmt"
)

const (
	maxDelay = 15 // seconds, of class A
	maxTMMS  = 8  // moments, of class B
)

// CheckWindow returns why a downlink that was read can have no window, nil if it can.
func (d *Downstream) CheckWindow() error {
	w := &d.Window
	switch {
	case w.Delay > maxDelay:
		return fmt.Errorf("its Delay is %d; allowed: 1 to %d", w.Delay, maxDelay)
	case len(w.TMMS) > maxTMMS:
		return fmt.Errorf("its TMMS has %d moments; allowed: 1 to %d", len(w.TMMS), maxTMMS)
	case w.Delay == 0 && w.Deadline == 0 && len(w.TMMS) == 0:
		return fmt.Errorf("no moment is given; allowed: Delay from 1, TMMS with 1 to %d moments, Deadline from 1", maxTMMS)
	case d.Multicast && w.Delay != 0:
		return errors.New("its Delay is set, but a multicast follows no uplink; allowed: TMMS, Deadline")
	}
	return nil
}

// known reports whether a position can be told.
func (p *Position) known() bool {
	return p != nil && finite(p.Latitude) && finite(p.Longitude)
}
