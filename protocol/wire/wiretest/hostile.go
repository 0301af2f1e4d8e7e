package wiretest

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
)

// A Protocol is what the kit of hostile servers has to know of one. Hostile and Restarted drive it.
type Protocol struct {
	// Asked serves connections up to where an answer is owed, and then with serve.
	Asked func(serve func(net.Conn)) func(net.Conn)
	// Answers are right ones, in bytes: without the last byte none is complete.
	Answers []string
	// Foreign is what bytes come to that are no answer.
	Foreign []errkind.Kind
	// Resets is what a reset comes to; nil: errkind.Reset.
	Resets []errkind.Kind
	// Peers misbehave in words of the protocol.
	Peers []Peer
	// Wants says what peers of the kit come to, by name, where it is something else than what Peer.Want says; nil: they
	// do not exist here.
	Wants map[string][]errkind.Kind
	// Ways are how the protocol can be driven.
	Ways []Way
	// ALPN is what a server chooses in a handshake of TLS.
	ALPN []string
}

// A Peer is a hostile server.
type Peer struct {
	Name  string
	Serve func(net.Conn) // nil: nobody listens
	Want  []errkind.Kind // the kernel may say one or the other
	// Endless peers send without end, which must not fill memory.
	Endless bool
	// trust is the authority that a client trusts over TLS, and port what its server speaks if not what the client
	// does.
	trust func(*Server)
	port  transport
}

// A transport is what a protocol runs over.
type transport int

const (
	same    transport = iota
	raw               // serves TLS itself, as far as that goes
	crossed           // a plain client to a port of TLS
)

// A Server is where a client finds one, and the authority that it trusts.
type Server struct {
	Address string
	Secure  bool   // over TLS
	CA      []byte // the authority in PEM form; nil: any
	Name    string // in the certificate, instead of the address
	Strict  bool   // without CA: trusts what the system trusts
}

// A Way drives a protocol.
type Way struct {
	Name string
	// Open returns a target, which ends with the test.
	Open func(t testing.TB, s Server) load.Target
	// Alone drives one iteration at a time: others on the connection would get another error.
	Alone bool
	// Secure and Plain say over what it can be driven.
	Plain, Secure bool
}

// Short is the timeout where one is to be seen, and boundedMemory what a client may allocate for what has no end.
const (
	Short         = 100 * time.Millisecond
	boundedMemory = 7 << 20
)

// Hostile drives each way against each hostile server that is not endless, and wants errors of its kind in time, from
// iterations with a timeout and from runs that end before it. TestMain looks for goroutines that are left. Endless has
// the others.
func (p Protocol) Hostile(t *testing.T) {
	if _, named := p.Wants["has no such name"]; !named { // once: an abandoned look-up goes on for a while
		Errs(t, p.Ways[0].Open(t, Server{Address: "name.invalid:1"}), errkind.DNS, errkind.Timeout)
	}
	p.each(func(name string, peer Peer, way Way, secure bool) {
		if !peer.Endless {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.check(t, peer, way, secure)
			})
		}
	})
}

// Endless is Hostile with the servers that are endless, and wants bounded memory: nothing else may run meanwhile.
func (p Protocol) Endless(t *testing.T) {
	p.each(func(name string, peer Peer, way Way, secure bool) {
		if peer.Endless {
			t.Run(name, func(t *testing.T) { p.check(t, peer, way, secure) })
		}
	})
}

// each names each hostile server for each way that meets it.
func (p Protocol) each(do func(name string, peer Peer, way Way, secure bool)) {
	for _, peer := range p.peers() {
		for _, way := range p.Ways {
			for _, secure := range []bool{false, true} {
				if way.meets(peer, secure) {
					do(fmt.Sprintf("%s/%s/TLS=%t", peer.Name, way.Name, secure), peer, way, secure)
				}
			}
		}
	}
}

// meets reports whether a peer is reached over TLS, or without.
func (w Way) meets(peer Peer, secure bool) bool {
	switch {
	case secure && !w.Secure || !secure && !w.Plain:
		return false
	case peer.port == crossed:
		return w.Secure && !secure
	case peer.trust != nil:
		return secure
	}
	return true
}

