// Package fleet drives one target from several machines as if from one: each worker generates a share
// of the load, and a coordinator splits plans and merges results. They communicate over NATS.
//
// A worker measures by its own clock alone. The coordinator knows how far that is off, from exchanges
// of four timestamps, and tells each worker by its own clock when a run begins.
//
// # Protocol
//
// NATS delivers at most once. Workers and coordinator announce themselves once a second; counts of a run
// under way follow once a second and may be lost. Everything else is requested until it is answered:
//
//   - Orders (open callers, drive a plan, close) are numbered requests, repeated each second until the
//     reply comes. A worker executes each number once and repeats its reply.
//   - Settings and files of callers are offered once for all blocks. A worker fetches them in pieces of
//     512 KiB and compares their SHA-256.
//   - A result is the reply to a drive; the worker keeps it until it is asked for something else. Beyond
//     32 KiB it is fetched in pieces and compared in the same way.
//   - Clocks take eight requests to each worker before and after a run; of more than 50 workers 400 in
//     all, at least one each, 16 at a time.
//
// A worker re-encodes the settings and plans that it decodes, and rejects those that come out different:
// they are from another build. The coordinator accepts a result only if its plan is the one sent, its
// counts add up to what was ordered, and its histograms have this build's geometry.
//
// JetStream is not used. A stream would keep a result only between the worker and the coordinator, which
// the worker does itself and at the same cost (0.2 to 0.3 ms for each acknowledgement). A stream in memory
// did not survive kill -9 of the server; one in files needs a server with a disk.
//
// go test ./fleet -run Faults tries what can go wrong, with processes, links and network namespaces.
package fleet

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// An Engine is a NATS server in this process.
type Engine struct{ server *server.Server }

// Serve opens an engine at an address, host:port; port 0 is a free one. Clients need the
// token. Beyond this machine it speaks TLS, unless insecure is set.
func Serve(address, token string, insecure bool) (*Engine, Address, error) {
	host, text, err := net.SplitHostPort(address)
	port, wrong := strconv.Atoi(text)
	if err != nil || wrong != nil || port < 0 || port > 65535 {
		return nil, Address{}, fmt.Errorf("%q is no address to listen at; expected host:port", address)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	options := &server.Options{Host: host, Port: port, Authorization: token, AuthTimeout: handshake.Seconds(),
		MaxPayload: maxMessage, NoSigs: true, NoLog: true, NoSystemAccount: true}
	scheme := "nats"
	if !insecure && !loopback(host) {
		scheme, options.TLSTimeout = "tls", handshake.Seconds()
		if options.TLSConfig, err = listening(token); err != nil {
			return nil, Address{}, err
		}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, Address{}, err
	}
	go s.Start()
	if !s.ReadyForConnections(handshake) {
		s.Shutdown()
		return nil, Address{}, fmt.Errorf("cannot listen at %s: is the port taken?", address)
	}
	host, text, err = net.SplitHostPort(s.Addr().String())
	if err != nil {
		return nil, Address{}, err
	}
	if net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	at := url.URL{Scheme: scheme, Host: net.JoinHostPort(host, text)}
	return &Engine{s}, Address{URL: at.String(), Token: token, Insecure: insecure}, nil
}

// Close ends the server.
func (e *Engine) Close() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
}

// machine tells machines apart, and one from itself after a restart.
func machine() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	name, _ := os.Hostname() // "" is the name of all without one
	return name
}
