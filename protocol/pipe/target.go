// Package pipe drives an in-process pipeline: one iteration moves Config.Items
// items from producers to consumers and checks, in the measured run, that every
// one arrived, in order.
//
// Its iterations are batches of operations: an Outcome's Ops is the number of
// items. Producers make 256 items at a time and hand them over with one call,
// consumers take what is there; the design chan sends and receives them one by one
// all the same. Making and checking an item costs about a nanosecond.
package pipe

import (
	"context"
	"errors"
	"slices"

	"contend/load"
	"contend/pipeline"
	"contend/setting"
)

// defaultBuffer is the buffer of the designs that need one, in items: that of the
// published third rung.
const defaultBuffer = 10_000

// Config says which pipeline is driven and how far. Only Rung is required.
type Config struct {
	// Rung is the name of a pipeline.Design, in any case.
	Rung string
	// Config is the pipeline's, but that a Buffer of zero means 10 000 items with the
	// designs that need one. Each producer and consumer is a goroutine.
	pipeline.Config
	// Items is how many items one iteration moves. Zero means as many as take
	// about 20 to 100 ms: 10 000 when printing, 400 000 through a channel without
	// a buffer, else 1 000 000 for each 32 of the batch size, at most 16 000 000.
	Items int `flag:"items" min:"0" max:"1099511627775"`
	// Print makes both sides write a line per item, unbuffered, to a process that
	// discards it, as the published first rung prints on both sides.
	Print bool `flag:"print"`
	// Discard is the command, with its arguments, of the process that Print writes
	// to: it must read its standard input to the end. There is one per VU. There is
	// no default: Print without it is an error.
	Discard []string
}

// Validate returns an error that joins a *setting.Mistake for each field that is
// wrong.
func (c Config) Validate() error {
	if c.Print && len(c.Discard) == 0 {
		return errors.Join(c.validate(), setting.At(&c, &c.Print).Wrong("needs the command of a process that discards what is printed"))
	}
	return c.validate()
}

// validate checks what a URL can say.
func (c Config) validate() error { return errors.Join(c.possible(), setting.Check(c)) }

// possible checks what depends on the design.
func (c Config) possible() error {
	design, err := pipeline.Lookup(c.Rung)
	if err != nil {
		return err
	}
	return design.Check(c.built(design))
}

// built is the pipeline's configuration with the default of this package.
func (c Config) built(design pipeline.Design) pipeline.Config {
	if c.Buffer == 0 && design.MinBuffer > 0 {
		c.Buffer = defaultBuffer
	}
	return c.Config
}

// items returns how many items one iteration moves through a pipeline as built.
func (c Config) items(built pipeline.Config) int {
	switch {
	case c.Items > 0:
		return c.Items
	case c.Print:
		return 10_000
	case built.Buffer == 0:
		return 400_000
	}
	return 1_000_000 * min(max(built.Batch/32, 1), 16)
}

// A Target makes VUs that each drive a pipeline of their own. It holds nothing
// that must be closed.
type Target struct {
	config Config
	design pipeline.Design
}

var _ load.LocalTarget = (*Target)(nil)

// New returns the target that c describes, or an error that names every mistake.
func New(c Config) (*Target, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	design, err := pipeline.Lookup(c.Rung)
	if err != nil {
		return nil, err
	}
	c.Discard = slices.Clone(c.Discard)
	return &Target{config: c, design: design}, nil
}

// Local says that the target runs in this process.
func (t *Target) Local() {}

// NewVU makes a VU with its own pipeline and, when printing, its own process,
// which Close ends.
func (t *Target) NewVU(context.Context, int) (load.VU, error) {
	c := t.config.built(t.design)
	p, err := pipeline.New[uint64](t.design.Name, c)
	if err != nil {
		return nil, err
	}
	v := &vu{rung: t.design.Name, config: c, tallies: make([]*pipeline.Tally, p.Config.Consumers)}
	items := uint64(t.config.items(p.Config))
	for i := range uint64(p.Config.Producers) {
		// The first producers take the remainder.
		v.shares = append(v.shares, (items+uint64(p.Config.Producers)-1-i)/uint64(p.Config.Producers))
	}
	if t.config.Print {
		if v.paper, err = startDiscarding(t.config.Discard); err != nil {
			return nil, err
		}
	}
	return v, nil
}