func (p Protocol) check(t *testing.T, peer Peer, way Way, secure bool) {
	s := Server{Secure: secure}
	switch {
	case peer.Serve == nil:
		s.Address = testenv.HeldAddress(t)
	case peer.port == crossed || secure && peer.port == same:
		s.Address = Listen(t, Secured(peer.Serve, p.ALPN...))
	default:
		s.Address = Listen(t, peer.Serve)
	}
	if peer.trust != nil {
		peer.trust(&s)
	}
	target := way.Open(t, s)
	allocated := testenv.Allocated(func() { errs(t, target, way.callers(peer), peer.Want) })
	if peer.Endless && allocated > boundedMemory {
		t.Errorf("allocated %d bytes", allocated)
	}
	Ends(t, target, 0)
	if slices.Contains(peer.Want, errkind.Timeout) {
		Ends(t, target, time.Minute)
	}
}

func (w Way) callers(peer Peer) int {
	if w.Alone || peer.Endless { // one of them shows what is kept
		return 1
	}
	return 2
}

// Errs does some iterations and wants an error of one of the kinds from each, in time and without an outcome, except
// what it cost up to then.
func Errs(t testing.TB, target load.Target, want ...errkind.Kind) {
	t.Helper()
	errs(t, target, 1, want)
}

func errs(t testing.TB, target load.Target, callers int, want []errkind.Kind) {
	t.Helper()
	const each = 2
	plan := load.Plan{VUs: callers, Iterations: int64(each * callers), Timeout: testenv.Patience, Grace: testenv.Patience}
	if slices.Contains(want, errkind.Timeout) { // the others need time to show themselves on a busy machine
		plan.Timeout = Short
	}
	plan.Sample = func(s load.Sample) {
		s.Outcome.Resent, s.Outcome.Phases = 0, load.Phases{}
		took := s.End - s.Start
		switch kind := errkind.Of(s.Err); {
		case s.Err == nil:
			t.Errorf("got %+v, want an error of kind %v", s.Outcome, want)
		case !slices.Contains(want, kind):
			t.Errorf("kind %s, want %v: %v", kind, want, s.Err)
		case !reflect.DeepEqual(s.Outcome, load.Outcome{}):
			t.Errorf("outcome %+v and an error", s.Outcome)
		case took > plan.Timeout+testenv.Patience:
			t.Errorf("took %v, allowed %v: %v", took, plan.Timeout, s.Err)
		case kind == errkind.Timeout && took < plan.Timeout:
			t.Errorf("timed out after %v already", took)
		}
	}
	r, err := load.Run(context.Background(), "hostile", target, plan)
	testenv.Must(t, err)
	if r.Planned != plan.Iterations || r.ErroredTotal() != plan.Iterations {
		t.Errorf("%d errors of %d iterations, want %d", r.ErroredTotal(), r.Planned, plan.Iterations)
	}
}

// Ends drives a run that ends before any timeout: it ends with its grace and has no throughput.
func Ends(t testing.TB, target load.Target, timeout time.Duration) {
	t.Helper()
	plan := load.Plan{VUs: 2, Duration: 5 * time.Millisecond, Grace: 5 * time.Millisecond, Timeout: timeout,
		Think: 2 * time.Millisecond} // at full speed they would connect to most peers as often as they can
	start := time.Now()
	r, err := load.Run(context.Background(), "hostile", target, plan)
	testenv.Must(t, err)
	if took := time.Since(start); took > testenv.Patience {
		t.Errorf("a run of %v took %v", plan.Duration, took)
	}
	if r.Completed != 0 || r.Planned != r.Failed+r.ErroredTotal()+r.Unfinished {
		t.Errorf("planned %d, completed %d, failed %d, errored %v, unfinished %d", r.Planned, r.Completed, r.Failed, r.Errored, r.Unfinished)
	}
}

