package h2

import (
	"errors"
	"fmt"

	"contend/errkind"
)

// The errors of streams and connections that a server may cause. Those that
// tell more are made where they occur; each is a *errkind.Error.
var (
	// ErrUnprocessed ends a stream that the server says it did not process, by
	// GOAWAY or REFUSED_STREAM: sending the request again is safe (RFC 9113,
	// section 8.7).
	ErrUnprocessed error = &errkind.Error{Kind: errkind.Closed, Err: errors.New("HTTP/2: the server did not process the request")}

	// ErrCancelled ends a stream that the server reset because nobody needs it any
	// longer, such as that of a call whose deadline has passed.
	ErrCancelled = resetError(codeCancel)

	errClosed     error = &errkind.Error{Kind: errkind.Closed, Err: errors.New("HTTP/2: the server closed the connection")}
	errForeign    error = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("HTTP/2: the server does not speak HTTP/2")}
	errLongHeader error = &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("HTTP/2: a header of more than %d bytes", maxHeaderBytes)}
	errPadding    error = &errkind.Error{Kind: errkind.Protocol, Err: errors.New("HTTP/2: padding or priority longer than its frame")}
	errFlood      error = &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("HTTP/2: more than %d frames that want a reply, and no answer", maxReplies)}
)

func protocolError(format string, args ...any) error {
	return &errkind.Error{Kind: errkind.Protocol, Err: fmt.Errorf("HTTP/2: "+format, args...)}
}

// resetError is that of a stream which the server reset.
func resetError(code uint32) error {
	return &errkind.Error{Kind: errkind.Reset, Err: fmt.Errorf("HTTP/2: the server reset the stream: %s", codeName(code))}
}

// codeNames are the error codes of RFC 9113, section 7.
var codeNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

const (
	codeNo       = 0
	codeProtocol = 1
	codeRefused  = 7
	codeCancel   = 8
)

func codeName(code uint32) string {
	if code < uint32(len(codeNames)) {
		return codeNames[code]
	}
	return fmt.Sprintf("error %d", code)
}
