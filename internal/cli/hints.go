package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"contend/errkind"
	"contend/failure"
	"contend/load"
	"contend/protocol"
	"contend/protocol/wire"
	"contend/report"
)

// A trouble is a server from which no right answer came.
type trouble struct {
	url     *url.URL
	address string      // host:port
	err     error       // why it cannot be reached; nil: it can
	proxy   *wire.Proxy // of the environment, which requests go through; nil: none
}

// hints are the known causes, each with the text that follows the error: the first
// that applies.
var hints = []struct {
	applies func(ctx context.Context, t trouble) bool
	say     func(t trouble) string
}{
	{
		func(_ context.Context, t trouble) bool { return t.proxy != nil },
		func(t trouble) string {
			return fmt.Sprintf("requests go through the proxy %v (HTTP_PROXY or HTTPS_PROXY); check that it runs and allows them, or bypass it with NO_PROXY=%s", t.proxy, t.url.Hostname())
		},
	},
	{
		func(ctx context.Context, t trouble) bool { return t.secure() && speaksOldTLS(ctx, t.address) },
		func(t trouble) string {
			text := "the server supports at most TLS 1.0 or 1.1, which are broken (RFC 8996); enable TLS 1.2 or 1.3 in the server"
			if t.url.Scheme == "https" {
				text += ", or measure it with contend ab -f ALL"
			}
			return text
		},
	},
	{
		func(_ context.Context, t trouble) bool { return wantsCertificate(t.err) },
		func(trouble) string {
			return "the server requires a client certificate that it trusts: --cert-file FILE --key-file FILE"
		},
	},
	{
		func(_ context.Context, t trouble) bool {
			_, plain := errors.AsType[tls.RecordHeaderError](t.err)
			return plain
		},
		func(t trouble) string {
			return fmt.Sprintf("the server does not speak TLS on this port; try %s://%s", strings.TrimSuffix(t.url.Scheme, "s"), t.rest())
		},
	},
	{
		func(_ context.Context, t trouble) bool {
			_, unknown := errors.AsType[x509.UnknownAuthorityError](t.err)
			return unknown
		},
		func(trouble) string {
			return "the certificate is self-signed or from an unknown CA; trust it with --ca-file FILE, or skip verification with --insecure"
		},
	},
	{
		func(_ context.Context, t trouble) bool {
			_, other := errors.AsType[x509.HostnameError](t.err)
			_, invalid := errors.AsType[x509.CertificateInvalidError](t.err)
			return other || invalid
		},
		func(trouble) string {
			return "the certificate is not valid for this URL now; use the name it was issued for, or skip verification with --insecure"
		},
	},
	{
		func(ctx context.Context, t trouble) bool { return !t.secure() && speaksTLS(ctx, t.address) },
		func(t trouble) string {
			return fmt.Sprintf("the server speaks TLS on this port; try %ss://%s", t.url.Scheme, t.rest())
		},
	},
	{
		func(ctx context.Context, t trouble) bool {
			return t.url.Scheme == "grpc" && speaksHTTP1(ctx, t.address) && !speaksHTTP2(ctx, t.address)
		},
		func(t trouble) string {
			return fmt.Sprintf("the server speaks HTTP/1 on this port and gRPC needs HTTP/2; try its gRPC port, or http://%s/path", t.url.Host)
		},
	},
	{
		func(_ context.Context, t trouble) bool { return t.url.Scheme == "https" && lacksHTTP2(t.err) },
		func(trouble) string { return "the server does not speak HTTP/2 on this port; try without --http 2" },
	},
	{
		func(_ context.Context, t trouble) bool { return t.url.Scheme == "grpcs" && lacksHTTP2(t.err) },
		func(t trouble) string {
			return fmt.Sprintf("the server does not offer HTTP/2 in the TLS handshake and gRPC needs it; try its gRPC port, or https://%s/path", t.url.Host)
		},
	},
	{
		func(ctx context.Context, t trouble) bool {
			return t.err == nil && t.url.Scheme == "http" && !speaksHTTP1(ctx, t.address) && speaksHTTP2(ctx, t.address)
		},
		func(t trouble) string {
			return fmt.Sprintf("the server speaks only HTTP/2 on this port, as gRPC servers do; try --http 2, or grpc://%s/package.Service/Method", t.url.Host)
		},
	},
}

func (t trouble) secure() bool { return strings.HasSuffix(t.url.Scheme, "s") && t.url.Scheme != "ws" }

// rest is the URL without its scheme.
func (t trouble) rest() string { return t.url.Host + t.url.RequestURI() }

