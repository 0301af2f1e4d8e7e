package loop

import (
	"crypto/tls"
	"fmt"

	"contend/errkind"
)

// A Secured conversation hears of each TLS handshake on its connection, after
// Open and before anything is sent or received. After an error the connection
// is closed.
type Secured interface {
	Conversation
	Secured(state tls.ConnectionState) error
}

// HandshakeError says that a handshake of TLS failed. It
// is of kind TLS, unless the network or the clock failed, or the peer speaks
// another protocol.
func HandshakeError(err error) error {
	err = secureError("TLS handshake", err)
	if alert, ok := errkind.AlertOf(err); ok && alert == errkind.NoProtocol {
		return &errkind.Error{Kind: errkind.Protocol, Err: err}
	}
	return err
}

func secureError(prefix string, err error) error {
	return errkind.Or(errkind.TLS, fmt.Errorf("%s: %w", prefix, err))
}
