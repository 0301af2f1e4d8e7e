package grpc

import (
	"context"
	"errors"
	"net/url"

	"contend/load"
	"contend/protocol/wire"
)

// Validate returns every mistake that can be seen without opening anything,
// except those that New finds.
func (c *Config) Validate() error {
	_, err := c.metadataOf()
	return errors.Join(c.Common.Check(c.Data), err)
}

// Open opens what is asked for, if it is valid.
func Open(ctx context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	m, err := c.Common.Read(around.Env)
	if err != nil {
		return nil, err
	}
	if c.DataFile != "" {
		c.Data = m.Body
	}
	if c.Metadata, err = c.metadataOf(); err != nil {
		return nil, err
	}
	if credentials := m.Auth.Value(); credentials != "" {
		c.Metadata["authorization"] = []string{credentials}
	}
	c.TLS, c.OwnCores, c.Slower = m.TLS, around.OwnCores, around.Slower
	if a, err := parseAddress(c.URL); err == nil { // New finds the same mistake
		p, err := around.Proxy(&url.URL{Scheme: "grpc", Host: a.hostPort})
		if err != nil {
			return nil, err
		}
		if p != nil {
			c.Dial = p.Tunnel(a.hostPort)
		}
	}
	return load.Opened(New(ctx, c))
}
