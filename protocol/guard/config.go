package guard

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"contend/guard"
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

const (
	readsPerWrite  = 99
	defaultSection = 200 * time.Nanosecond
	maxSection     = time.Second
	maxBatch       = 1_000_000
	// defaultBatch takes some 50 µs at the 10 to 100 ns of most designs: a
	// thousand times the clock reading that it is measured with, and short beside
	// the 10 ms after which the scheduler interrupts a goroutine.
	defaultBatch = 1000
	// batchTime is what a batch of sections should take by itself.
	batchTime = 75 * time.Microsecond
)

// A Config says which design is driven, and how. Only Design must be set.
type Config struct {
	Design  string        // a name of guard.Designs, in any letter case
	Kind    Kind          // "" means Add
	Batch   int           // operations per iteration, at most 1,000,000; 0 means 1000, or 75 µs of sections
	Seed    uint64        // chooses which operations are timed
	Section time.Duration // of the critical section, up to 1 s; 0 means 200 ns; Section only
}

// Parse reads the form guard:DESIGN?kind=K&section=DURATION&batch=N&seed=N, in
// which only the design is required. The error names every mistake.
func Parse(spec string) (Config, error) {
	u, err := url.Parse(spec)
	if err != nil {
		return Config{}, fmt.Errorf("guard target: %w", err)
	}
	if u.Scheme != "guard" || u.Opaque == "" || u.Fragment != "" {
		return Config{}, fmt.Errorf("guard target %q: want guard:DESIGN or guard:DESIGN?key=value&…", spec)
	}
	c := Config{Design: u.Opaque}
	query, err := url.ParseQuery(u.RawQuery)
	errs := []error{err}
	for _, key := range sortedKeys(query) {
		if values := query[key]; len(values) > 1 {
			errs = append(errs, fmt.Errorf("key %q is given %d times: want it once", key, len(values)))
		}
		errs = append(errs, c.set(key, query[key][0]))
	}
	errs = append(errs, c.mistakes()...)
	if err := errors.Join(errs...); err != nil {
		return Config{}, fmt.Errorf("guard target %q: %w", spec, err)
	}
	return c, nil
}

func sortedKeys(query url.Values) []string {
	keys := make([]string, 0, len(query))
	for key := range query {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (c *Config) set(key, value string) error {
	var err error
	switch key {
	case "kind":
		c.Kind = Kind(value)
		return nil
	case "section":
		if c.Section, err = time.ParseDuration(value); err != nil || c.Section <= 0 {
			c.Section = 0
			return fmt.Errorf("section %q: want a duration above 0 such as 200ns", value)
		}
	case "batch":
		if c.Batch, err = strconv.Atoi(value); err != nil || c.Batch < 1 {
			c.Batch = 0
			return fmt.Errorf("batch %q: want 1 to %d", value, maxBatch)
		}
	case "seed":
		if c.Seed, err = strconv.ParseUint(value, 10, 64); err != nil {
			return fmt.Errorf("seed %q: want a whole number from 0 to 2^64-1", value)
		}
	default:
		return fmt.Errorf("key %q is unknown: want one of kind, section, batch, seed", key)
	}
	return nil
}

// mistakes returns what is wrong with c, knowing what each design can do.
func (c Config) mistakes() []error {
	var errs []error
	design, err := guard.Lookup(c.Design)
	if err != nil {
		errs = append(errs, err)
	} else if err := c.possible(design); err != nil {
		errs = append(errs, err)
	}
	c = c.withDefaults()
	if !slices.Contains(Kinds(), c.Kind) {
		errs = append(errs, fmt.Errorf("kind %q: want one of %s", c.Kind, join(Kinds())))
	}
	if c.Section != 0 && c.Kind != Section {
		errs = append(errs, fmt.Errorf("section %v: only kind %s has a critical section to make longer, not %q",
			c.Section, Section, c.Kind))
	}
	if c.Section < 0 || c.Section > maxSection {
		errs = append(errs, fmt.Errorf("section %v: want above 0, to %v", c.Section, maxSection))
	}
	if c.Batch < 1 || c.Batch > maxBatch {
		errs = append(errs, fmt.Errorf("batch %d: want 1 to %d", c.Batch, maxBatch))
	}
	return errs
}

// possible refuses kinds that the design cannot do.
func (c Config) possible(d guard.Design) error {
	switch {
	case c.Kind == AddGet && d.NewCounter == nil:
		return fmt.Errorf("kind %s: design %q returns no value", c.Kind, d.Name)
	case c.Kind == Section && !d.Exclusive:
		return fmt.Errorf("kind %s: design %q gives no exclusive access to a state", c.Kind, d.Name)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Kind == "" {
		c.Kind = Add
	}
	if c.Kind == Section && c.Section == 0 {
		c.Section = defaultSection
	}
	if c.Batch == 0 {
		c.Batch = defaultBatch
		if c.Kind == Section && c.Section > 0 {
			c.Batch = int(min(max(batchTime/c.Section, 1), defaultBatch))
		}
	}
	return c
}

func join(kinds []Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
