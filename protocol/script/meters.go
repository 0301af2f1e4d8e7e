package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"contend/load"
)

// meters are what virtual users measure: the metrics that every script has, those that this one makes,
// and the parts of them, by tags, that thresholds are about. Its methods may be called concurrently;
// parts are added before there are virtual users.
type meters struct {
	mu     sync.Mutex
	byName map[string]*meter
	last   int // how many there are
	// known are those that every script has. They and what they point at do not change once there are virtual users.
	known [len(builtIn)]*meter
	// asked are those that thresholds are about, which have a result in any case.
	asked []*load.Meter
}

// A meter is one of them, with its parts.
type meter struct {
	load.Meter
	parts []*part
}

// A part is what of a meter's values has some tags.
type part struct {
	load.Meter
	tags []tag
}

// A known is a metric that every script has, by its place among them.
type known int

// What every script measures.
const (
	mChecks known = iota
	mReceived
	mSent
	mDropped
	mGroup
	mGRPC
	mGRPCStreams
	mGRPCReceived
	mGRPCSent
	mBlocked
	mConnecting
	mDuration
	mFailed
	mReceiving
	mSending
	mHandshaking
	mWaiting
	mRequests
	mIteration
	mIterations
	mVUs
	mVUsMax
	mWSConnecting
	mWSReceived
	mWSSent
	mWSPing
	mWSSession
	mWSSessions
)

// builtIn are the names and kinds of these; their trends are milliseconds.
var builtIn = [...]struct {
	name string
	kind load.MeterKind
}{
	mChecks:       {"checks", load.RateMeter},
	mReceived:     {"data_received", load.CounterMeter},
	mSent:         {"data_sent", load.CounterMeter},
	mDropped:      {"dropped_iterations", load.CounterMeter},
	mGroup:        {"group_duration", load.TrendMeter},
	mGRPC:         {"grpc_req_duration", load.TrendMeter},
	mGRPCStreams:  {"grpc_streams", load.CounterMeter},
	mGRPCReceived: {"grpc_streams_msgs_received", load.CounterMeter},
	mGRPCSent:     {"grpc_streams_msgs_sent", load.CounterMeter},
	mBlocked:      {"http_req_blocked", load.TrendMeter},
	mConnecting:   {"http_req_connecting", load.TrendMeter},
	mDuration:     {"http_req_duration", load.TrendMeter},
	mFailed:       {"http_req_failed", load.RateMeter},
	mReceiving:    {"http_req_receiving", load.TrendMeter},
	mSending:      {"http_req_sending", load.TrendMeter},
	mHandshaking:  {"http_req_tls_handshaking", load.TrendMeter},
	mWaiting:      {"http_req_waiting", load.TrendMeter},
	mRequests:     {"http_reqs", load.CounterMeter},
	mIteration:    {"iteration_duration", load.TrendMeter},
	mIterations:   {"iterations", load.CounterMeter},
	mVUs:          {"vus", load.GaugeMeter},
	mVUsMax:       {"vus_max", load.GaugeMeter},
	mWSConnecting: {"ws_connecting", load.TrendMeter},
	mWSReceived:   {"ws_msgs_received", load.CounterMeter},
	mWSSent:       {"ws_msgs_sent", load.CounterMeter},
	mWSPing:       {"ws_ping", load.TrendMeter},
	mWSSession:    {"ws_session_duration", load.TrendMeter},
	mWSSessions:   {"ws_sessions", load.CounterMeter},
}

// expectedPart is the part of requests that every summary has.
const expectedPart = "http_req_duration{expected_response:true}"

// newMeters makes those that every script has.
func newMeters() *meters {
	m := &meters{byName: map[string]*meter{}}
	for i, b := range builtIn {
		m.known[i], _ = m.make(b.name, b.kind, b.kind == load.TrendMeter) // names are different
	}
	_, _ = m.part(expectedPart) // it can be read
	return m
}

var _ load.Metered = (*Target)(nil)

