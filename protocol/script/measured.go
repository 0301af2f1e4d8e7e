package script

import (
	"strconv"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"contend/load"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// requestTags are those of a request of HTTP and of its answer.
type requestTags struct {
	*ask
	*reply
}

func (t *requestTags) tag(name string) (string, bool) {
	if value, ok := t.tags[name]; ok {
		return value, true
	}
	switch name {
	case "name":
		if t.named {
			return t.name, true
		}
		return t.url.String(), true
	case "url":
		return t.url.String(), true
	case "method":
		return t.method, true
	case "status":
		return strconv.Itoa(t.status), true
	case "proto":
		return t.proto, t.proto != ""
	case "expected_response":
		return strconv.FormatBool(t.right()), t.expected != nil
	case "error_code":
		code := t.errorCode()
		return strconv.Itoa(code), code != 0
	}
	return "", false
}

// right says whether the answer is one that is expected.
func (t *requestTags) right() bool {
	return t.err == nil && (t.expected == nil || t.expected(t.status))
}

// meterRequest measures a request.
func (v *vu) meterRequest(a *ask, r *reply) {
	of := &requestTags{a, r}
	v.measure(mRequests, 1, of)
	v.measure(mDuration, milliseconds(r.send+r.wait+r.receive), of)
	for _, phase := range [...]struct {
		what known
		time time.Duration
	}{{mBlocked, r.blocked}, {mConnecting, r.lookup + r.connect}, {mHandshaking, r.handshake}, {mSending, r.send}, {mWaiting, r.wait}, {mReceiving, r.receive}} {
		v.measure(phase.what, milliseconds(phase.time), of)
	}
	if a.expected != nil {
		v.measure(mFailed, truth(!of.right()), of)
	}
}

// meterIteration measures an iteration that has ended.
func (v *vu) meterIteration(out *load.Outcome) {
	v.measure(mIterations, 1, nil)
	v.measure(mIteration, milliseconds(time.Since(v.began)), nil)
	v.measure(mReceived, float64(out.BytesIn), nil)
	v.measure(mSent, float64(out.BytesOut), nil)
	v.measure(mVUs, float64(v.target.tally.users.Load()), nil)
	v.measure(mVUsMax, float64(v.target.tally.users.Load()), nil)
}

// checkTags are those of a check.
type checkTags struct {
	name string
	own  tagMap
}

func (t checkTags) tag(name string) (string, bool) {
	if name == "check" {
		return t.name, true
	}
	return t.own.tag(name)
}

// ownTags is an object with the tags that the script gives the virtual user: of all that it measures from then on.
func (v *vu) ownTags() *sobek.Object {
	if v.tags == nil {
		v.tags = map[string]string{}
	}
	return v.rt.NewDynamicObject(&tagObject{v})
}

// A tagObject is those tags as the script sees them.
type tagObject struct{ v *vu }

var _ sobek.DynamicObject = (*tagObject)(nil)

func (o *tagObject) Get(name string) sobek.Value {
	if value, ok := o.v.tags[name]; ok {
		return o.v.rt.ToValue(value)
	}
	return nil
}

// Set keeps text, numbers and truths.
func (o *tagObject) Set(name string, value sobek.Value) bool {
	if _, is := value.(*sobek.Object); is || sobek.IsUndefined(value) || sobek.IsNull(value) {
		o.v.throw("tag %s is set to %s; allowed: text, numbers, true and false", name, harmless(value))
	}
	o.v.tags[name] = value.String()
	return true
}

func (o *tagObject) Has(name string) bool { _, ok := o.v.tags[name]; return ok }

func (o *tagObject) Delete(name string) bool { delete(o.v.tags, name); return true }

func (o *tagObject) Keys() (names []string) {
	for name := range o.v.tags {
		names = append(names, name)
	}
	return names
}

// maxGroups bounds how many groups a summary has: names may have been made of data.
const maxGroups = 1000

// groups are the paths of those that the script was in, in the order of their first.
type groups struct {
	mu    sync.Mutex
	known map[string]bool
	all   []string
}

func (g *groups) note(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[string]bool{}
	}
	if !g.known[path] && len(g.all) < maxGroups {
		g.known[path] = true
		g.all = append(g.all, path)
	}
}
