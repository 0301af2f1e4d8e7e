package message

import (
	"errors"
	"fmt"
)

const (
	maxDelay = 15 // seconds, of class A
	maxTMMS  = 8  // moments, of class B
)

// checked returns d if it keeps the rules that the types of its fields do not tell.
func (d *Downstream) checked() (*Downstream, error) {
	w := &d.Window
	switch {
	case len(w.TMMS) > maxTMMS:
		return nil, fmt.Errorf("message: TMMS has %d moments; allowed: 1 to %d", len(w.TMMS), maxTMMS)
	case w.Delay == 0 && w.Deadline == 0 && len(w.TMMS) == 0:
		return nil, fmt.Errorf("message: TMMS has no moments; allowed: 1 to %d", maxTMMS)
	case d.Multicast && w.Delay != 0:
		return nil, errors.New("message: Delay is set, but a multicast follows no uplink; allowed: TMMS, Deadline")
	case d.Multicast && d.Target != nil:
		return nil, errors.New("message: TargetDevAddr is set, but only a DevEUI can have one")
	}
	return d, nil
}

// known reports whether a position can be told.
func (p *Position) known() bool {
	return p != nil && finite(p.Latitude) && finite(p.Longitude)
}
