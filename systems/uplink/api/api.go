// Package api is the HTTP API of the routing table and of the multicast groups,
// and the tokens of its customers. The file openapi.yaml describes it.
package api

import (
	_ "embed"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"contend/systems/uplink/table"
)

// Limits of a request.
const (
	// MaxHeaderBytes is for the http.Server in front of New: a select of 10 000
	// DevEUIs, 25 bytes each, is a request line of 250 kB, and twice that must pass.
	MaxHeaderBytes = 512 << 10
	// maxList is the body of a call with a list: about 200 000 DevEUIs.
	maxList = 4 << 20
	// maxBody is the body of any other call: 4 KiB of Details, each byte written
	// with six, and room.
	maxBody = 64 << 10
	// bodyTimeout is how long a body may take to arrive.
	bodyTimeout = 30 * time.Second
	// maxCalls is how many calls of a customer are served at once: what they hold in
	// memory, and what they ask of the database, has a bound that others do not feel.
	maxCalls = 16
	// turnTimeout is how long a further call waits for its turn.
	turnTimeout = 10 * time.Second
)

// Config is what the API serves.
type Config struct {
	Table  *table.Table
	Tokens *Tokens
	// Log gets internal errors; nil: nothing is logged.
	Log *slog.Logger
	// Called, if set, is called for every answer, concurrently, with the name of the
	// call, as "devices/insert", or "other", and the status.
	Called func(call string, status int)
}

// New returns the handler of everything below /api/v1/ and, the same, below
// /api/v1.0/. The server in front of it needs MaxHeaderBytes and a
// ReadHeaderTimeout; the time that a customer's body and an answer may take is limited
// here. That of somebody without a token is not read.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Called == nil {
		c.Called = func(string, int) {}
	}
	a := &api{Config: c, routes: make(map[string]route), turns: make(map[string]chan struct{})}
	for _, r := range routes() {
		a.routes[r.path] = r
	}
	return a
}

type api struct {
	Config
	routes map[string]route
	mu     sync.Mutex
	turns  map[string]chan struct{} // by customer; holds as many values as calls are being served
}

// A route is one call of the API.
type route struct {
	path, method string
	status       int   // of success
	maxBody      int64 // in bytes; 0: the body is not read
	handle       func(*api, *call) (any, error)
}

func routes() []route {
	const groups = "multicast/multicast-groups/"
	return []route{
		{"devices/select", http.MethodGet, http.StatusOK, 0, (*api).selectDevices},
		{"devices/insert", http.MethodPost, http.StatusCreated, maxBody, (*api).insertDevice},
		{"devices/update", http.MethodPost, http.StatusOK, maxBody, (*api).updateDevice},
		{"devices/drop", http.MethodPost, http.StatusOK, maxList, (*api).dropDevices},
		{"devices/drop-all", http.MethodPost, http.StatusOK, maxBody, (*api).dropAllDevices},
		{groups + "create", http.MethodPost, http.StatusCreated, maxBody, (*api).createGroup},
		{groups + "update", http.MethodPost, http.StatusOK, maxBody, (*api).updateGroup},
		{groups + "get", http.MethodPost, http.StatusOK, maxList, (*api).getGroups},
		{groups + "delete", http.MethodPost, http.StatusOK, maxList, (*api).deleteGroups},
		{groups + "add-device", http.MethodPost, http.StatusOK, maxBody, (*api).addToGroup},
		{groups + "remove-device", http.MethodPost, http.StatusOK, maxBody, (*api).removeFromGroup},
	}
}

// A call is one request of a known customer.
type call struct {
	*http.Request
	customer table.Customer
	body     []byte
	// about names what the call is about; an error repeats it.
	about string
}

//go:embed openapi.yaml
var description string

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v1.0/")
	if !ok {
		path, _ = strings.CutPrefix(r.URL.Path, "/api/v1/")
	}
	path = strings.TrimSuffix(path, "/")
	if path == "openapi.yaml" && read(r.Method) {
		w.Header().Set("Content-Type", "application/yaml") // RFC 9512
		a.Called(path, http.StatusOK)
		writeChunk(w, []byte(description))
		return
	}
	route, known := a.routes[path]
	if !known {
		route.path = "other"
	}
	status := route.status
	customer, f := a.admit(w, r, route)
	var result any
	if f == nil {
		defer a.done(customer)
		result, f = a.do(w, &call{Request: r, customer: table.Customer(customer)}, route)
	}
	if f != nil {
		a.report(route.path, f)
		status, result = f.status, f
	}
	a.Called(route.path, status)
	write(w, status, result)
}

func read(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// admit finds out whose call it is and waits for its turn. Without a failure, done
// must follow.
func (a *api) admit(w http.ResponseWriter, r *http.Request, route route) (customer string, f *failure) {
	customer, ok := a.Tokens.Authenticate(r)
	if !ok {
		LeaveBody(w, r)
		w.Header().Set("WWW-Authenticate", "Bearer")
		return "", unauthorized()
	}
	limitReading(w) // by the server, of a body that is not wanted
	switch {
	case route.handle == nil: // the empty one
		return "", unknown(http.StatusNotFound, "there is no such call; openapi.yaml in this place describes those that there are")
	case route.method != r.Method && !(read(route.method) && read(r.Method)):
		w.Header().Set("Allow", route.method)
		return "", unknown(http.StatusMethodNotAllowed, "this call is a %s", route.method)
	}
	select {
	case a.turn(customer) <- struct{}{}:
		return customer, nil
	case <-time.After(turnTimeout):
		return "", tooManyCalls()
	case <-r.Context().Done():
		return "", tooManyCalls() // nobody reads it any more
	}
}

func (a *api) done(customer string) { <-a.turn(customer) }

func (a *api) turn(customer string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	turn, ok := a.turns[customer]
	if !ok {
		turn = make(chan struct{}, maxCalls)
		a.turns[customer] = turn
	}
	return turn
}

// do reads the body and makes the call.
func (a *api) do(w http.ResponseWriter, c *call, route route) (any, *failure) {
	if route.maxBody > 0 {
		limitReading(w)
		var f *failure
		if c.body, f = readBody(w, c.Request, route.maxBody); f != nil {
			return nil, f
		}
	}
	// The server goes on reading, to learn when the customer goes away.
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	result, err := route.handle(a, c)
	if err != nil {
		return nil, failureOf(err, c.about)
	}
	return result, nil
}

// LeaveBody keeps the server from reading a body, which may never come: before the answer,
// as it does unless the connection is closed then, and after it.
func LeaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 { // -1: of any length
		w.Header().Set("Connection", "close")
		http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // a recorder in a test has none
	}
}

func limitReading(w http.ResponseWriter) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder in a test has none
}
