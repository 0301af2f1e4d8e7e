package script

import (
	"strconv"
	"sync"
	"time"

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

func (t *requestTags) given() tagMap { return t.tags }

func (t *requestTags) system(name string) (string, bool) {
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
	case "tls_version":
		return t.tlsVersion(), t.tls != nil
	case "ip":
		return t.remotePart(0), t.remote != nil
	case "expected_response":
		return strconv.FormatBool(t.right()), t.expected != nil
	case "error":
		return t.errorText(), t.err != nil
	case "error_code":
		code := t.errorCode()
		return strconv.Itoa(code), code != 0
	}
	return "", false
}

// right reports whether the answer is one that is expected.
func (t *requestTags) right() bool {
	return t.err == nil && (t.expected == nil || t.stuck == "" && t.expected(t.status))
}

// meterRequest measures a request.
func (v *vu) meterRequest(a *ask, r *reply) {
	of := &requestTags{a, r}
	v.measure(mRequests, 1, of)
	v.measure(mDuration, milliseconds(r.send+r.wait+r.receive), of)
	for _, phase := range [...]struct {
		what known
		time time.Duration
	}{{mBlocked, r.blocked}, {mConnecting, r.connect}, {mHandshaking, r.handshake}, {mSending, r.send}, {mWaiting, r.wait}, {mReceiving, r.receive}} {
		v.measure(phase.what, milliseconds(phase.time), of)
	}
	v.connecting += r.lookup + r.connect + r.handshake
	if a.expected != nil {
		v.measure(mFailed, truth(!of.right()), of)
	}
}

// meterIteration measures an iteration that has ended.
func (v *vu) meterIteration(out *load.Outcome) {
	v.measure(mIterations, 1, nil)
	v.measure(mIteration, milliseconds(v.ended.Sub(v.began)), nil)
	v.meterTraffic(out.BytesIn, out.BytesOut)
}

func (v *vu) meterTraffic(in, out int64) {
	v.measure(mReceived, float64(in), nil)
	v.measure(mSent, float64(out), nil)
}

// checkTags are those of a check.
type checkTags struct {
	name string
	own  tagMap
}

func (t checkTags) given() tagMap { return t.own }

func (t checkTags) system(name string) (string, bool) { return t.name, name == "check" }

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
