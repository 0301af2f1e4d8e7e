package ws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"contend/protocol/wire"
	"contend/setting"
)

// A Config says what every iteration sends, how, and which answers are right.
// Only URL must be set. The last fields are for Open.
type Config struct {
	// URL is ws://host/path, or wss:// for TLS. It must not hold user
	// information, because URLs are printed in reports: send an Authorization
	// header.
	URL string `json:"target" file:"url" flag:"-"`
	// Header is sent with the handshake, in addition to the fields that it needs. A
	// field Host overrides the URL's.
	Header []wire.Field `file:"header" list:"repeat"`
	// Subprotocols are offered to the server, the preferred one first. The
	// server may choose none of them.
	Subprotocols []string `file:"subprotocols" flag:"subprotocol" list:"repeat" words:"WebSocket: *name* of a subprotocol to offer; repeatable"`
	// Mode says what an iteration is; empty means Exchange.
	Mode Mode `file:"mode" oneof:"exchange,send,receive" default:"exchange" words:"WebSocket: each iteration does an *exchange*, or only a send or a receive"`
	// Message is sent by every iteration that sends: text in UTF-8, or anything
	// if Binary is set.
	Message wire.Bytes `file:"data"`
	Binary  bool       `file:"binary" words:"WebSocket: messages are binary"`
	// Match says which answer belongs to which message; empty means ByOrder.
	Match Match `file:"match" oneof:"order,id" default:"order" words:"WebSocket: match responses to messages by *order* or by id"`
	// IDPath is where Message, then a JSON document, has its id, in the language of
	// package protocol/jsonpath: "$.id", "$.header['x'][0]". The value there is
	// replaced by 1, 2, 3 … for each connection, as a string if it is a string.
	// It is set if Match is ByID.
	IDPath string `file:"id_path" words:"WebSocket: JSON *path* of the id in messages, such as $.id"`
	// AnswerIDPath is where answers have the id; empty means IDPath.
	AnswerIDPath string `file:"answer_id_path" words:"WebSocket: JSON *path* of the id in responses, if it differs"`
	// Check returns the name of the check that a message received breaks, "" if
	// it is right; nil means that all are. It must not keep the message and may
	// be called concurrently.
	Check func(message []byte) string
	// Connections says which VUs share a connection; the zero value is per-vu.
	Connections wire.Connections `file:"connections"`
	// Compress offers permessage-deflate without context takeover (RFC 7692).
	Compress bool `file:"compress" words:"WebSocket: offer permessage-deflate"`
	// MaxMessage is the greatest number of bytes of a message that is received,
	// compressed or not; 0 means 1 MiB.
	MaxMessage int `file:"max_message" unit:"bytes" min:"0"`
	// TLS applies to wss only.
	TLS wire.TLS
	// Dial opens a connection instead of the operating system; TLS, if any, is
	// spoken over what it returns. It must return promptly once ctx is done. It
	// may be called concurrently.
	Dial func(ctx context.Context) (net.Conn, error)

	// Checks become Check.
	Checks []string `file:"checks" flag:"check" list:"repeat"`
	wire.Common
}

// A Mode says what an iteration is.
type Mode string

// The modes.
const (
	Exchange Mode = "exchange" // send a message and receive its answer
	Send     Mode = "send"     // hand a message to the kernel
	Receive  Mode = "receive"  // wait for the next message
)

// A Match says which answer belongs to which message.
type Match string

// The ways to match.
const (
	ByOrder Match = "order" // the answers come in the order of the messages
	ByID    Match = "id"    // the answer repeats the message's id
)

const defaultMaxMessage = 1 << 20

// withDefaults fills in what is empty.
func (c Config) withDefaults() Config {
	c.Mode, c.Match = cmp.Or(c.Mode, Exchange), cmp.Or(c.Match, ByOrder)
	c.AnswerIDPath, c.MaxMessage = cmp.Or(c.AnswerIDPath, c.IDPath), cmp.Or(c.MaxMessage, defaultMaxMessage)
	return c
}

// check finds what is wrong with the fields on their own. The defaults are
// filled in.
func (c Config) check() error {
	errs := []error{setting.Check(c)}
	wrong := func(field any, format string, args ...any) {
		errs = append(errs, setting.At(&c, field).Wrong(format, args...))
	}
	switch {
	case c.Match == ByID && c.Mode != Exchange:
		wrong(&c.Match, "is %s, which does not apply to the mode %s", c.Match, c.Mode)
	case c.Match == ByID && c.IDPath == "":
		wrong(&c.IDPath, "is missing: say where messages have their id, as in $.id")
	case c.Match == ByOrder && c.AnswerIDPath != "":
		wrong(&c.IDPath, "is %q, which needs match %s", c.AnswerIDPath, ByID)
	}
	if c.Mode == Receive && len(c.Message) > 0 {
		errs = append(errs, c.Body.In(setting.At(&c, &c.Message)).Wrong("does not apply to the mode %s", Receive))
	}
	if c.Mode == Send && c.Check != nil {
		m := setting.At(&c, &c.Checks).Wrong("the mode %s has no answers to look at", Send)
		m.Sentence = true
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// origin reads the URL.
func (c Config) origin() (wire.Origin, error) {
	o, err := wire.ParseURL(c.URL, "ws", "wss")
	switch {
	case err != nil:
		return wire.Origin{}, err
	case o.URL.Fragment != "":
		return wire.Origin{}, wire.URL.Wrong("is %q, whose fragment %q is not sent to servers (RFC 6455, section 3)", o.URL, o.URL.Fragment)
	}
	return o, o.CheckHost()
}

// reserved are the fields that the handshake itself sends.
const reserved = ",connection,upgrade,content-length,transfer-encoding,sec-websocket-key,sec-websocket-version," +
	"sec-websocket-protocol,sec-websocket-extensions,"

// header returns the value of the field Host, if there is one, and the lines of
// all others.
func (c Config) header() (host string, lines []byte, err error) {
	var errs []error
	wrong := func(field any, i int, format string, args ...any) {
		m := setting.At(&c, field).Wrong(format, args...)
		m.Index = i
		errs = append(errs, m)
	}
	for i, f := range c.Header {
		name := strings.ToLower(f.Name)
		switch {
		case strings.Contains(reserved, ","+name+","):
			wrong(&c.Header, i, "%s is the handshake's own", f.Name)
		case name == "host":
			host = f.Value
		default:
			lines = fmt.Appendf(lines, "%s: %s\r\n", f.Name, f.Value)
		}
	}
	for i, p := range c.Subprotocols {
		if !wire.IsToken(p) {
			wrong(&c.Subprotocols, i, "is %q, which is not a token", p)
		}
	}
	return host, lines, errors.Join(errs...)
}
