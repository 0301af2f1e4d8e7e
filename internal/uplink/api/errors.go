package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"contend/internal/uplink/table"
)

// A failure is the answer to a call that failed. Customers go by the code; the
// status is ours.
type failure struct {
	status int
	code   string
	text   string
	detail []problem // of a ValidationFailed
	cause  error     // what is logged, and never told; nil: nothing
}

// A problem is one thing that is wrong with the input.
type problem struct {
	// Loc is where: "body" or "query", then keys and indexes.
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

// The codes that customers know.
const (
	codeUnknown       = "Unknown"
	codeUnauthorized  = "Unauthorized"
	codeValidation    = "ValidationFailed"
	codeDeviceExists  = "Device.AlreadyExists"
	codeDeviceLimit   = "Device.LimitExhausted"
	codeNoDevice      = "Device.NotFound"
	codeGroupExists   = "MulticastGroup.AlreadyExists"
	codeNoGroup       = "MulticastGroup.NotFound"
	codeGroupContains = "MulticastGroup.AlreadyContainsTheDevice"
)

func (f *failure) Error() string { return f.code + ": " + f.text }

func (f *failure) MarshalJSON() ([]byte, error) {
	type detail struct {
		Code        string    `json:"error_code"`
		Description string    `json:"error_description"`
		Detail      []problem `json:"error_detail"`
	}
	return json.Marshal(struct {
		Detail detail `json:"detail"`
	}{detail{f.code, f.text, f.detail}})
}

func unauthorized() *failure {
	return &failure{status: http.StatusUnauthorized, code: codeUnauthorized,
		text: "the bearer token is missing, unknown or expired"}
}

func noSuchCall() *failure {
	return &failure{status: http.StatusNotFound, code: codeUnknown,
		text: "there is no such call; openapi.yaml in this place describes those that there are"}
}

func wrongMethod(want string) *failure {
	return &failure{status: http.StatusMethodNotAllowed, code: codeUnknown, text: "this call is a " + want}
}

func tooManyCalls() *failure {
	return &failure{status: http.StatusTooManyRequests, code: codeUnknown,
		text: fmt.Sprintf("more than %d calls at once", maxCalls)}
}

func invalid(where string, problems []problem) *failure {
	return &failure{status: http.StatusUnprocessableEntity, code: codeValidation,
		text: "bad request " + where, detail: problems}
}

func tooLarge(limit int64) *failure {
	text := fmt.Sprintf("longer than %d bytes", limit)
	return &failure{status: http.StatusRequestEntityTooLarge, code: codeValidation, text: "request body " + text,
		detail: []problem{{Loc: []any{"body"}, Msg: text, Type: typeValue}}}
}

// failureOf turns what a handler returned into an answer. It says nothing about
// the rows of other customers: their devices are not found, as those that do not
// exist, and to have one inserted tells no more than that it is taken.
func failureOf(err error, about string) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	f := &failure{}
	switch {
	case errors.Is(err, table.ErrDeviceExists):
		f.status, f.code, f.text = http.StatusConflict, codeDeviceExists, "the device exists already"
	case errors.Is(err, table.ErrDeviceLimit):
		f.status, f.code, f.text = http.StatusForbidden, codeDeviceLimit, "no further device is allowed"
	case errors.Is(err, table.ErrDeviceNotFound):
		f.status, f.code, f.text = http.StatusNotFound, codeNoDevice, "no such device in the routing table"
	case errors.Is(err, table.ErrGroupExists):
		f.status, f.code, f.text = http.StatusConflict, codeGroupExists, "the group exists already"
	case errors.Is(err, table.ErrGroupNotFound):
		f.status, f.code, f.text = http.StatusNotFound, codeNoGroup, "no such group"
	case errors.Is(err, table.ErrGroupContains):
		f.status, f.code, f.text = http.StatusConflict, codeGroupContains, "the group contains the device already"
	case errors.Is(err, table.ErrInvalid):
		f.status, f.code, f.text, f.cause = http.StatusUnprocessableEntity, codeValidation, "a value cannot be stored", err
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.status, f.code, f.cause = http.StatusServiceUnavailable, codeUnknown, err
		f.text = "the database cannot be reached, and what was to be written may be lost; try again later"
	default:
		f.status, f.code, f.text, f.cause = http.StatusInternalServerError, codeUnknown, "internal error", err
	}
	if about != "" {
		f.text += ": " + about
	}
	return f
}

// report logs a failure that is ours.
func (a *api) report(call string, f *failure) {
	if f.cause != nil {
		a.Log.Error("call failed", "call", call, "status", f.status, "error", f.cause)
	}
}
