package wiretest

import (
	"context"
	"errors"
	"testing"
	"time"

	"contend/errkind"
	"contend/load"
	"contend/setting"
)

// A counting test counts what it is told.
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

// A failing VU ends each iteration in the same way.
type failing struct {
	out load.Outcome
	err error
}

func (f failing) Do(context.Context) (load.Outcome, error) { return f.out, f.err }
func (failing) SetTimeout(time.Duration)                   {}

func TestHostile(t *testing.T) {
	reset, late := &errkind.Error{Kind: errkind.Reset, Err: errors.New("x")}, &errkind.Error{Kind: errkind.Timeout, Err: errors.New("x")}
	for _, tt := range []struct {
		vu    failing
		kinds []errkind.Kind
		want  int // two iterations
	}{
		{failing{err: reset}, []errkind.Kind{errkind.Closed, errkind.Reset}, 0},
		{failing{err: reset}, []errkind.Kind{errkind.Closed}, 2},
		{failing{load.Outcome{Status: 200}, reset}, []errkind.Kind{errkind.Reset}, 2},
		{failing{err: late}, []errkind.Kind{errkind.Timeout}, 2}, // too early
	} {
		c := &counting{TB: t}
		if Hostile(c, tt.vu, time.Minute, tt.kinds...); c.errors != tt.want {
			t.Errorf("%v of %v: %d complaints, want %d", tt.vu, tt.kinds, c.errors, tt.want)
		}
	}
}
