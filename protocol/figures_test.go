package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	xws "golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"contend/hist"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
	"contend/systems/counter/counterpb"
)

// The tests of this file hold every figure of a result against every engine that can drive a load, with TLS and
// without: counts and bytes are the same, and those of HTTP are what the server counted; times have lower bounds, which
// the server plants, and the fastest iteration has an upper one.

// A way is one way to drive the same load.
type way struct {
	name   string
	server *wiretest.Figures // nil: it is not asked
	target Target
}

// ways are those of one URL: by event loops, and by goroutines.
func ways(name string, target Target, server *wiretest.Figures) []way {
	return []way{{name + " by default", server, target}, {name + " by goroutines", server, target.With("engine", "goroutines")}}
}

// httpWays are those of a version of HTTP.
func httpWays(t *testing.T, version string) (all []way) {
	for _, secure := range []bool{false, true} {
		server := &wiretest.Figures{Secure: secure, Streams: version == "2"}
		target := At(server.Serve(t)).With("http", version).With("header", "Host: figures.test")
		if secure {
			target = target.With("insecure", "true")
		}
		all = append(all, ways(fmt.Sprintf("HTTP/%s, TLS %v,", version, secure), target, server)...)
	}
	return all
}

// driveWay runs a plan.
func driveWay(t *testing.T, target Target, plan load.Plan) *load.Result {
	t.Helper()
	opened, err := Opener{Surroundings: wire.Surroundings{VUs: plan.VUs}}.Open(t.Context(), target)
	testenv.Must(t, err)
	if c, ok := opened.(io.Closer); ok {
		defer c.Close()
	}
	r, err := load.Run(t.Context(), "figures", opened, plan)
	testenv.Must(t, err)
	return r
}

// accountOf is everything in a result, but of times only their number. Each VU may have connected in its first iteration: a connection
// that is not ready 250 ms before the clock starts is made then, on a busy machine.
func accountOf(r *load.Result) map[string]any {
	count := func(h *hist.Histogram) int64 {
		if h == nil {
			return 0
		}
		return h.Count()
	}
	connects := func(h *hist.Histogram) int64 {
		if n := count(h); n > int64(r.Plan.VUs) {
			return n
		}
		return 0
	}
	faults := slices.Clone(r.Faults)
	for i := range faults { // which begins with the version
		_, faults[i].Example, _ = strings.Cut(faults[i].Example, "\r\n\r\n")
	}
	requests := map[string]string{}
	for name, one := range r.Requests {
		requests[name] = fmt.Sprint(one.Completed, one.Failed, one.Errored, count(one.Service))
	}
	answers, _ := json.Marshal(r.Answers)
	return map[string]any{
		"iterations": fmt.Sprint(r.Planned, r.Completed, r.Failed, r.Errored, r.Dropped, r.Unfinished, r.Ops),
		"bytes":      fmt.Sprint(r.BytesIn, r.BytesOut, r.BodyIn), "statuses": fmt.Sprint(r.Statuses), "answers": string(answers),
		"faults": fmt.Sprint(faults), "requests": fmt.Sprint(requests), "checks": fmt.Sprint(r.Checks),
		"times": fmt.Sprint(count(r.Response), count(r.Service), count(r.StartLag), count(r.FailedService), count(r.ErroredService),
			connects(r.Connect), count(r.FirstByte), connects(r.Exchange), count(r.Message)),
	}
}

// alike drives all ways by a plan and wants the same account of each.
func alike(t *testing.T, all []way, plan load.Plan, with func(Target) Target) {
	t.Helper()
	var first map[string]any
	engines := map[load.Engine]bool{}
	for _, w := range all {
		if w.server != nil {
			w.server.Came.Store(0)
			w.server.Went.Store(0)
		}
		r := driveWay(t, with(w.target), plan)
		engines[r.Engine] = true
		got := accountOf(r)
		if first == nil {
			first = got
		}
		for _, figure := range slices.Sorted(maps.Keys(got)) {
			if !reflect.DeepEqual(got[figure], first[figure]) {
				t.Errorf("%s (%s): %s are %v; %s: %v", w.name, r.Engine, figure, got[figure], all[0].name, first[figure])
			}
		}
		if s := w.server; s != nil && len(r.Errored) == 0 && !s.Counted(r.BytesOut, r.BytesIn, 0) {
			t.Errorf("%s: %d bytes out, %d in; the server read %d and wrote %d", w.name, r.BytesOut, r.BytesIn, s.Came.Load(), s.Went.Load())
		}
	}
	if loops, _ := loop.Supported(); loops && len(all) > 2 && len(engines) < 2 {
		t.Errorf("only %v drove", engines)
	}
}

