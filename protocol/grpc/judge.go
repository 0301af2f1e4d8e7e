package grpc

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"contend/errkind"
	"contend/load"
)

// judge tells a status that the server sent (an answer) from one that grpc-go
// made up because there was none (an error).
func (c *caller) judge(ctx context.Context, l *channel, err error) (load.Outcome, error) {
	if lost := lost(ctx, l, c.header, c.trailer, c.apart, err); lost != nil {
		return load.Outcome{}, lost
	}
	st := status.Convert(err)
	return c.answer(st.Code(), st.Message()), nil
}

// lost is why a call that ended with err got no answer; nil: err is the server's status. Apart
// is as in caller.
func lost(ctx context.Context, l *channel, header, trailer metadata.MD, apart bool, err error) error {
	if _, ok := errors.AsType[*errkind.Error](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return ended(ctx, err)
	}
	st := status.Convert(err)
	if _, timed := ctx.Deadline(); timed && st.Code() == codes.DeadlineExceeded {
		if apart { // the server's status, or its reset of the stream, which replaces it
			return nil
		}
		return &errkind.Error{Kind: errkind.Timeout, Err: err}
	}
	if sent(trailer) {
		return nil
	}
	switch kind, local := madeUp(st, l); {
	case local:
		return &errkind.Error{Kind: kind, Err: err}
	case st.Code() == codes.Unavailable && !sent(header): // in words that madeUp does not know
		return &errkind.Error{Kind: errkind.Closed, Err: err}
	}
	return nil
}

// ended is the error of an iteration whose context is done.
func ended(ctx context.Context, err error) error {
	return &errkind.Error{Kind: errkind.Of(ctx.Err()), Err: err}
}

// sent reports that the server sent this, a header or, with a status and nothing else, a trailer:
// either has a content type (Response-Headers and Trailers-Only in the gRPC over HTTP/2
// specification), which grpc-go keeps. A status that grpc-go made up has neither.
func sent(m metadata.MD) bool { return len(m.Get("content-type")) > 0 }

// madeUp reports that grpc-go made the status up, and its kind. It goes by the
// texts of grpc-go 1.85, which has no other way to say it; the tests provoke
// each group. It decides only where no trailer did.
func madeUp(st *status.Status, l *channel) (errkind.Kind, bool) {
	text := st.Message()
	switch {
	case isRefusal(st.Err()):
		return errkind.Of(l.refused(st.Err())), true
	case st.Code() == codes.Unavailable && hasAnyPrefix(text,
		"error reading from server: ", "closing transport due to: ", "transport is closing", "the connection is draining",
		"the stream is rejected because server is draining", "closing connection since the server is not reading",
		"received goaway", "no active streams left"):
		return lossKind(text), true
	case strings.HasPrefix(text, "stream terminated by RST_STREAM"):
		return errkind.Reset, true
	case hasAnyPrefix(text,
		"unexpected HTTP status code received from server", "malformed header: ", "transport: malformed ", "transport: received ",
		"protocol error: ", "a HEADERS frame cannot appear", "peer header list size exceeded", "server closed the stream without sending trailers",
		"cardinality violation: ", "grpc: ", "unexpected EOF", "received invalid frame", "header list size to send violates"):
		return errkind.Protocol, true
	}
	return "", false
}

// lacksALPN reports that a server shook hands and chose no protocol, which is how one that does not
// speak HTTP/2 does it.
func lacksALPN(err error) bool { return strings.Contains(err.Error(), "missing selected ALPN") }

// isRefusal reports that grpc-go did not send the call because its last
// attempt to connect failed.
func isRefusal(err error) bool {
	st, _ := status.FromError(err)
	return st.Code() == codes.Unavailable && strings.HasPrefix(st.Message(), "connection error: ")
}

// lossKind is the kind of an established connection's loss.
func lossKind(text string) errkind.Kind {
	cause, reading := strings.CutPrefix(text, "error reading from server: ")
	if !reading {
		return errkind.Closed
	}
	if strings.HasPrefix(cause, "remote error: tls: ") {
		return errkind.TLS
	}
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT} {
		if strings.HasSuffix(cause, known.Error()) {
			return errkind.Of(known)
		}
	}
	return errkind.Protocol // what was read is not HTTP/2
}

func hasAnyPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}
