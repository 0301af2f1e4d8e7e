package pace

import (
	"errors"
	"time"
)

// A Tolerance is how late the arrivals of an open model may start, so that those
// that are due soon after each other start together and cost one wake-up. Its text
// form is that of a duration, or auto.
type Tolerance time.Duration

const (
	// Auto, the zero value, follows what is measured: autoShare of the typical
	// service time, at most autoMost.
	Auto Tolerance = 0
	// None starts each arrival on time.
	None Tolerance = -1
)

// What Auto allows.
const (
	autoShare = 0.02
	autoMost  = time.Millisecond
)

// Of returns the tolerance where iterations typically take that long; 0: not known.
func (t Tolerance) Of(service time.Duration) time.Duration {
	if t == Auto {
		return min(time.Duration(autoShare*float64(service)), autoMost)
	}
	return max(0, time.Duration(t))
}

// MarshalText returns the text form.
func (t Tolerance) MarshalText() ([]byte, error) {
	if t == Auto {
		return []byte("auto"), nil
	}
	return []byte(t.Of(0).String()), nil
}

// UnmarshalText reads the text form.
func (t *Tolerance) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*t = Auto
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New("neither auto nor a duration with a unit, as in 200us")
	}
	*t = Tolerance(d)
	if d == 0 {
		*t = None
	}
	return nil
}