// An apart is what setup and teardown have measured, outside of iterations, and what iterations have that the end of
// the run cut off, such as those that hold a socket open.
type apart struct {
	mu   sync.Mutex
	flow load.Flow
	took time.Duration // setup and teardown
}

// pass notes how long setup or teardown took that began then.
func (a *apart) pass(began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took += time.Since(began)
}

// passed is how long they took since the last result.
func (a *apart) passed() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.took
}

// note keeps what a virtual user has measured.
func (a *apart) note(v *vu) {
	v.meterTraffic(v.traffic.Take())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flow.Checks = append(a.flow.Checks, v.flow.Checks...)
	a.flow.Readings = append(a.flow.Readings, v.flow.Readings...)
}

// settle adds it to a result, once.
func (a *apart) settle(c *load.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.Apart(&a.flow)
	a.flow = load.Flow{}
}

// Settle adds to the result of a run how long setup and teardown took, and what the script measured.
func (t *Target) Settle(c *load.Result) {
	t.settle(c)
	t.apart.mu.Lock()
	defer t.apart.mu.Unlock()
	c.Whole += t.apart.took
	t.apart.took = 0
}

// settle adds what is apart since the last time, what thresholds are about and nothing was
// measured of, the dropped iterations, how responses fall to virtual users, and what the script is.
func (t *Target) settle(c *load.Result) {
	c.Script = &t.script
	t.apart.settle(c)
	if shares := t.hearings.shares(); c.Plan.IsShared() && c.Shares == nil {
		c.Shares = shares
	}
	for _, m := range t.meters.asked {
		c.AddMeter(m)
	}
	if dropped := &t.meters.known[mDropped].Meter; c.Dropped > 0 || c.Meter(dropped.Name) != nil {
		c.AddMeter(dropped).Sum = float64(c.Dropped)
	}
}

// make returns the meter of a name, which is made where it is new, such as one that every script has; of another kind
// it is a mistake.
func (m *meters) make(name string, kind load.MeterKind, time bool) (*meter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.byName[name]; known != nil {
		if known.Kind != kind || known.Time != time {
			return nil, fmt.Errorf("metric %q is there already, as a %s", name, known.Kind)
		}
		return known, nil
	}
	made := &meter{Meter: load.Meter{ID: m.last, Name: name, Kind: kind, Time: time}}
	m.last++
	m.byName[name] = made
	return made, nil
}

// part returns the meter that a threshold is about, as in http_reqs{status:200}, which is made where it is new.
func (m *meters) part(text string) (*load.Meter, error) {
	name, rest, divided := strings.Cut(text, "{")
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := m.byName[strings.TrimSpace(name)]
	if whole == nil {
		return nil, fmt.Errorf("metric %q is not there%s", name, meant(name, slices.Collect(maps.Keys(m.byName))))
	}
	if !divided {
		return &whole.Meter, nil
	}
	list, closed := strings.CutSuffix(strings.TrimSpace(rest), "}")
	tags, err := readTagList(list)
	if !closed || err != nil {
		return nil, fmt.Errorf("metric is %q; expected metric{tag:value,tag:value}", text)
	}
	for _, known := range whole.parts {
		if slices.Equal(known.tags, tags) {
			return &known.Meter, nil
		}
	}
	made := &part{load.Meter{ID: m.last, Name: text, Kind: whole.Kind, Time: whole.Time}, tags}
	m.last++
	whole.parts = append(whole.parts, made)
	return &made.Meter, nil
}

// measure notes a value of a meter, also for the parts that it belongs to.
func (v *vu) measure(what known, value float64, of tagged) {
	v.value(v.target.meters.known[what], value, of)
}

func (v *vu) value(m *meter, value float64, of tagged) {
	v.flow.Readings = append(v.flow.Readings, load.Reading{Meter: &m.Meter, Value: value})
	for _, p := range m.parts {
		if v.has(p.tags, of) {
			v.flow.Readings = append(v.flow.Readings, load.Reading{Meter: &p.Meter, Value: value})
		}
	}
}
