package http

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"contend/load"
	"contend/loop"
	"contend/protocol/check"
	"contend/protocol/data"
	"contend/protocol/wire"
	"contend/setting"
)

// Validate returns every mistake that can be seen without opening anything,
// except those that New finds.
func (c *Config) Validate() error {
	errs := []error{c.CheckRequest(), c.Common.Check(c.Body), c.Settings.Check(), check.Each(setting.At(c, &c.Checks), c.Checks)}
	for _, field := range []struct {
		at    any
		wrong bool
	}{
		{&c.Sharing, !c.streams() && c.Sharing != wire.Connections{}},
		{&c.UnixSocket, c.streams() && c.UnixSocket != ""},
		{&c.DisableKeepAlive, c.streams() && c.DisableKeepAlive},
	} {
		if field.wrong {
			errs = append(errs, setting.At(c, field.at).Wrong("does not apply to HTTP/%s", c.Version))
		}
	}
	return errors.Join(errs...)
}

// CanRead returns the mistakes in files and secrets.
func (c *Config) CanRead(env func(string) (string, bool)) error {
	_, err := c.Settings.Read()
	return errors.Join(c.Common.CanRead(env), err)
}

// streams reports whether the version of HTTP has them.
func (c *Config) streams() bool { return c.HTTP2 || c.Version == "2" || c.Version == "3" }

// Speaks reports whether this package can do what is asked for, and if not, why.
func (c *Config) Speaks() (ok bool, why string) {
	switch {
	case c.Version == "3":
		return false, "only HTTP/1.1 and HTTP/2 have them"
	case c.Version != "2":
		return true, ""
	case c.Engine != "":
		return false, "event loops are switched off"
	}
	return loop.Supported()
}

// NeedsRequests reports whether requests or answers need more than to be sent and
// counted, which only this package does.
func (c *Config) NeedsRequests() bool {
	return c.Rows != "" || len(c.Requests) > 0 || len(c.Checks) > 0 || c.hasPlaceholders()
}

// hasPlaceholders reports whether something is to be filled in for each iteration.
func (c *Config) hasPlaceholders() bool {
	texts, headers := [][]byte{[]byte(c.URL), c.Body}, slices.Clone(c.Header)
	for _, r := range c.Requests {
		texts, headers = append(texts, []byte(r.Path), r.Body), append(headers, r.Header...)
	}
	for _, f := range headers {
		texts = append(texts, []byte(f.Name), []byte(f.Value))
	}
	return slices.ContainsFunc(texts, func(text []byte) bool { return bytes.Contains(text, []byte("{{")) })
}

// throughProxy has requests go through the proxy that the environment names for the URL: for http as
// they are, with the whole URL, and for https through a tunnel.
func (c *Config) throughProxy(around wire.Surroundings) error {
	o, err := c.origin()
	if err != nil || o.network == "unix" {
		return nil // New finds the same mistake
	}
	p, err := around.Proxy(o.URL)
	switch {
	case p == nil || err != nil:
		return err
	case o.Secure:
		c.Dial, c.DialWords = p.Tunnel(o.Address), "a tunnel through a proxy (HTTPS_PROXY)"
	default:
		c.Proxy, c.Header = p.Address(), slices.Concat(c.Header, p.Fields())
	}
	return nil
}

// Open opens what is asked for, if it is valid and Speaks allows it.
func Open(_ context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	m, err := c.Common.Read(around.Env)
	rows, rowsErr := c.Settings.Read()
	if err := errors.Join(err, rowsErr); err != nil {
		return nil, err
	}
	if c.DataFile != "" {
		c.Body, c.DataFile = m.Body, ""
	}
	c.Auth, c.TLS, c.OwnCores = m.Auth, m.TLS, around.OwnCores
	if c.HTTP2 = c.Version == "2"; c.HTTP2 {
		c.DisableKeepAlive, c.Connections = c.Sharing.Sharing == wire.PerIteration, c.Sharing.Pool()
	}
	if err := c.throughProxy(around); err != nil {
		return nil, err
	}
	c.Requests = slices.Clone(c.Requests)
	for i := range c.Requests {
		if len(c.Requests[i].Body) == 0 {
			c.Requests[i].Body = nil // that of the Config
		}
	}
	if rows != nil || c.hasPlaceholders() {
		c.Data = &data.Source{Rows: rows, Order: c.RowOrder, VUs: around.VUs, Share: around.Share, Seed: around.Seed}
	}
	return load.Opened(New(c))
}
