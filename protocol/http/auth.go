package http

import (
	"errors"
	"slices"
	"strings"

	"contend/protocol/wire"
	"contend/setting"
)

// checkAuth refuses what cannot be sent, without showing it.
func (c *Config) checkAuth() error {
	var errs []error
	wrong := func(field any, text string) { errs = append(errs, setting.At(c, field).Wrong("%s", text)) }
	a := c.Auth
	if a.Bearer != "" && (a.User != "" || a.Password != "") {
		wrong(&c.Bearer, "cannot be combined with basic_auth; use one of them")
	}
	if !wire.IsVisible(a.Bearer) {
		wrong(&c.Bearer, "holds a space or what is not printable ASCII")
	}
	pair := wire.Field{Name: "Authorization", Value: a.User + a.Password}
	if pair.Check() != nil || strings.Contains(a.User, ":") {
		wrong(&c.BasicAuth, "holds a user with a colon, or a control character")
	}
	given := slices.IndexFunc(c.Header, func(f wire.Field) bool { return strings.EqualFold(f.Name, "authorization") })
	if given >= 0 && a != (wire.Auth{}) {
		errs = append(errs, c.inHeader(given, "Authorization cannot be combined with basic_auth or bearer; use one of them"))
	}
	return errors.Join(errs...)
}
