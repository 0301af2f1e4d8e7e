package http

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"contend/protocol/wire"
)

// Auth is sent as the Authorization field of every request. Neither errors nor
// any form of printing show it. The zero value sends none.
type Auth struct {
	// User and Password are those of Basic authentication (RFC 7617).
	User, Password string
	// Bearer is a token (RFC 6750), instead of a user.
	Bearer string
}

// Format prints that something is set, but not what, whatever the verb.
func (a Auth) Format(f fmt.State, _ rune) {
	if a != (Auth{}) {
		_, _ = f.Write([]byte("(hidden)"))
	}
}

// MarshalText hides the same from encoders.
func (a Auth) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(a)), nil }

// value returns the field's value.
func (a Auth) value() string {
	switch {
	case a.Bearer != "":
		return "Bearer " + a.Bearer
	case a.User != "" || a.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.User+":"+a.Password))
	}
	return ""
}

func (a Auth) check(header []wire.Field) error {
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
	if given && a != (Auth{}) {
		errs = append(errs, errors.New("http: Auth beside a Header Authorization: give one"))
	}
	return errors.Join(errs...)
}
