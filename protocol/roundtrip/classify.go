package roundtrip

import (
	"crypto/tls"
	"errors"
	"net"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"contend/errkind"
	"contend/protocol/wire"
)

// classify gives an error of the libraries its kind. While dialing, what is
// unknown comes from the handshake.
func classify(err error, dialing bool) error {
	kind := kindOfQUIC(err)
	if kind == "" {
		kind = kindOfHTTP2(err)
	}
	if kind == "" {
		kind = errkind.Of(err)
	}
	if kind == errkind.Other && dialing {
		kind = errkind.TLS
	} else if kind == errkind.Other {
		kind = errkind.Protocol
	}
	return &errkind.Error{Kind: kind, Err: err}
}

// An unanswered error is that of a request of whose answer nothing has come.
type unanswered struct{ error }

func (u *unanswered) Unwrap() error { return u.error }

func isUnanswered(err error) bool {
	var u *unanswered
	return errors.As(err, &u)
}

// isUnprocessed reports whether the server says that it did nothing with a request (RFC 9113,
// section 8.7, RFC 9114, section 4.1.1).
func isUnprocessed(err error) bool {
	const refused = 7 // REFUSED_STREAM
	if !isUnanswered(err) {
		return false
	}
	stream, _, reset := wire.OfStream(err)
	local, ended := errors.AsType[*http3.Error](err)
	return reset && stream.Code == refused || ended && local.ErrorCode == http3.ErrCodeRequestRejected || wire.ShutsDown(err)
}

// kindOfQUIC returns the kind of an error of quic-go, or "". All of them say
// too that the connection is closed.
func kindOfQUIC(err error) errkind.Kind {
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
		return errkind.TLS
	case errors.As(err, &transport) && transport.ErrorCode == quic.ConnectionRefused:
		return errkind.Refused
	case errors.As(err, &transport) && transport.ErrorCode == quic.ApplicationErrorErrorCode:
		return errkind.Closed // the server's, during the handshake
	case errors.As(err, &transport) && transport.ErrorCode != quic.NoError:
		return errkind.Protocol
	case errors.As(err, &handshake):
		return errkind.Timeout
	case errors.As(err, &reset):
		return errkind.Reset
	case errors.As(err, &version):
		return errkind.Protocol
	case errors.As(err, &local) && !local.Remote:
		return errkind.Protocol
	case errors.As(err, &stream) && stream.Remote:
		return errkind.Reset
	}
	return ""
}

// kindOfHTTP2 returns the kind of an error of net/http's HTTP/2, or "".
func kindOfHTTP2(err error) errkind.Kind {
	var (
		alert  *net.OpError
		record tls.RecordHeaderError
	)
	_, byPeer, ofStream := wire.OfStream(err)
	switch {
	case byPeer:
		return errkind.Reset
	case ofStream:
		return errkind.Protocol
	case errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"), errors.As(err, &record):
		return errkind.TLS
	case wire.IsGone(err):
		return errkind.Closed
	}
	return ""
}