// peers are those of every protocol and those of this one.
func (p Protocol) peers() []Peer {
	gone := []errkind.Kind{errkind.Closed, errkind.Reset}
	closed, reset, late := gone[:1], p.Resets, []errkind.Kind{errkind.Timeout}
	if reset == nil {
		reset = gone[1:]
	}
	all := []Peer{
		{Name: "is not there", Want: []errkind.Kind{errkind.Refused}},
		{Name: "closes at once", Serve: func(net.Conn) {}, Want: gone},
		{Name: "resets at once", Serve: Reset, Want: gone},
		{Name: "ends its side at once", Serve: HalfClose, Want: closed},
		{Name: "never says a word", Serve: Hang, Want: late},
		{Name: "closes", Serve: p.Asked(func(net.Conn) {}), Want: gone},
		{Name: "ends its side", Serve: p.Asked(HalfClose), Want: closed},
		{Name: "resets", Serve: p.Asked(Reset), Want: reset},
		{Name: "never answers", Serve: p.Asked(Hang), Want: late},
	}
	for i, answer := range p.Answers {
		for _, cut := range []int{1, len(answer) / 2, len(answer) - 1} {
			name := fmt.Sprintf("%d bytes of answer %d", cut, i)
			all = append(all, Peer{Name: name + " and its end", Serve: p.Asked(Then(answer[:cut], HalfClose)), Want: closed},
				Peer{Name: name + " and a reset", Serve: p.Asked(Then(answer[:cut], Reset)), Want: reset})
		}
		half := fmt.Sprintf("half of answer %d", i)
		all = append(all, Peer{Name: half + " and silence", Serve: p.Asked(Say(0, answer[:len(answer)/2])), Want: late},
			Peer{Name: half + " and a byte at a time", Serve: p.Asked(Say(Short/2, append([]string{answer[:len(answer)/2]}, strings.Split(answer[len(answer)/2:], "")...)...)), Want: late})
	}
	for name, text := range map[string]string{
		"garbage":          strings.Repeat("\xaa", 5000),
		"an alert of TLS":  "\x15\x03\x01\x00\x02\x02\x46",
		"HTTP/1.1":         "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"a frame of HTTP2": "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"SSH":              "SSH-2.0-OpenSSH_9.2\r\n",
	} {
		all = append(all, Peer{Name: "speaks " + name, Serve: p.Asked(Then(text, HalfClose)), Want: p.Foreign})
	}
	all = slices.Concat(all, p.handshakes(), p.Peers)
	for i := range all {
		if want, named := p.Wants[all[i].Name]; named {
			all[i].Want = want
		}
	}
	return slices.DeleteFunc(all, func(peer Peer) bool { return peer.Want == nil })
}

// handshakes are peers of TLS.
func (p Protocol) handshakes() []Peer {
	unsafe := []errkind.Kind{errkind.TLS}
	trusting := func(*Server) {}
	return []Peer{
		{Name: "TLS to a plain port", Serve: AfterRead(Say(0, "HTTP/1.1 400 Bad Request\r\n\r\n")), Want: unsafe, trust: trusting, port: raw},
		{Name: "garbage for a handshake", Serve: AfterRead(Say(0, strings.Repeat("\xaa", 5000))), Want: unsafe, trust: trusting, port: raw},
		{Name: "closes in the handshake", Serve: AfterRead(func(net.Conn) {}), Want: []errkind.Kind{errkind.Closed, errkind.Reset}, trust: trusting, port: raw},
		{Name: "silent in the handshake", Serve: Hang, Want: []errkind.Kind{errkind.Timeout}, trust: trusting, port: raw},
		{Name: "a handshake without end", Serve: Say(Short/5, strings.Split(strings.Repeat("\x16\x03\x03\x40\x00", 20), "")...), Want: []errkind.Kind{errkind.Timeout}, trust: trusting, port: raw},
		{Name: "unknown authority", Serve: Hang, Want: unsafe, trust: func(s *Server) { s.Strict = true }},
		{Name: "wrong name", Serve: Hang, Want: unsafe, trust: func(s *Server) { s.CA, s.Name = Authority(), "other.invalid" }},
		{Name: "plain to a TLS port", Serve: Hang, Want: []errkind.Kind{errkind.Closed, errkind.Reset}, trust: trusting, port: crossed},
	}
}
