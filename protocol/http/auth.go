package http

import (
	"errors"
	"slices"
	"strings"

	"contend/protocol/wire"
)

// checkAuth refuses what cannot be sent, without showing it.
func checkAuth(a wire.Auth, header []wire.Field) error {
	var errs []error
	if a.Bearer != "" && (a.User != "" || a.Password != "") {
		errs = append(errs, errors.New("http: Auth has a Bearer token and a User: give one"))
	}
	if !wire.IsVisible(a.Bearer) {
		errs = append(errs, errors.New("http: Auth.Bearer holds a space or what is not printable ASCII"))
	}
	pair := wire.Field{Name: "Authorization", Value: a.User + a.Password}
	if pair.Check() != nil || strings.Contains(a.User, ":") {
		errs = append(errs, errors.New("http: Auth.User holds a colon, or it or Auth.Password a control character"))
	}
	given := slices.ContainsFunc(header, func(f wire.Field) bool { return strings.EqualFold(f.Name, "authorization") })
	if given && a != (wire.Auth{}) {
		errs = append(errs, errors.New("http: Auth beside a Header Authorization: give one"))
	}
	return errors.Join(errs...)
}
