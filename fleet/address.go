package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

// TokenVariable is the variable of the environment that holds the token of a fleet: the arguments of
// a process are for all to see. CredentialsVariable is that which holds, in its place, the path of what a NATS
// server knows one by: a .creds file, or the seed of an nkey.
const (
	TokenVariable       = "CONTEND_FLEET_TOKEN"
	CredentialsVariable = "CONTEND_FLEET_CREDENTIALS"
)

// An Address is where coordinator and workers meet, and what lets them in. Anyone let in can
// have workers send load, and what they may read, to anywhere.
type Address struct {
	// URL is that of a NATS server, nats://host:port or tls://host:port, and may hold a user and a
	// password.
	URL   string
	Token string // instead of these
	// Credentials is the path of a .creds file or of an nkey's seed, instead of these.
	Credentials string
	// CA is the path of the PEM certificates of the authorities that vouch for the server, instead of those
	// that the system knows. A coordinator that listens itself is known by the token alone.
	CA string
	// Insecure allows a server that is not on this machine and does without TLS.
	Insecure bool
}

// shapes are the forms of URLs.
const shapes = "nats://host:port, tls://host:port"

// Validate returns what is wrong with the address. It shows no password.
func (a Address) Validate() error {
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || u.Hostname() == "" && u.User != nil: // there may be a password in it
		return fmt.Errorf("is no address of a fleet; expected %s", shapes)
	case u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls":
		return fmt.Errorf("%q is no address of a fleet; expected %s", u.Redacted(), shapes)
	case u.Scheme == "nats" && !a.Insecure && !loopback(u.Hostname()):
		return fmt.Errorf("%q is not on this machine, and nats:// is plain text, which everybody on the way can read and change: use tls://, or allow it with --insecure-fleet", u.Redacted())
	case a.Token == "" && u.User == nil && a.Credentials == "":
		return fmt.Errorf("%q is open to everybody without a token: set the same %s for coordinator and workers", u.Redacted(), TokenVariable)
	}
	return nil
}

// Host is host:port of the URL.
func (a Address) Host() string {
	u, err := url.Parse(a.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// String is the URL without its password.
func (a Address) String() string {
	u, err := url.Parse(a.URL)
	if err != nil {
		return "?"
	}
	return u.Redacted()
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// handshake is how long making a connection may take, even on a busy machine.
const handshake = 10 * time.Second

// options are those of connections to the address.
func (a Address) options(name string) ([]nats.Option, error) {
	options := []nats.Option{nats.Name(name), nats.Token(a.Token), nats.MaxReconnects(-1), nats.Timeout(handshake),
		nats.ReconnectWait(beat / 10), nats.PingInterval(2 * beat), nats.NoEcho(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})} // callers get the error; the default handler prints it
	if a.Credentials != "" {
		seed, err := os.ReadFile(a.Credentials)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", CredentialsVariable, err)
		}
		known := nats.UserCredentials(a.Credentials)
		if len(seed) > 1 && string(seed[:2]) == "SU" { // as seeds of users begin
			if known, err = nats.NkeyOptionFromSeed(a.Credentials); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", CredentialsVariable, a.Credentials, err)
			}
		}
		options = append(options, known)
	}
	if u, err := url.Parse(a.URL); err == nil && u.Scheme == "tls" {
		secure, err := a.verified(u.Hostname())
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(secure))
	}
	return options, nil
}

// connect connects to the server, again and again if the connection is lost. It waits for a server that
// does not listen yet until ctx is done, and calls waiting once, if that is set.
func (a Address) connect(ctx context.Context, name string, waiting func(error)) (*nats.Conn, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	options, err := a.options(name)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		conn, err := nats.Connect(a.URL, options...)
		if err == nil && !conn.HeadersSupported() {
			version := conn.ConnectedServerVersion()
			conn.Close()
			return nil, fmt.Errorf("%s: NATS server %s is too old, or has headers off: 2.2 and later can be used", a, version)
		}
		if err == nil {
			return conn, nil
		}
		if known := a.refused(err); known != nil || waiting == nil {
			return nil, cmp.Or(known, a.absent(err))
		}
		if !told {
			waiting(a.absent(err))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(beat / 4):
		}
	}
}

// absent says why nothing is connected now, and what to do.
func (a Address) absent(err error) error {
	_, unresolved := errors.AsType[*net.DNSError](err)
	slow, isNet := errors.AsType[net.Error](err)
	advice := "start the coordinator (contend run --fleet) or the NATS server there, and see that the address and the port are right and that a firewall lets it through"
	switch {
	case unresolved:
		advice = "see how the name is spelt, or give the address"
	case errors.Is(err, nats.ErrNoServers):
		err = errors.New("nothing listens there, or it cannot be reached")
	case isNet && slow.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, nats.ErrNoInfoReceived):
		err = fmt.Errorf("what listens there is no NATS server, or does not answer: %w", err)
		advice = "see that the port is the one of the coordinator or of a NATS server from 2.2 on (most often 4222), and not that of something else"
	}
	return fmt.Errorf("no fleet at %s: %w: %s", a, err, advice)
}

// refused says why there will be no connection, however long one waits; nil: there may be one.
func (a Address) refused(err error) error {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	stranger, isStranger := errors.AsType[*strangerError](err)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%s: the token is not the fleet's: set the same %s for coordinator and workers", a, TokenVariable)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%s: the server has no TLS, and nothing was sent", a)
	case isStranger:
		return fmt.Errorf("%s: %w", a, stranger)
	case certificate, errors.Is(err, nats.ErrSecureConnRequired):
		return fmt.Errorf("%s: the server wants TLS: use tls://", a)
	}
	return nil
}
