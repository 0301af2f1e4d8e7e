package roundtrip

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"contend/load"
)

// classify gives an error of the libraries its kind. While dialing, what is
// unknown comes from the handshake.
func classify(err error, dialing bool) error {
	kind := kindOfQUIC(err)
	if kind == "" {
		kind = kindOfHTTP2(err)
	}
	if kind == "" {
		kind = load.KindOf(err)
	}
	if kind == load.Other && dialing {
		kind = load.TLS
	} else if kind == load.Other {
		kind = load.Protocol
	}
	return &load.Error{Kind: kind, Err: err}
}

// kindOfQUIC returns the kind of an error of quic-go, or "". All of them say
// too that the connection is closed.
func kindOfQUIC(err error) load.ErrorKind {
	var (
		transport *quic.TransportError
		stream    *quic.StreamError
		handshake *quic.HandshakeTimeoutError
		reset     *quic.StatelessResetError
		version   *quic.VersionNegotiationError
		local     *http3.Error
	)
	switch {
	case errors.As(err, &transport) && transport.ErrorCode.IsCryptoError():
		return load.TLS
	case errors.As(err, &transport) && transport.ErrorCode == quic.ConnectionRefused:
		return load.Refused
	case errors.As(err, &transport) && transport.ErrorCode == quic.ApplicationErrorErrorCode:
		return load.Closed // the server's, during the handshake
	case errors.As(err, &transport) && transport.ErrorCode != quic.NoError:
		return load.Protocol
	case errors.As(err, &handshake):
		return load.Timeout
	case errors.As(err, &reset):
		return load.Reset
	case errors.As(err, &version):
		return load.Protocol
	case errors.As(err, &local) && !local.Remote:
		return load.Protocol
	case errors.As(err, &stream) && stream.Remote:
		return load.Reset
	}
	return ""
}

// A streamError takes the fields of net/http's error of that name, which
// errors.As copies into any struct that has the same.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error makes it an error, which errors.As asks for.
func (streamError) Error() string { return "http2: stream error" }

// kindOfHTTP2 returns the kind of an error of net/http's HTTP/2, or "". Where
// there is no type it goes by the texts of Go 1.26; the tests provoke each.
func kindOfHTTP2(err error) load.ErrorKind {
	var (
		stream streamError
		alert  *net.OpError
		record tls.RecordHeaderError
	)
	text := err.Error()
	switch {
	case errors.As(err, &stream) && stream.Cause != nil && stream.Cause.Error() == "received from peer":
		return load.Reset
	case errors.As(err, &stream):
		return load.Protocol
	case errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"), errors.As(err, &record):
		return load.TLS
	case strings.Contains(text, "GOAWAY"), strings.Contains(text, "client connection lost"),
		strings.Contains(text, "connection closed"), strings.Contains(text, "client conn not usable"), strings.Contains(text, "could not be established"):
		return load.Closed
	}
	return ""
}