// HTTP of one version says the same of the same load, whoever drives it, with TLS and without.
func TestFiguresOfHTTP(t *testing.T) {
	t.Parallel()
	plan := load.Plan{VUs: 2, PerVU: 12, Duration: 5 * time.Minute, Timeout: time.Minute}
	for _, version := range []string{"1.1", "2"} {
		all := httpWays(t, version)
		for _, c := range []struct {
			name, path string
			settings   []string // by turns their names and values
			only       string   // version
		}{
			{name: "right"},
			{name: "wrong", path: "/wrong"},
			{name: "none", path: "/none"},
			{name: "upload", path: "/echo", settings: []string{"method", "POST", "data", strings.Repeat("x", 5000)}},
			{name: "slow", path: "/slow"},
			{name: "cut", path: "/cut"},
			{name: "head", settings: []string{"method", "HEAD"}},
			{name: "header", settings: []string{"header", "Host: figures.test\nX-Own: " + strings.Repeat("long ", 40)}},
			{name: "checks", settings: []string{"checks", "body contains right"}, only: "1.1"},
			{name: "closing", settings: []string{"no_keepalive", "true"}, only: "1.1"},
			{name: "closing", settings: []string{"connections", "per-iteration"}, only: "2"},
			{name: "shared", settings: []string{"connections", "shared:1"}, only: "2"},
		} {
			if c.only != "" && c.only != version {
				continue
			}
			plan := plan
			if c.name == "slow" { // each of them takes as long as it does
				plan.PerVU = 3
			}
			t.Run(version+" "+c.name, func(t *testing.T) {
				alike(t, all, plan, func(target Target) Target {
					target = target.With("url", target.URL()+c.path)
					for i := 0; i < len(c.settings); i += 2 {
						target = target.With(c.settings[i], strings.Split(c.settings[i+1], "\n")...)
					}
					return target
				})
			})
		}
	}
}

// lines answers each line with one, the first half at once.
func lines(conn net.Conn) {
	from := bufio.NewReader(conn)
	for {
		if _, err := from.ReadString('\n'); err != nil {
			return
		}
		time.Sleep(wiretest.PlantedFirst)
		_, _ = io.WriteString(conn, "one ")
		time.Sleep(wiretest.PlantedLast)
		if _, err := io.WriteString(conn, "two\n"); err != nil {
			return
		}
	}
}

type adder struct {
	counterpb.UnimplementedIncrementCounterServer
}

func (adder) Increment(context.Context, *counterpb.IncrementBy) (*counterpb.Status, error) {
	time.Sleep(wiretest.PlantedFirst)
	return &counterpb.Status{Message: "Incremented value is 1"}, nil
}

// otherWays are those of what is not HTTP alone, by protocol.
func otherWays(t *testing.T) map[string][]way {
	calls := map[bool]string{}
	for _, secure := range []bool{false, true} {
		var options []grpc.ServerOption
		if secure {
			certificate := wiretest.Certificate()
			options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
		}
		server := grpc.NewServer(options...)
		counterpb.RegisterIncrementCounterServer(server, adder{})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Must(t, err)
		go func() { _ = server.Serve(l) }()
		t.Cleanup(server.Stop)
		calls[secure] = l.Addr().String()
	}
	call := func(scheme string, secure bool) Target {
		return At(scheme+"://"+calls[secure]+"/counter.incrementCounter/increment").With("data", `{"value": 1}`).
			With("proto", "../systems/counter/counterpb/counter.proto")
	}
	echo := xws.Server{Handler: func(conn *xws.Conn) {
		var message string
		for xws.Message.Receive(conn, &message) == nil {
			time.Sleep(wiretest.PlantedFirst)
			_ = xws.Message.Send(conn, message+message)
		}
	}}
	plain, secure := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	socket := func(url string) Target { return At(strings.Replace(url, "http", "ws", 1)).With("data", "message") }
	return map[string][]way{
		"gRPC":      append(ways("gRPC", call("grpc", false), nil), way{"gRPC, TLS", nil, call("grpcs", true).With("insecure", "true")}),
		"WebSocket": {{"WebSocket", nil, socket(plain.URL)}, {"WebSocket, TLS", nil, socket(secure.URL).With("insecure", "true")}},
		"TCP":       ways("TCP", At("tcp://"+wiretest.Listen(t, lines)).With("data", `ask\n`).With("until", `\n`), nil),
	}
}