// hint is the cause of a target's trouble, with what to do; "": it is not known.
func hint(ctx context.Context, target string, t trouble) string {
	u, err := wire.Parse(target)
	if t.address = protocol.At(target).Address(); err != nil || t.address == "" {
		return ""
	}
	t.url = u
	t.proxy, _ = wire.Surroundings{Env: os.LookupEnv}.Proxy(u)
	for _, h := range hints {
		if h.applies(ctx, t) {
			return h.say(t)
		}
	}
	return ""
}

// hinted adds a hint to the error, if there is one.
func hinted(err error, hint string) error {
	if hint == "" {
		return err
	}
	return failure.With(fmt.Errorf("%w\n%s", err, hint), failure.Failure{Advice: hint})
}

// about says which variant an error is about.
func about(name string, err error) error {
	return failure.About(name+": ", err, failure.Failure{Arm: name})
}

// hintOf is that of the first result of a document without any right answer, unless one of its
// servers has answered in the protocol in which it was asked: then there is no other protocol
// to try.
func hintOf(ctx context.Context, doc *report.Document) string {
	mute := ""
	for _, r := range doc.Results {
		// Servers of TLS answer 400 to a request that is not.
		if len(r.Statuses) > 0 && r.Statuses[http.StatusBadRequest] == 0 {
			return ""
		}
		if mute == "" && r.Completed == 0 && len(r.Errored)+len(r.Statuses) > 0 && !r.OnlyCounted() && r.Stopped != load.Interrupted {
			mute = r.Target
		}
	}
	if mute == "" {
		return ""
	}
	return hint(ctx, mute, trouble{})
}

// probeLimit bounds a look at what a server speaks; in tests it is longer.
var probeLimit = time.Second

// ask opens a connection for a look at what a server speaks.
func ask(ctx context.Context, address string, look func(net.Conn) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	until, _ := ctx.Deadline()
	return conn.SetDeadline(until) == nil && look(conn)
}

// speaksTLS reports whether a server answers a handshake, if only to refuse it.
func speaksTLS(ctx context.Context, address string) bool {
	return ask(ctx, address, func(conn net.Conn) bool {
		err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
		alert, refused := errors.AsType[*net.OpError](err)
		return err == nil || refused && alert.Op == "remote error"
	})
}

// speaksOldTLS reports whether a server agrees to no version of TLS that is still in use, but to an older one.
func speaksOldTLS(ctx context.Context, address string) bool {
	agrees := func(least, most uint16) bool {
		return ask(ctx, address, func(conn net.Conn) bool {
			return tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: least, MaxVersion: most}).HandshakeContext(ctx) == nil
		})
	}
	return agrees(tls.VersionTLS10, tls.VersionTLS11) && !agrees(tls.VersionTLS12, tls.VersionTLS13)
}

// lacksHTTP2 reports whether a handshake ended because the server would not choose HTTP/2.
func lacksHTTP2(err error) bool { return err != nil && failure.Connecting(err).Kind == failure.NoALPN }

// wantsCertificate reports whether a server ended a handshake because of our certificate (RFC 8446, section 6.2).
func wantsCertificate(err error) bool {
	const badCertificate, unknownAuthority, certificateRequired = 42, 48, 116
	alert, ok := errkind.AlertOf(err)
	return ok && (alert == badCertificate || alert == unknownAuthority || alert == certificateRequired)
}

// speaksHTTP1 reports whether a server answers a request of HTTP/1.1, whatever it answers.
func speaksHTTP1(ctx context.Context, address string) bool {
	return ask(ctx, address, func(conn net.Conn) bool {
		const request, version = "OPTIONS * HTTP/1.1\r\nHost: contend\r\nConnection: close\r\n\r\n", "HTTP/1."
		begin := make([]byte, len(version))
		if _, err := io.WriteString(conn, request); err != nil {
			return false
		}
		_, err := io.ReadFull(conn, begin)
		return err == nil && string(begin) == version
	})
}

// speaksHTTP2 reports whether a server begins with SETTINGS, as it must (RFC 9113, section
// 3.4): a frame whose fourth byte, its type, is 4 (section 6.5).
func speaksHTTP2(ctx context.Context, address string) bool {
	return ask(ctx, address, func(conn net.Conn) bool {
		const preface, settings = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		header := make([]byte, 9)
		if _, err := io.WriteString(conn, preface+settings); err != nil {
			return false
		}
		_, err := io.ReadFull(conn, header)
		return err == nil && header[3] == 4
	})
}
