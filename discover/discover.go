// Package discover starts a program once to find out how it is driven as a server: where it listens, which protocol it
// speaks there, and what can be asked for. Choose decides what all of several programs are asked for.
package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"contend/subject"
)

// A Server is what a program turned out to be.
type Server struct {
	Name  string
	Ports []Port
}

// A Port is one on which a program listens.
type Port struct {
	Number int
	Told   bool // the program was told it: by {{addr}}, {{port}} or PORT
	Fixed  bool // the program insists on it
	Service
}

// A Service is what a port turned out to be.
type Service struct {
	Scheme  string   // http, https, grpc or grpcs; "": none of these
	HTTP2   bool     // and no HTTP/1.1
	Speaks  string   // instead of these; "": unknown
	Answers []Answer // to what was asked, the best to ask for first
}

// An Answer is that of a server to one request.
type Answer struct {
	Path  string // /path, or /package.Service/Method
	Right bool
	Said  string // its status
}

// A Request is how servers of HTTP are asked. The zero value is a plain GET.
type Request struct {
	Method, Data string
	Header       http.Header
}

// Look starts a program, looks at where it listens, and stops it. What the config says of addresses is of no account.
// The error says what keeps the program from being a server and what to do about it.
func Look(ctx context.Context, cfg subject.Config, r Request) (_ *Server, err error) {
	if err := runnable(cfg.Command, cfg.Dir); err != nil {
		return nil, err
	}
	cfg.Addressed, cfg.AnyPort, cfg.StopTimeout = true, true, cmp.Or(cfg.StopTimeout, time.Second)
	s, err := subject.Start(ctx, cfg)
	if err != nil {
		return nil, explained(err, cfg.Command)
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	found := &Server{Name: cmp.Or(cfg.Name, cfg.Command[0])}
	if s.Told() {
		found.Ports = []Port{{Told: true, Service: serviceAt(ctx, s.Addr(""), r)}}
	} else {
		for _, place := range s.Listening() {
			known := func(p Port) bool { return p.Number == int(place.Port()) }
			if at := place.Reached(ctx); at != "" && !slices.ContainsFunc(found.Ports, known) {
				found.Ports = append(found.Ports, Port{Number: int(place.Port()), Fixed: place.Fixed, Service: serviceAt(ctx, at, r)})
			}
		}
	}
	driven := func(p Port) bool { return p.Scheme != "" }
	if !slices.ContainsFunc(found.Ports, driven) && len(s.Listening()) == 0 { // a request ended it
		select {
		case <-s.Done():
		case <-time.After(patience):
		case <-ctx.Done():
		}
	}
	return found, cmp.Or(ctx.Err(), explained(s.Err(), cfg.Command))
}

// String says where a program listens and what it speaks there.
func (s *Server) String() string {
	var ports []string
	for _, p := range s.Ports {
		ports = append(ports, p.String())
	}
	return "listens on " + strings.Join(ports, " and ")
}

// String says which port it is, and what is spoken there.
func (p Port) String() string {
	at := fmt.Sprintf("port %d", p.Number)
	if p.Told {
		at = "the port that it is given"
	}
	return at + " (" + p.Service.String() + ")"
}

// String names the protocol.
func (s Service) String() string {
	name := map[string]string{"http": "HTTP", "https": "HTTPS", "grpc": "gRPC", "grpcs": "gRPC over TLS"}[s.Scheme]
	if s.HTTP2 {
		name = map[string]string{"http": "HTTP/2", "https": "HTTP/2 over TLS"}[s.Scheme]
	}
	return cmp.Or(name, s.Speaks, "neither HTTP nor gRPC")
}