// So do the other protocols.
func TestFiguresOfOthers(t *testing.T) {
	t.Parallel()
	for name, all := range otherWays(t) {
		t.Run(name, func(t *testing.T) {
			alike(t, all, load.Plan{VUs: 2, PerVU: 4, Duration: time.Minute, Timeout: time.Minute}, func(t Target) Target { return t })
		})
	}
}

// closeTo is how far a time may be from the planted one in the fastest of some iterations.
const closeTo = 5 * time.Millisecond

// The time that a connection takes is that of its handshake at least, and no part of what follows it.
func TestFiguresOfConnections(t *testing.T) {
	t.Parallel()
	closing := map[string][2]string{"1.1": {"no_keepalive", "true"}, "2": {"connections", "per-iteration"}}
	for version, setting := range closing {
		for _, w := range httpWays(t, version) {
			r := driveWay(t, w.target.With(setting[0], setting[1]), load.Plan{VUs: 1, Iterations: 5, Timeout: time.Minute})
			least := time.Duration(0)
			if w.server.Secure {
				least = wiretest.PlantedHandshake * 999 / 1000
			}
			if r.Connect == nil || r.Connect.Count() != 5 || r.Connect.Min() < least || r.Exchange == nil || r.Exchange.Min() >= r.Service.Max()-least {
				t.Errorf("%s (%s): connections %+v, exchanges %+v; planted %v", w.name, r.Engine, r.Connect, r.Exchange, least)
			}
		}
	}
}

// Times are what servers planted.
func TestFiguresOfTimes(t *testing.T) {
	t.Parallel()
	others := otherWays(t)
	delete(others, "TCP")
	whole := slices.Collect(maps.Values(others))
	for _, w := range slices.Concat(whole...) {
		timely(t, w, w.target, wiretest.PlantedFirst, wiretest.PlantedFirst)
	}
	for _, w := range slices.Concat(otherWays(t)["TCP"], httpWays(t, "1.1"), httpWays(t, "2")) {
		target := w.target
		if w.server != nil {
			target = target.With("url", target.URL()+"/slow")
		}
		timely(t, w, target, wiretest.PlantedFirst, wiretest.PlantedFirst+wiretest.PlantedLast)
	}
}

// timely drives a target until the fastest iteration is close to the planted times, which none may be below.
func timely(t *testing.T, w way, target Target, first, last time.Duration) {
	t.Helper()
	for began := time.Now(); ; {
		r := driveWay(t, target, load.Plan{VUs: 1, Iterations: 5, Timeout: time.Minute})
		if r.Completed != 5 || r.FirstByte == nil {
			t.Fatalf("%s: completed %d of 5, errors %v", w.name, r.Completed, r.Examples)
		}
		byte1, all := r.FirstByte.Min(), r.Service.Min()
		if byte1 < first*999/1000 || all < last*999/1000 { // histograms round
			t.Fatalf("%s (%s): first byte %v, whole answer %v; planted %v, %v", w.name, r.Engine, byte1, all, first, last)
		}
		if byte1 <= first+closeTo && all <= last+closeTo {
			return
		}
		if time.Since(began) > testenv.Patience {
			t.Errorf("%s (%s): first byte %v, whole answer %v at best; planted %v, %v", w.name, r.Engine, byte1, all, first, last)
			return
		}
	}
}
