package roundtrip

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"contend/load"
	"contend/protocol/http"
	"contend/protocol/wire"
)

// Open opens what is asked for, if it is valid: by package http where that speaks
// the version.
func Open(ctx context.Context, c http.Config, around wire.Surroundings) (load.Target, error) {
	speaks, why := c.Speaks()
	switch {
	case speaks:
		return http.Open(ctx, c, around)
	case c.NeedsRequests():
		return nil, fmt.Errorf("target %q: rows, placeholders, requests and checks do not apply to HTTP/%s here: %s", c.URL, c.Version, why)
	}
	m, err := c.Common.Read(around.Env)
	if err != nil {
		return nil, err
	}
	own := Config{
		URL: c.URL, Method: c.Method, Body: c.Body, ExpectStatus: c.ExpectStatus, TLS: m.TLS,
		Connections: c.Sharing, Header: slices.Concat(c.Header, m.Auth.Fields()),
	}
	if c.DataFile != "" {
		own.Body = m.Body
	}
	own.Version, _ = strconv.Atoi(c.Version)
	t, err := New(own)
	if err != nil {
		return nil, err // and no pointer that looks like a target
	}
	return t, nil
}
