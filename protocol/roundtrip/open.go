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
// the version. Through a proxy of the environment HTTP/2 needs a tunnel.
func Open(ctx context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	speaks, why := c.Speaks()
	if c.Version == "2" || c.Version == "3" {
		o, err := readURL(c)
		if err != nil {
			return nil, err
		}
		p, err := around.Proxy(o.URL)
		switch {
		case err != nil:
			return nil, err
		case p != nil && c.Version == "3":
			return nil, p.Refuse(o.URL, "HTTP/3")
		case p != nil:
			c.Dial, speaks, why = p.Tunnel(o.Address), false, "it goes through a proxy"
		}
	}
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
	return load.Opened(New(c))
}
