package pipe

import (
	"errors"

	"contend/setting"
)

// Parse reads the form of a pipeline in a URL:
//
//	pipe:spsc
//	pipe:chan?buffer=10000&producers=2&consumers=2&items=100000&batch=64&print=true
//
// What is left out keeps its zero value. The error names every mistake. The
// result is valid, except for Discard, which a URL cannot set.
func Parse(text string) (c Config, err error) {
	c.Rung, err = setting.FillURL(&c, "pipe", text)
	if c.Rung != "" {
		err = errors.Join(err, c.possible())
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}
