package grpc

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"contend/load"
	"contend/protocol/wire"
	"contend/setting"
)

// Validate returns every mistake in what is asked for that can be seen without
// opening anything, but for those that New finds.
func (c *Config) Validate() error {
	_, err := c.metadata()
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
	if c.Metadata, err = c.metadata(); err != nil {
		return nil, err
	}
	if credentials := m.Auth.Value(); credentials != "" {
		c.Metadata["authorization"] = []string{credentials}
	}
	c.TLS, c.OwnCores = m.TLS, around.OwnCores
	t, err := New(ctx, c)
	if err != nil {
		return nil, err // and no pointer that looks like a target
	}
	return t, nil
}

// metadata is the header with binary values decoded.
func (c *Config) metadata() (map[string][]string, error) {
	metadata := map[string][]string{}
	var errs []error
	for i, f := range c.Header {
		key, value := strings.ToLower(f.Name), f.Value
		if strings.HasSuffix(key, "-bin") {
			decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
			if err != nil {
				m := setting.At(c, &c.Header).Wrong("%s is wrong: the value of a key that ends in -bin is not base64", f.Name)
				m.Index = i
				errs = append(errs, m)
			}
			value = string(decoded)
		}
		metadata[key] = append(metadata[key], value)
	}
	return metadata, errors.Join(errs...)
}
