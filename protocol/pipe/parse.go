package pipe

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the form of a pipeline in a URL:
//
//	pipe:spsc
//	pipe:chan?buffer=10000&producers=2&consumers=2&items=100000&batch=64&print=true
//
// Fields left out keep their zero value. The error names every mistake. What it
// returns is valid but for Discard, which a URL cannot say.
func Parse(text string) (Config, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Config{}, fmt.Errorf("pipe: %w", err)
	}
	if u.Scheme != "pipe" || u.Opaque == "" {
		return Config{}, fmt.Errorf("pipe: %q is not of the form pipe:RUNG?field=value&…", text)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Config{}, fmt.Errorf("pipe: %q: %w", text, err)
	}
	c := Config{Rung: u.Opaque}
	errs := c.setAll(values)
	if u.Fragment != "" {
		errs = append(errs, fmt.Errorf("pipe: %q: what does #%s mean?", text, u.Fragment))
	}
	if err := errors.Join(append(errs, c.validate())...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// setAll sets fields by their names in alphabetic order and returns every mistake.
func (c *Config) setAll(values url.Values) (errs []error) {
	numbers := map[string]*int{
		"buffer": &c.Buffer, "batch": &c.Batch, "items": &c.Items,
		"producers": &c.Producers, "consumers": &c.Consumers,
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if n := len(values[name]); n > 1 {
			errs = append(errs, fmt.Errorf("pipe: %s is given %d times", name, n))
			continue
		}
		value := values.Get(name)
		switch number := numbers[name]; {
		case number != nil:
			n, err := strconv.Atoi(value)
			if err != nil {
				errs = append(errs, fmt.Errorf("pipe: %s %q is not a whole number", name, value))
			}
			*number = n
		case name == "print":
			print, err := strconv.ParseBool(value)
			if err != nil {
				errs = append(errs, fmt.Errorf("pipe: print %q is neither true nor false", value))
			}
			c.Print = print
		default:
			names := slices.Sorted(maps.Keys(numbers))
			errs = append(errs, fmt.Errorf("pipe: no field %q; there are %s, print", name, strings.Join(names, ", ")))
		}
	}
	return errs
}
