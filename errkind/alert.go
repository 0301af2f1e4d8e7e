package errkind

import (
	"crypto/tls"
	"errors"
	"net"
)

// NoProtocol is the alert of a server that speaks no protocol that was offered (RFC 7301, section 3.2).
const NoProtocol tls.AlertError = 120

// AlertOf returns the alert with which the peer ended a connection of TLS; ok is false for an error
// that is not an alert. Over TCP crypto/tls keeps the type of an alert to itself: it is known by its text,
// which is that of the exported type with the same code.
func AlertOf(err error) (alert tls.AlertError, ok bool) {
	if errors.As(err, &alert) {
		return alert, true
	}
	sent, ok := errors.AsType[*net.OpError](err)
	if !ok || sent.Op != "remote error" {
		return 0, false
	}
	text := sent.Err.Error()
	for code := range 256 {
		if alert = tls.AlertError(code); alert.Error() == text {
			return alert, true
		}
	}
	return 0, false
}
