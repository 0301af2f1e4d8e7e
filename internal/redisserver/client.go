package redisserver

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strings"
)

// dial connects over TCP, and over TLS if there is a configuration for it.
func dial(ctx context.Context, address string, dialer *net.Dialer, secure *tls.Config) (net.Conn, error) {
	if secure != nil {
		return (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, "tcp", address)
	}
	return dialer.DialContext(ctx, "tcp", address)
}

// IsTransient reports whether a Redis that replied with this error may reply
// otherwise later, without anybody changing the command or the configuration. More
// are further error codes that the caller counts among these. Older versions put
// the code of an error in a script into the text.
func IsTransient(reply string, more ...string) bool {
	for word := range strings.FieldsSeq(reply) {
		switch code := strings.Trim(word, "-:"); code {
		case "LOADING", "OOM", "BUSY", "MISCONF", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS", "UNBLOCKED":
			return true
		default:
			if slices.Contains(more, code) {
				return true
			}
		}
	}
	return strings.Contains(reply, "max number of clients")
}
