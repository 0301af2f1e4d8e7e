package guard

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"contend/guard"
	"contend/setting"
)

// A Kind is what the operations ask of the design. Figures of different kinds
// answer different questions and must not be ranked together.
type Kind string

// The kinds of operations.
const (
	Add        Kind = "add"         // add 1, whatever the value is
	AddGet     Kind = "add-get"     // add 1 and get the value after it
	ReadMostly Kind = "read-mostly" // load; every hundredth operation adds 1
	Section    Kind = "section"     // keep the state for a critical section of some length
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Add, AddGet, ReadMostly, Section} }

// Values are the kinds as texts.
func (Kind) Values() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

const (
	readsPerWrite  = 99
	defaultSection = 200 * time.Nanosecond
	// defaultBatch takes about 50 µs at the 10 to 100 ns of most designs: a
	// thousand times the clock reading that it is measured with, and short compared
	// with the 10 ms after which the scheduler interrupts a goroutine.
	defaultBatch = 1000
	// batchTime is what a batch of sections should take, without anything else.
	batchTime = 75 * time.Microsecond
)

// A Config says which design is driven, and how. Only Design must be set.
type Config struct {
	Design  string        // a name of guard.Designs, in any letter case
	Kind    Kind          `flag:"kind"`                        // "" means Add
	Batch   int           `flag:"batch" min:"1" max:"1000000"` // operations per iteration; 0 means 1000, or 75 µs of sections
	Seed    uint64        `flag:"seed"`                        // chooses which operations are timed
	Section time.Duration `flag:"section" above:"0s" max:"1s"` // of the critical section; 0 means 200 ns; Section only
}

// Parse reads the form guard:DESIGN?kind=K&section=DURATION&batch=N&seed=N, in
// which only the design is required. The error names every mistake.
func Parse(spec string) (c Config, err error) {
	c.Design, err = setting.FillURL(&c, "guard", spec)
	if c.Design != "" {
		err = errors.Join(err, c.Check())
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// URL is the form that Parse reads, without the seed.
func (c Config) URL() string {
	text := "guard:" + c.Design + "?kind=" + string(cmp.Or(c.Kind, Add))
	if c.Section != 0 {
		text += "&section=" + setting.Duration(c.Section)
	}
	if c.Batch != 0 {
		text += fmt.Sprintf("&batch=%d", c.Batch)
	}
	return text
}

// Check returns everything that is wrong with c, knowing what each design can do.
func (c Config) Check() error {
	var errs []error
	if design, err := guard.Lookup(c.Design); err == nil {
		errs = append(errs, c.possible(design))
	} else {
		m := setting.NotOneOf(c.Design, guard.Names(false))
		m.Setting.Name = "design"
		errs = append(errs, m)
	}
	if c.Section != 0 && c.Kind != Section {
		errs = append(errs, setting.At(&c, &c.Section).Wrong("is %v; only kind %s has a critical section, not %q", c.Section, Section, c.Kind))
	}
	c = c.withDefaults()
	if c.Section == 0 {
		c.Section = defaultSection // of another kind, which does not use it
	}
	return errors.Join(append(errs, setting.Check(c))...)
}

// possible refuses kinds that the design cannot do.
func (c Config) possible(d guard.Design) error {
	switch {
	case c.Kind == AddGet && d.NewCounter == nil:
		return setting.At(&c, &c.Kind).Wrong("is %s, but design %s returns no value", c.Kind, d.Name)
	case c.Kind == Section && !d.Exclusive:
		return setting.At(&c, &c.Kind).Wrong("is %s, but design %s gives no exclusive access to a state", c.Kind, d.Name)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Kind = cmp.Or(c.Kind, Add)
	if c.Kind == Section {
		c.Section = cmp.Or(c.Section, defaultSection)
	}
	if c.Batch == 0 {
		c.Batch = defaultBatch
		if c.Kind == Section && c.Section > 0 {
			c.Batch = int(min(max(batchTime/c.Section, 1), defaultBatch))
		}
	}
	return c
}
