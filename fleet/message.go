package fleet

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"contend/load"
	"contend/pace"
	"contend/setting"
)

// What each subject is for: workers announce themselves on helloSubject, coordinators on
// pulseSubject; each worker gets orders, and each coordinator requests for what it offers, on a
// subject of its own; and the progress of a run is published on one of its session.
const (
	helloSubject      = "contend.hello"
	pulseSubject      = "contend.pulse"
	orderPrefix       = "contend.worker."
	coordinatorPrefix = "contend.coordinator."
	livePrefix        = "contend.live."
)

// Everybody announces itself each beat; a peer that has not for as long as silence is gone. A peer
// without an answer asks again after patience.
const (
	beat     = time.Second
	patience = time.Second
)

var silence = 10 * time.Second // longer in tests, which share a full machine

// A Worker is what a worker says of itself.
type Worker struct {
	ID      string `json:"id"` // of the process
	Name    string `json:"name"`
	Machine string `json:"machine"` // tells apart which share cores
	Version string `json:"version"`
	Form    string `json:"form"` // in which it sends results: load.SentForm
	Cores   int    `json:"cores"`
	Busy    string `json:"busy,omitempty"`     // the coordinator that it has callers of; "": none
	BusyFor string `json:"busy_for,omitempty"` // what that is called
	// LimitPerSec is how many requests a second it can send, as it has measured once; 0: not known.
	LimitPerSec float64 `json:"limit_per_s,omitempty"`
	// Subjects are those that it starts, by name.
	Subjects []string `json:"subjects,omitempty"`
}

// A pulse is what a coordinator says of itself.
type pulse struct {
	From     string   `json:"from"`
	Number   uint64   `json:"number"`
	Sessions []string `json:"sessions"` // that it has; workers end all others of it
}

// lastPulse is the number of that which somebody else sends for a coordinator that is gone.
const lastPulse = math.MaxUint64

// An order is what the coordinator asks of a worker: one of Open, Drive, Close and Fetch. Without a
// session it is asked for its clock.
//
// It is sent again until it is answered, and may come twice: a worker opens, and drives, once for each
// number, and answers the same whenever it is asked.
type order struct {
	From    string   `json:"from"` // the coordinator
	Session string   `json:"session,omitempty"`
	Number  int      `json:"number,omitempty"` // in the session, from 1
	Open    *opening `json:"open,omitempty"`
	Drive   *driving `json:"drive,omitempty"`
	Cancel  bool     `json:"cancel,omitempty"` // what is driven is to end now
	Fetch   int      `json:"fetch,omitempty"`  // a piece of the result, from there
	Close   bool     `json:"close,omitempty"`
}

// An opening is about the callers of one worker.
type opening struct {
	Scene parcel     `json:"scene"` // offered by the coordinator
	VUs   int        `json:"vus"`
	Share pace.Share `json:"share"`
	Name  string     `json:"name"`  // of the coordinator
	Pulse uint64     `json:"pulse"` // its last one
	// Measure asks it to measure itself instead of making callers.
	Measure *measuring `json:"measure,omitempty"`
}

// A scene is what the callers of all workers are made of.
type scene struct {
	Target map[string]setting.Value `json:"target"`          // by names of settings
	Paths  map[string][]string      `json:"paths,omitempty"` // settings that name files, or folders of some
	Files  map[string][]byte        `json:"files,omitempty"` // by their paths
	VUs    int                      `json:"vus"`
	Seed   uint64                   `json:"seed"`
}

// A driving is a run.
type driving struct {
	Plan  json.RawMessage `json:"plan"`
	Begin time.Duration   `json:"begin_ns"` // by the worker's clock
}

// A fetching asks a coordinator for a piece of the scene of a session.
type fetching struct {
	Session string `json:"session"`
	Offset  int    `json:"offset"`
}

// A reply answers an order. The first piece of the result of a run follows it.
type reply struct {
	Error string `json:"error,omitempty"`
	// Got and Sent are when the order came and the reply left, by the worker's clock.
	Got    time.Duration `json:"got_ns"`
	Sent   time.Duration `json:"sent_ns"`
	Result parcel        `json:"result,omitzero"`
}

// encode returns a message; encoding never fails for these types.
func encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return text
}

// withPiece returns a message followed by a piece; a zero byte separates them, which JSON does not have.
func withPiece(message any, piece []byte) []byte {
	return append(append(encode(message), 0), piece...)
}

// decode reads a message, and returns the piece after it.
func decode(b []byte, message any) (piece []byte, err error) {
	text, piece, _ := bytes.Cut(b, []byte{0})
	return piece, json.Unmarshal(text, message)
}

// same reports whether a plan is that which was sent: what one of two builds does not know is missing from it.
func same(sent json.RawMessage, plan load.Plan) bool { return bytes.Equal(sent, encode(plan)) }
