package discover

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"contend/internal/lazyregexp"
	"contend/protocol/grpc"
)

// patience bounds each look at a server, which may have to warm up.
const patience = 3 * time.Second

// serviceAt finds out what is spoken at an address.
func serviceAt(ctx context.Context, address string, r Request) Service {
	plain := newAsker("http", address, false, r)
	status, err := plain.get(ctx, "/")
	if err == nil && status != http.StatusBadRequest { // as servers of TLS answer to a request without it
		return plain.service(ctx, status)
	}
	if err != nil {
		if name := nameOf(ctx, address); name != "" {
			return Service{Speaks: name}
		}
	}
	for _, a := range []*asker{newAsker("https", address, false, r), newAsker("http", address, true, r), newAsker("https", address, true, r)} {
		other, failed := a.get(ctx, "/")
		if failed != nil {
			continue
		}
		if a.http2 {
			if methods, is := methodsAt(ctx, a); is {
				return Service{Scheme: strings.Replace(a.scheme, "http", "grpc", 1), Answers: methods}
			}
		}
		return a.service(ctx, other)
	}
	switch {
	case speaksTLS(ctx, address):
		return Service{Speaks: "TLS whose handshake fails, as where a client certificate is required"}
	case err == nil:
		return plain.service(ctx, status)
	}
	return Service{}
}

// An asker asks one server in one protocol.
type asker struct {
	scheme, address string
	http2           bool
	request         Request
	client          *http.Client
}

func newAsker(scheme, address string, http2 bool, r Request) *asker {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2 && scheme == "https")
	protocols.SetUnencryptedHTTP2(http2 && scheme == "http")
	transport := &http.Transport{Protocols: protocols, DisableKeepAlives: !http2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	return &asker{scheme, address, http2, r, &http.Client{Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// get returns the status of a path.
func (a *asker) get(ctx context.Context, path string) (status int, err error) {
	status, _, err = a.read(ctx, path, a.request)
	return status, err
}

// mostRead is how much of a page is read.
const mostRead = 1 << 20

func (a *asker) read(ctx context.Context, path string, r Request) (status int, page []byte, err error) {
	defer a.client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, r.Method, a.scheme+"://"+a.address+path, strings.NewReader(r.Data))
	if err != nil {
		return 0, nil, err
	}
	request.Host = r.Header.Get("Host")
	maps.Copy(request.Header, r.Header)
	response, err := a.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	page, _ = io.ReadAll(io.LimitReader(response.Body, mostRead)) // one without an end is an answer
	return response.StatusCode, page, nil
}

// harmless are methods that can be called without knowing what they do.
var harmless = lazyregexp.New(`/(?:Get|List|Find|Search|Read|Query|Check|Ping|Echo|Say|Hello|Status|Health)\w*$`)

// methodsAt asks for the methods of a gRPC server, unary ones alone, and calls the harmless with an empty message; is: it
// is one.
func methodsAt(ctx context.Context, a *asker) (answers []Answer, is bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var o grpc.Options
	if a.scheme == "https" {
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	client, err := grpc.Dial(ctx, a.address, o)
	if err != nil {
		return nil, false
	}
	defer client.Close()
	schema, err := client.Schema(ctx, nil)
	if err != nil {
		return nil, isGRPC(ctx, a)
	}
	for _, m := range schema.Methods() {
		if m.ClientStreams() || m.ServerStreams() || strings.HasPrefix(m.Package(), "grpc.reflection.") {
			continue
		}
		answer := Answer{Path: m.Path(), Said: "not called"}
		if harmless().MatchString(m.Path()) {
			reply := client.Invoke(ctx, m, nil, nil)
			answer.Right, answer.Said = reply.Code == 0, fmt.Sprintf("code %d", reply.Code)
		}
		answers = append(answers, answer)
	}
	return best(answers, func(a Answer) bool { return !strings.HasPrefix(a.Path, "/grpc.health.") }), true
}

// isGRPC reports whether a server without reflection answers in the form of gRPC.
func isGRPC(ctx context.Context, a *asker) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.scheme+"://"+a.address+"/contend.None/None", strings.NewReader("\x00\x00\x00\x00\x00"))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := a.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return strings.HasPrefix(response.Header.Get("Content-Type"), "application/grpc")
}

// speaksTLS reports whether a server answers a handshake, if only to refuse it.
func speaksTLS(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		conn.Close()
	}
	alert, refused := errors.AsType[*net.OpError](err)
	return err == nil || refused && alert.Op == "remote error"
}

// others are protocols that contend does not drive: what is said first ("": the server speaks first), how the answer
// begins, and the name.
var others = []struct{ say, hear, name string }{
	{"", `^SSH-`, "SSH"},
	{"", `^220[ -]`, "SMTP or FTP"},
	{"", `^INFO \{`, "the protocol of NATS"},
	{"", `^\* OK`, "IMAP"},
	{"", `^\+OK`, "POP3"},
	{"", `(?s)^...\x00\x0a`, "the protocol of MySQL"},
	{"PING\r\n", `^(\+PONG|-NOAUTH|-DENIED|-ERR )`, "RESP, the protocol of Redis"},
	{"version\r\n", `^VERSION `, "the protocol of memcached"},
	{"\x00\x00\x00\x08\x04\xd2\x16\x2f", `^[SN]$`, "the protocol of PostgreSQL"},
}

// listening is how long a server that speaks may take to do so.
const listening = 300 * time.Millisecond

// nameOf names a protocol that is not driven; "": unknown.
func nameOf(ctx context.Context, address string) string {
	heard := map[string]string{}
	for _, other := range others {
		answer, asked := heard[other.say]
		if !asked {
			answer = hear(ctx, address, other.say)
			heard[other.say] = answer
		}
		if regexp.MustCompile(other.hear).MatchString(answer) {
			return other.name
		}
	}
	return ""
}

// hear is what a server answers first.
func hear(ctx context.Context, address, say string) string {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	answer := make([]byte, 512)
	if conn.SetDeadline(time.Now().Add(listening)) != nil {
		return ""
	}
	if _, err := io.WriteString(conn, say); err != nil {
		return ""
	}
	n, _ := conn.Read(answer)
	return string(answer[:n])
}
