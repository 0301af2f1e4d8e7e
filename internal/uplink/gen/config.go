// Package gen is the load generator of the uplink experiment: it builds uplinks
// as gateways hear them and hands them to whoever takes them to the router.
//
// Each uplink carries a message.Stamp in its encrypted payload. In the published
// modes, flat and batch, that is when it was created; where a rate is kept it is
// when the uplink was due, and how much later it was sent.
package gen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"contend/internal/uplink/lorawan"
	"contend/internal/uplink/message"
	"contend/pace"
)

// A Mode is when uplinks are made and sent.
type Mode uint8

// The modes.
const (
	// Flat sends as fast as uplinks are taken; each is stamped right before its write.
	Flat Mode = iota + 1
	// Batch makes a number of uplinks, each stamped then, writes them all and pauses.
	Batch
	// Rate sends at the times that a pacer plans, and stamps these.
	Rate
)

func (m Mode) String() string {
	names := [...]string{Flat: "flat", Batch: "batch", Rate: "rate"}
	if m < Flat || m > Rate {
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
	return names[m]
}

// MarshalText returns the mode's name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a mode's name.
func (m *Mode) UnmarshalText(text []byte) error {
	for mode := Flat; mode <= Rate; mode++ {
		if mode.String() == string(text) {
			*m = mode
			return nil
		}
	}
	return fmt.Errorf("gen: mode is %.40q; allowed: %v, %v, %v", text, Flat, Batch, Rate)
}

// A Config says what is generated. Mode, N and Add must be set, Batches for
// Batch, and Pacer for Rate.
type Config struct {
	Mode Mode
	// N is the number of uplinks: in all or, of Batch, in each batch. What the
	// shares below add comes on top.
	N int64
	// Batches are so many, with Delay between them.
	Batches int64
	Delay   time.Duration
	// Pacer plans the uplinks of Rate; Timer waits for them, as in a load.Plan.
	Pacer *pace.Pacer
	Timer pace.Timer

	// Seed feeds everything random, keys too.
	Seed uint64
	// Devices take turns; 0 means 1. Device i is lorawan.DemoDevice(Seed, i), with
	// counters from 0.
	Devices int
	// Gateways take turns; 0 means 1.
	Gateways int

	// Shares, from 0 to 1, of the uplinks that: a second gateway hears, too; have
	// changed places with the next one of their device; are followed by a join
	// request of their device, made with NwkSKey; are followed by a frame that is
	// none, of ten kinds.
	Duplicates, Reorder, JoinRequests, Malformed float64

	// PerWrite is how many frames Add gets at most; 0 means DefaultPerWrite.
	PerWrite int
	// Add takes the uplinks on their way and returns when they are. It must not
	// keep them: they are used again.
	Add func(ctx context.Context, uplinks []*message.Uplink) error

	// Progress, if set, is called now and then, and at the end, by one goroutine.
	Progress func(done, total int64)
}

// DefaultPerWrite is enough to make the way there and back cheap, and little
// enough to take less than a millisecond.
const DefaultPerWrite = 128

// The bounds of a Config.
const (
	maxUplinks  = 1<<32 - 1 // counters have 32 bits
	maxGateways = 1 << 16
	maxPerWrite = 1 << 16
	maxBatch    = 10_000_000 // is held in memory
)

// Total returns how many different uplinks are planned.
func (c *Config) Total() int64 {
	if c.Mode == Batch {
		return c.N * c.Batches
	}
	return c.N
}

// Validate returns every mistake at once.
func (c *Config) Validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("gen: "+format, args...)) }
	most := int64(maxUplinks)
	switch c.Mode {
	case Flat:
	case Batch:
		most = maxBatch
		if c.Batches < 1 || c.Batches > maxUplinks/max(1, c.N) {
			wrong("batches is %d; allowed: 1 to %d ÷ n", c.Batches, int64(maxUplinks))
		}
	case Rate:
		if c.Pacer == nil {
			wrong("mode rate needs a pacer")
		}
	default:
		wrong("mode is %v; allowed: %v, %v, %v", c.Mode, Flat, Batch, Rate)
	}
	if c.Mode != Rate && c.Pacer != nil {
		wrong("mode %v takes no pacer", c.Mode)
	}
	if c.Mode != Batch && (c.Batches != 0 || c.Delay != 0) {
		wrong("mode %v takes neither batches nor delay", c.Mode)
	}
	if c.N < 1 || c.N > most {
		wrong("n is %d; allowed: 1 to %d", c.N, most)
	}
	if c.Delay < 0 || c.Delay > time.Hour {
		wrong("delay is %v; allowed: 0 to 1h", c.Delay)
	}
	if c.Timer != "" && c.Timer != pace.Precise && c.Timer != pace.Runtime {
		wrong("timer is %q; allowed: %s, %s", c.Timer, pace.Precise, pace.Runtime)
	}
	if c.Add == nil {
		wrong("add is not set")
	}
	return errors.Join(append(errs, c.checkNumbers())...)
}

func (c *Config) checkNumbers() error {
	var errs []error
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"devices", c.Devices, lorawan.MaxDemoDevices},
		{"gateways", c.Gateways, maxGateways},
		{"frames per write", c.PerWrite, maxPerWrite},
	} {
		if f.value < 0 || f.value > f.most {
			errs = append(errs, fmt.Errorf("gen: %s is %d; allowed: 0 (the default) to %d", f.name, f.value, f.most))
		}
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"duplicates", c.Duplicates}, {"reorder", c.Reorder}, {"join requests", c.JoinRequests}, {"malformed", c.Malformed},
	} {
		if !(f.value >= 0 && f.value <= 1) {
			errs = append(errs, fmt.Errorf("gen: share of %s is %v; allowed: 0 to 1", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Devices = max(c.Devices, 1)
	c.Gateways = max(c.Gateways, 1)
	if c.PerWrite == 0 {
		c.PerWrite = DefaultPerWrite
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	return c
}
