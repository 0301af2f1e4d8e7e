package wire

import (
	"errors"
	"slices"
	"strings"
)

// net/http tells some of its errors by their texts alone, of Go 1.26. This file matches them, and its
// test provokes each.
const (
	closedIdle   = "server closed idle connection"
	shutsDown    = "graceful shutdown GOAWAY"
	resetByPeer  = "received from peer"
	goneAway     = "GOAWAY"
	pingLost     = "client connection lost"
	closed       = "connection closed"
	notUsable    = "client conn not usable"
	neverStarted = "could not be established"
	forceClosed  = "connection force closed"
)

// ClosedIdle reports whether the server had closed an idle connection of HTTP/1.1 when it was used again.
func ClosedIdle(err error) bool { return says(err, closedIdle) }

// ShutsDown reports whether the server did nothing with a request of HTTP/2, because it shuts down and
// names the last stream that it takes (RFC 9113, section 6.8).
func ShutsDown(err error) bool { return says(err, shutsDown) }

// IsGone reports whether a connection of HTTP/2 ended before a complete answer.
func IsGone(err error) bool {
	return says(err, goneAway, pingLost, closed, notUsable, neverStarted, forceClosed)
}

func says(err error, texts ...string) bool {
	text := err.Error()
	return slices.ContainsFunc(texts, func(part string) bool { return strings.Contains(text, part) })
}

// A StreamError takes the fields of net/http's error of that name, which errors.As copies into any
// struct that has the same.
type StreamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error makes it an error, which errors.As asks for.
func (StreamError) Error() string { return "http2: stream error" }

// OfStream returns the error of a stream of HTTP/2 that was reset, by the peer or for a mistake of
// the peer's.
func OfStream(err error) (stream StreamError, byPeer, ok bool) {
	ok = errors.As(err, &stream)
	return stream, ok && stream.Cause != nil && stream.Cause.Error() == resetByPeer, ok
}
