// Package gen is the load generator of the uplink experiment: it builds uplinks as
// gateways receive them and passes them to a function that sends them to the router.
//
// Each uplink carries a message.Stamp in its encrypted payload. In the published modes,
// flat and batch, that is when it was created; at a rate it is when the uplink was due,
// and how much later it was sent.
package gen

import (
	"context"
	"errors"
	"fmt"
	"time"

	"contend/pace"
	"contend/setting"
	"contend/systems/uplink/message"
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
	return fmt.Errorf("mode is %.40q; expected %v, %v, %v", text, Flat, Batch, Rate)
}

// A Config says what is generated. Mode, N and Add must be set, Batches for
// Batch, and Pacer for Rate.
type Config struct {
	Mode Mode
	// N is the number of uplinks: in all or, of Batch, in each batch. What the
	// shares below add is not included.
	N int64 `flag:"uplinks,n" min:"1" max:"4294967295" words:"*number* of uplinks; of batch, in each batch (default 100000; batch 10000; rate ten seconds of them)"`
	// Batches are so many, with Delay between them.
	Batches int64         `flag:"batches,b" min:"0" max:"4294967295" words:"*number* of batches (default 10)"`
	Delay   time.Duration `flag:"delay,d" unit:"seconds" min:"0s" max:"1h" words:"*time* between batches (default 1s)"`
	// Pacer plans the uplinks of Rate; Timer waits for them, as in a load.Plan.
	Pacer *pace.Pacer `flag:"rate,r" words:"*arrivals* per second, as 8000 or poisson:8000 (default 8000)"`
	Timer pace.Timer  `json:"timer" oneof:"precise,runtime"`

	// Devices take turns; 0 means 1. Device i is lorawan.DemoDevice(Seed, i), with
	// counters from 0.
	Devices int `flag:"devices" default:"1" min:"0" max:"16777216" words:"*number* of devices that take turns"`
	// Gateways take turns; 0 means 1.
	Gateways int `flag:"gateways" default:"1" min:"0" max:"65536" words:"*number* of gateways that take turns"`
	// Seed feeds everything random, including keys.
	Seed uint64 `flag:"seed" default:"1" words:"seed of the devices' keys and all random choices"`

	// Shares, from 0 to 1, of the uplinks that: are heard by a second gateway as
	// well; have changed places with the next one of their device; are followed by
	// a join request of their device, made with NwkSKey; are followed by an invalid
	// frame, of ten kinds.
	Duplicates   float64 `flag:"duplicates" min:"0" max:"1" words:"*share* of uplinks that a second gateway hears, 0 to 1"`
	Reorder      float64 `flag:"reorder" min:"0" max:"1" words:"*share* that changes places with the next of its device"`
	JoinRequests float64 `flag:"joins" min:"0" max:"1" words:"*share* that a join request follows"`
	Malformed    float64 `flag:"malformed" min:"0" max:"1" words:"*share* that a malformed frame follows"`

	// PerWrite is how many frames Add gets at most; 0 means 128, which is enough to
	// make the way there and back cheap, and takes less than a millisecond.
	PerWrite int `json:"frames per write" min:"0" max:"65536"`
	// Add takes the uplinks on their way and returns when they are. It must not
	// keep them: they are used again.
	Add func(ctx context.Context, uplinks []*message.Uplink) error

	// Progress, if set, is called now and then, and at the end, by one goroutine.
	Progress func(done, total int64)
}

// The bounds of a Batch.
const (
	maxUplinks = 1<<32 - 1  // counters have 32 bits
	maxBatch   = 10_000_000 // is held in memory
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
	errs := []error{setting.Check(c)}
	wrong := func(field any, format string, args ...any) {
		errs = append(errs, setting.At(c, field).Wrong(format, args...))
	}
	if c.Mode < Flat || c.Mode > Rate {
		errs = append(errs, fmt.Errorf("mode is %v; expected %v, %v, %v", c.Mode, Flat, Batch, Rate))
	}
	switch {
	case c.Mode != Rate && c.Pacer != nil:
		wrong(&c.Pacer, "is %v, but mode %v keeps none", c.Pacer, c.Mode)
	case c.Mode == Rate && c.Pacer == nil:
		wrong(&c.Pacer, "is missing")
	}
	switch {
	case c.Mode != Batch && (c.Batches != 0 || c.Delay != 0):
		wrong(&c.Batches, "and delay do not apply to mode %v", c.Mode)
	case c.Mode == Batch && (c.Batches < 1 || c.Batches > maxUplinks/max(1, c.N)):
		wrong(&c.Batches, "is %d; expected 1 to %d ÷ uplinks", c.Batches, int64(maxUplinks))
	}
	if c.Mode == Batch && c.N > maxBatch {
		wrong(&c.N, "is %d; expected 1 to %d", c.N, maxBatch)
	}
	if c.Add == nil {
		errs = append(errs, errors.New("add is not set"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Devices = max(c.Devices, 1)
	c.Gateways = max(c.Gateways, 1)
	if c.PerWrite == 0 {
		c.PerWrite = 128
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	return c
}
