package roundtrip

import (
	"context"
	"slices"

	"contend/load"
	"contend/protocol/http"
	"contend/protocol/wire"
	"contend/setting"
)

// Open opens what is asked for, if it is valid: by package http where that speaks
// the version.
func Open(ctx context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	speaks, why := c.Speaks()
	switch {
	case speaks:
		return http.Open(ctx, c, around)
	case c.NeedsRequests():
		return nil, setting.At(&c, &c.Version).Wrong("is %s, but rows, placeholders, requests and checks do not apply to HTTP/%[1]s here: %s", c.Version, why)
	}
	m, err := c.Common.Read(around.Env)
	if err != nil {
		return nil, err
	}
	if c.DataFile != "" {
		c.Body, c.DataFile = m.Body, ""
	}
	c.TLS, c.Header = m.TLS, slices.Concat(c.Header, m.Auth.Fields())
	t, err := New(c)
	if err != nil {
		return nil, err // and no pointer that looks like a target
	}
	return t, nil
}
