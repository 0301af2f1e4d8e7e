// Package failure holds the reasons why a server could not be measured, as values that errors carry from
// where they happen to the page that shows them.
package failure

import (
	"cmp"
	"strings"
	"time"
)

// A Kind is one of the closed set of reasons why a server could not be measured.
type Kind string

// The kinds: first what happens to a server that contend starts, then why no connection was made.
const (
	Other Kind = "other" // Cause is all that is known

	NoProgram    Kind = "no_program"    // the system did not find the program of the command
	AddressTaken Kind = "address_taken" // another program listens where the command wants to
	Exited       Kind = "exited"        // the server ended although nobody asked for it
	NotReady     Kind = "not_ready"     // the server lives, but does not become ready
	NotDriven    Kind = "not_driven"    // the server speaks a protocol that contend does not drive

	Unreached   Kind = "unreached"    // for another reason than those below
	Refused     Kind = "refused"      // nobody listens there
	NoHost      Kind = "no_host"      // the name has no address
	NameServer  Kind = "name_server"  // the name server failed
	Silent      Kind = "silent"       // no connection within the time limit
	Proxy       Kind = "proxy"        // the proxy on the way failed
	NoQUIC      Kind = "no_quic"      // nobody listens on that UDP port
	NoLocalPort Kind = "no_port"      // this machine has no local address or port left
	NoSocket    Kind = "no_socket"    // the Unix socket does not exist
	Forbidden   Kind = "forbidden"    // this user may not connect there
	Filtered    Kind = "filtered"     // a rule of this machine forbids it
	NoNetwork   Kind = "no_network"   // no route to the network
	NoRoute     Kind = "no_route"     // no route to the host
	NoFiles     Kind = "no_files"     // this process has too many files open
	Ended       Kind = "disconnected" // the server ended the connection at once
	Handshake   Kind = "tls"          // the TLS handshake failed
	NoALPN      Kind = "no_alpn"      // the server speaks no protocol that was offered in the handshake
)

// A Failure is why one server could not be measured. All but Kind and Cause may be empty.
type Failure struct {
	// Arm is the variant that was to be measured, Server what the process is called, and Worker
	// the worker that it is a process of.
	Arm    string `json:"arm,omitempty"`
	Server string `json:"process,omitempty"`
	Worker string `json:"worker,omitempty"`
	Kind   Kind   `json:"kind"`
	// Died says that the server ended while it was measured.
	Died bool `json:"died,omitempty"`
	// Address is where nobody answers, or where somebody else listens.
	Address string `json:"address,omitempty"`
	// Program is the one that was not found.
	Program string `json:"program,omitempty"`
	// Exit is the exit status of the process; nil: it has none, as after a signal.
	Exit *int `json:"exit,omitempty"`
	// Lived is the time from the start of the process to its end; 0: it is not known.
	Lived time.Duration `json:"lived_ns,omitempty"`
	// Cause is what went wrong, in the words of whoever found out, and More is what else is known.
	Cause string `json:"cause"`
	More  string `json:"more,omitempty"`
	// Advice is what to do, where only the place of the failure can know.
	Advice string `json:"advice,omitempty"`
	// LastWords are the last lines that the server wrote to Stream, which is stderr or stdout.
	Stream    string   `json:"stream,omitempty"`
	LastWords []string `json:"last_words,omitempty"`
}

// Unreached reports whether no connection was made to a server that was to be there.
func (f Failure) Unreached() bool {
	switch f.Kind {
	case Other, NoProgram, AddressTaken, Exited, NotReady, NotDriven:
		return false
	}
	return true
}

// A carrier is an error that has facts of a failure.
type carrier interface {
	error
	Facts() Failure
}

// carrying is a carrier of somebody else's error.
type carrying struct {
	facts  Failure
	prefix string // of the text
	err    error
}

func (c *carrying) Facts() Failure { return c.facts }

func (c *carrying) Error() string { return c.prefix + c.err.Error() }

func (c *carrying) Unwrap() error { return c.err }

// With adds facts to an error, whose text stays.
func With(err error, facts Failure) error { return About("", err, facts) }

// About adds facts to an error and puts a prefix before its text, which tells them to readers.
func About(prefix string, err error, facts Failure) error { return &carrying{facts, prefix, err} }

// All returns the failures that an error carries, in the order of its text, or one of kind Other for
// an error that carries none. Facts of an outer error override those of an inner one.
func All(err error) []Failure {
	found := carried(err)
	if err != nil && len(found) == 0 {
		found = []Failure{told(err)}
	}
	return found
}

// Of returns the first failure that an error carries.
func Of(err error) (f Failure, ok bool) {
	found := carried(err)
	if len(found) == 0 {
		return f, false
	}
	return found[0], true
}

func carried(err error) []Failure {
	c, ok := err.(carrier)
	if !ok {
		return below(err)
	}
	found := below(err)
	if len(found) == 0 {
		found = []Failure{told(innermost(c))}
	}
	for i := range found {
		found[i].add(c.Facts())
	}
	return found
}

// below returns what the errors carry that an error wraps.
func below(err error) (found []Failure) {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return carried(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			found = append(found, carried(one)...)
		}
	}
	return found
}

// innermost is the error that a carrier adds its facts to.
func innermost(c carrier) error {
	if wraps, ok := c.(interface{ Unwrap() error }); ok {
		return wraps.Unwrap()
	}
	return c
}

// told is the failure of an error that is only known by its text.
func told(err error) Failure {
	cause, more, _ := strings.Cut(err.Error(), "\n")
	return Failure{Kind: Other, Cause: cause, More: more}
}

// add overrides what it has with the facts of an outer error.
func (f *Failure) add(o Failure) {
	f.Arm, f.Server, f.Worker = cmp.Or(o.Arm, f.Arm), cmp.Or(o.Server, f.Server), cmp.Or(o.Worker, f.Worker)
	f.Kind, f.Died, f.Lived = cmp.Or(o.Kind, f.Kind), f.Died || o.Died, cmp.Or(o.Lived, f.Lived)
	f.Address, f.Program, f.Exit = cmp.Or(o.Address, f.Address), cmp.Or(o.Program, f.Program), cmp.Or(o.Exit, f.Exit)
	f.Advice, f.Stream = cmp.Or(o.Advice, f.Advice), cmp.Or(o.Stream, f.Stream)
	if o.Cause != "" {
		f.Cause, f.More = o.Cause, o.More
	}
	if o.LastWords != nil {
		f.LastWords = o.LastWords
	}
}
