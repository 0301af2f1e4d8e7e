package loop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"contend/errkind"
)

// A Secured conversation is told of each handshake of TLS on its connection,
// after Open and before anything is sent or received. After an error the
// connection is closed.
type Secured interface {
	Conversation
	Secured(state tls.ConnectionState) error
}

// noProtocol is the alert of a peer that speaks none of the protocols that were
// offered to it (RFC 7301, section 3.2).
const noProtocol tls.AlertError = 120

// HandshakeError says that a handshake of TLS failed. It
// is of kind TLS, unless the network or the clock failed, or the peer speaks
// another protocol.
func HandshakeError(err error) error {
	err = secureError("TLS handshake", err)
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" && alert.Err.Error() == noProtocol.Error() {
		return &errkind.Error{Kind: errkind.Protocol, Err: err}
	}
	return err
}

func secureError(prefix string, err error) error {
	err = fmt.Errorf("%s: %w", prefix, err)
	if errkind.Of(err) == errkind.Other {
		return &errkind.Error{Kind: errkind.TLS, Err: err}
	}
	return err
}
