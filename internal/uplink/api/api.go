// Package api is the HTTP API of the routing table and of the multicast groups,
// and the tokens of its customers. The file openapi.yaml describes it.
package api

import (
	_ "embed"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"contend/internal/uplink/table"
)

// Limits of a request.
const (
	// MaxHeaderBytes is for the http.Server in front of New: a select of 10 000
	// DevEUIs, 25 bytes each, is a request line of 250 kB, and twice that must pass.
	MaxHeaderBytes = 512 << 10
	// maxList is the body of a call with a list: some 200 000 DevEUIs.
	maxList = 4 << 20
	// maxBody is the body of any other call: 4 KiB of Details, each byte written
	// with six, and room.
	maxBody = 64 << 10
	// bodyTimeout is how long a body may take to arrive.
	bodyTimeout = 30 * time.Second
)

// Config is what the API serves.
type Config struct {
	Table  *table.Table
	Tokens *Tokens
	// Log gets the failures that are ours; nil: nothing is logged.
	Log *slog.Logger
	// Called is told of every answer: the call, as "devices/insert", or "other",
	// and the status. It is called concurrently. Nil: nobody is told.
	Called func(call string, status int)
}

// New returns the handler of everything below /api/v1/ and, the same, below
// /api/v1.0/. The server in front of it needs MaxHeaderBytes and a
// ReadHeaderTimeout; the time that a body and an answer may take is limited here.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Called == nil {
		c.Called = func(string, int) {}
	}
	a := &api{Config: c, routes: make(map[string]route)}
	for _, r := range routes() {
		a.routes[r.path] = r
	}
	return a
}

type api struct {
	Config
	routes map[string]route
}

// A route is one call of the API.
type route struct {
	path, method string
	status       int   // of success
	maxBody      int64 // in bytes
	handle       func(*api, *call) (any, error)
}

func routes() []route {
	const groups = "multicast/multicast-groups/"
	return []route{
		{"devices/select", http.MethodGet, http.StatusOK, maxBody, (*api).selectDevices},
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
var description []byte

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v1.0/")
	if !ok {
		path, _ = strings.CutPrefix(r.URL.Path, "/api/v1/")
	}
	path = strings.TrimSuffix(path, "/")
	if path == "openapi.yaml" && read(r.Method) {
		w.Header().Set("Content-Type", "application/yaml") // RFC 9512
		w.Write(description)
		a.Called(path, http.StatusOK)
		return
	}
	route, known := a.routes[path]
	if !known {
		route.path = "other"
	}
	status := route.status
	result, f := a.do(w, r, route)
	if f != nil {
		a.report(route.path, f)
		status, result = f.status, f
	}
	a.Called(route.path, status)
	a.write(w, status, result)
}

func read(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// do makes a call; a route without a handle is none.
func (a *api) do(w http.ResponseWriter, r *http.Request, route route) (any, *failure) {
	// The deadline also ends the server's own reading of a body that is not wanted.
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a recorder in a test has none
	customer, ok := a.Tokens.Authenticate(r)
	switch {
	case !ok:
		w.Header().Set("WWW-Authenticate", "Bearer")
		return nil, unauthorized()
	case route.handle == nil:
		return nil, noSuchCall()
	case route.method != r.Method && !(read(route.method) && read(r.Method)):
		w.Header().Set("Allow", route.method)
		return nil, wrongMethod(route.method)
	}
	body, f := readBody(w, r, route.maxBody)
	if f != nil {
		return nil, f
	}
	control.SetReadDeadline(time.Time{}) // the server goes on reading, to learn when the customer goes away
	c := &call{Request: r, customer: table.Customer(customer), body: body}
	result, err := route.handle(a, c)
	if err != nil {
		return nil, failureOf(err, c.about)
	}
	return result, nil
}
