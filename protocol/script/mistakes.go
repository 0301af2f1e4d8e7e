package script

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"

	"github.com/grafana/sobek"

	"contend/load"
)

// A mistake is why a request cannot be sent: the error of its response.
type mistake struct {
	text string
	code int // its number among errors, as k6 has it
}

func (m *mistake) Error() string { return m.text }

// The numbers of mistakes. The others have none.
const (
	cannotSend = 1000 // the request is one, and counts as one that failed
	noURL      = 1020
)

// asked reads a request of the script. One with a mistake is not sent: as in k6 its response says so, unless
// options.throw is set. The iteration is wrong by it.
func (v *vu) asked(method string, arguments []sobek.Value, at int, hasBody bool) (*ask, *response) {
	v.ready()
	a := new(ask)
	thrown := v.rt.Try(func() { v.ask(a, method, arguments, at, hasBody) })
	if thrown == nil {
		return a, nil
	}
	if v.target.Options.Throw {
		panic(thrown)
	}
	text := v.explain(thrown).Error()
	v.goOn(text)
	why := &mistake{text, a.mistaken}
	if o, ok := thrown.Value().(*sobek.Object); ok && o.Get("message") != nil {
		why.text = o.Get("message").String()
	}
	r := &reply{err: why}
	if a.url == nil {
		a.url = new(url.URL)
	}
	answer := &response{v: v, reply: r, ask: a, from: a.url}
	if a.mistaken == cannotSend {
		v.meterRequest(a, r)
	} else {
		answer.Set("body", v.rt.NewArray()) // an empty one, as k6 has it
	}
	return a, answer
}

// goOn has a mistake be no exception: it is said once, and the iteration is wrong.
func (v *vu) goOn(text string) {
	v.target.console.once(text + "; it is not sent")
	v.wrong(load.Outcome{Check: "exception", Detail: []byte(text)})
}

// numberOf is the number of an error: a mistake's own, of some failures of TLS, or else that of its kind.
func numberOf(err error) int {
	if m, is := errors.AsType[*mistake](err); is {
		return m.code
	}
	if _, other := errors.AsType[x509.HostnameError](err); other {
		return 1311
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return 1301
	}
	return errorCode(err)
}
