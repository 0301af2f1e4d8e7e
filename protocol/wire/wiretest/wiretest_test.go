package wiretest

import (
	"context"
	"errors"
	"testing"

	"contend/errkind"
	"contend/load"
	"contend/setting"
)

// A counting test counts its failures.
type counting struct {
	testing.TB
	errors int
}

func (*counting) Helper()                 {}
func (c *counting) Errorf(string, ...any) { c.errors++ }

func TestMistakes(t *testing.T) {
	good := setting.Setting{Name: "url"}.Wrong("is wrong")
	for _, tt := range []struct {
		give error
		want int
	}{
		{good, 0},
		{nil, 1},
		{errors.New("wrong"), 1}, // names no setting
		{setting.Setting{Name: "url"}.Wrong("is bad"), 1},        // says something else
		{errors.Join(good, errors.New("the secret is out")), 2},  // names no setting, and tells it
		{errors.New("the secret is out"), 3},                     // and says something else
		{errors.Join(good, errors.New("a"), errors.New("b")), 2}, // two name none
	} {
		c := &counting{TB: t}
		if Mistakes(c, tt.give, "wrong"); c.errors != tt.want {
			t.Errorf("%v: %d complaints, want %d", tt.give, c.errors, tt.want)
		}
	}
}

// Each iteration of a target ends in the same way.
func TestErrs(t *testing.T) {
	reset, late := &errkind.Error{Kind: errkind.Reset, Err: errors.New("x")}, &errkind.Error{Kind: errkind.Timeout, Err: errors.New("x")}
	for _, tt := range []struct {
		out   load.Outcome
		err   error
		kinds []errkind.Kind
		want  int // complaints about two iterations
	}{
		{load.Outcome{}, reset, []errkind.Kind{errkind.Closed, errkind.Reset}, 0},
		{load.Outcome{}, reset, []errkind.Kind{errkind.Closed}, 2},
		{load.Outcome{Request: "a"}, reset, []errkind.Kind{errkind.Reset}, 2},
		{load.Outcome{}, late, []errkind.Kind{errkind.Timeout}, 2}, // too early
		{load.Outcome{}, nil, []errkind.Kind{errkind.Closed}, 3},   // and no errors in the sum
	} {
		c := &counting{TB: t}
		Errs(c, load.Func(func(context.Context) (load.Outcome, error) { return tt.out, tt.err }), tt.kinds...)
		if c.errors != tt.want {
			t.Errorf("%v, %v of %v: %d complaints, want %d", tt.out, tt.err, tt.kinds, c.errors, tt.want)
		}
	}
}
