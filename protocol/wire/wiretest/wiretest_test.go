package wiretest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
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

// A server answers as often as it says over one connection.
func TestServers(t *testing.T) {
	for name, tt := range map[string]struct {
		serve func(net.Conn)
		want  int
	}{
		"answering": {Answering(OK), 5}, "one by one": {OneByOne(0), 5}, "forgetful": {Forgetful(3, func(net.Conn) {}), 3}, "limited": {Limited(3), 3},
	} {
		conn, err := net.Dial("tcp", Listen(t, tt.serve))
		testenv.Must(t, err)
		defer conn.Close()
		answers := 0
		for from := bufio.NewReader(conn); answers < 5; answers++ {
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			answer, err := http.ReadResponse(from, nil)
			if err != nil {
				break
			}
			_, _ = io.Copy(io.Discard, answer.Body)
		}
		if answers != tt.want {
			t.Errorf("%s: %d answers, want %d", name, answers, tt.want)
		}
	}
}

// A run says which engine drove it, and what it counted.
func TestOver(t *testing.T) {
	target := load.Func(func(context.Context) (load.Outcome, error) { return load.Outcome{Status: 200, BodyIn: 3}, nil })
	c := &counting{TB: t}
	r := Over(c, load.Goroutines, target, load.Plan{VUs: 1, Iterations: 2})
	if a := AccountOf(r); c.errors != 0 || a.Completed != 2 || a.BodyIn != 6 || a.Statuses[200] != 2 {
		t.Errorf("%d complaints, counted %+v", c.errors, a)
	}
	if By(c, load.EventLoop, target, load.Plan{VUs: 1, Iterations: 2}); c.errors != 1 {
		t.Errorf("%d complaints about another engine, want 1", c.errors)
	}
}
