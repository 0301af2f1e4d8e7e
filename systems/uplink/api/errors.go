package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"contend/systems/uplink/table"
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

// unknown is a failure for which customers know no code.
func unknown(status int, format string, args ...any) *failure {
	return &failure{status: status, code: codeUnknown, text: fmt.Sprintf(format, args...)}
}

func tooManyCalls() *failure {
	return unknown(http.StatusTooManyRequests, "more than %d calls at once", maxCalls)
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

// failures are what the table's errors mean. They say nothing about the rows of
// other customers: their devices are not found, as those that do not exist, and to
// have one inserted tells no more than that it is taken.
var failures = []struct {
	err  error
	told failure
}{
	{table.ErrDeviceExists, failure{status: http.StatusConflict, code: codeDeviceExists, text: "the device exists already"}},
	{table.ErrDeviceLimit, failure{status: http.StatusForbidden, code: codeDeviceLimit, text: "the customer has as many devices as it may have"}},
	{table.ErrDeviceNotFound, failure{status: http.StatusNotFound, code: codeNoDevice, text: "no such device in the routing table"}},
	{table.ErrGroupExists, failure{status: http.StatusConflict, code: codeGroupExists, text: "the group exists already"}},
	{table.ErrGroupNotFound, failure{status: http.StatusNotFound, code: codeNoGroup, text: "no such group"}},
	{table.ErrGroupContains, failure{status: http.StatusConflict, code: codeGroupContains, text: "the group contains the device already"}},
}

// failureOf turns what a handler returned into an answer.
func failureOf(err error, about string) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	f := &failure{status: http.StatusInternalServerError, code: codeUnknown, text: "internal error", cause: err}
	switch {
	case errors.Is(err, table.ErrInvalid):
		f.status, f.code, f.text = http.StatusUnprocessableEntity, codeValidation, "a value cannot be stored"
	case errors.Is(err, table.ErrFull):
		f.status = http.StatusServiceUnavailable
		f.text = "the disk of the database is full, and nothing was written; try again later"
	case errors.Is(err, table.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f.status = http.StatusServiceUnavailable
		f.text = "the database cannot be reached, and what was to be written may be lost; try again later"
	}
	for _, known := range failures {
		if errors.Is(err, known.err) {
			*f = known.told
		}
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
