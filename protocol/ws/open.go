package ws

import (
	"context"
	"errors"
	"slices"

	"contend/load"
	"contend/protocol/check"
	"contend/protocol/wire"
	"contend/setting"
)

// Validate returns every mistake that can be seen without opening anything,
// except those that New finds.
func (c *Config) Validate() error {
	at := setting.At(c, &c.Checks)
	errs := []error{c.Common.Check(c.Message), check.Each(at, c.Checks)}
	if checks, err := check.Parse(c.Checks...); err == nil {
		if needs := checks.Needs(); needs.Status || len(needs.Headers) > 0 {
			errs = append(errs, at.Wrong("look at what a message has not: it has neither status nor header"))
		}
	}
	return errors.Join(errs...)
}

// Open opens what is asked for, if it is valid.
func Open(_ context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	m, err := c.Common.Read(around.Env)
	checks, checkErr := check.Parse(c.Checks...)
	if err := errors.Join(err, setting.At(&c, &c.Checks).About(checkErr)); err != nil {
		return nil, err
	}
	if c.DataFile != "" {
		c.Message = m.Body
	}
	c.TLS, c.Header = m.TLS, slices.Concat(c.Header, m.Auth.Fields())
	if o, err := wire.ParseURL(c.URL, "ws", "wss"); err == nil { // New finds the same mistake
		p, err := around.Proxy(o.URL)
		if err != nil {
			return nil, err
		}
		if p != nil {
			c.Dial = p.Tunnel(o.Address)
		}
	}
	if checks.Len() > 0 {
		c.Check = func(message []byte) string {
			return checks.Run(check.Answer{Body: message, Size: int64(len(message))})
		}
	}
	return load.Opened(New(c))
}
