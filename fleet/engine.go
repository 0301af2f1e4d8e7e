// Package fleet drives one target from several machines as if from one: each worker generates a share
// of the load, and a coordinator splits plans and merges results. They communicate over NATS.
//
// A worker measures by its own clock alone. The coordinator knows how far that is off, from exchanges
// of four timestamps, and tells each worker by its own clock when a run begins.
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

// Serve opens an engine at an address, host:port; port 0 is a free one. Who connects needs the
// token. Beyond this machine it speaks TLS, unless that is not wanted.
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
	name, _ := os.Hostname() // "" is that of all who have none
	return name
}
