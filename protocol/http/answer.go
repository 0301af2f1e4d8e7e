package http

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"contend/load"
	"contend/protocol/check"
	"contend/protocol/wire"
)

// An Answer is what the first of all answers said. Every target has one, which
// tells what is under load.
type Answer struct {
	// Status is the HTTP status.
	Status int
	// Server is the Server field, at most 128 bytes of it.
	Server string
	// BodyLength is the number of bytes of the body as received, without what
	// frames its chunks.
	BodyLength int64
	// TLS is protocol, cipher suite, bits of the server's key and bits of the
	// cipher, as OpenSSL names them: "TLSv1.3,TLS_AES_256_GCM_SHA384,2048,256".
	// It is empty without TLS, as is TempKey, the key of the key exchange:
	// "X25519 253 bits".
	TLS, TempKey string
}

// First returns the first answer of all, and false before any has arrived.
// Which of several that arrive at the same time is the first is left to chance.
func (t *Target) First() (Answer, bool) {
	first := t.first.Load()
	if first == nil {
		return Answer{}, false
	}
	return *first, true
}

// judge fills in what became of an iteration whose request s has sent, when all in bytes of the answer are there.
func (t *Target) judge(out *load.Outcome, s *sender, p *parser, c carrier, in int64) {
	first := t.first.Load()
	if first == nil {
		first = t.noteFirst(p, c)
	}
	*out = load.Outcome{
		Status:    p.status,
		Failed:    !s.request.expect.right(p.status),
		Request:   s.request.name,
		BytesIn:   in,
		BytesOut:  int64(s.size),
		BodyIn:    p.body,
		Stray:     p.stray,
		Continued: p.continued,
	}
	if t.keepAlive {
		out.Parted = p.parted()
	}
	p.stray = false
	var encoded error
	if s.request.checks != nil && !out.Failed {
		var a check.Answer
		a, encoded = p.answer()
		out.Check = s.request.checks.Run(a)
		out.Failed = out.Check != ""
	}
	if t.same && !out.Failed && p.body != first.BodyLength {
		out.Failed, out.Check = true, "length"
	}
	if out.Failed {
		if out.Detail = p.detail(); encoded != nil {
			out.Detail = fmt.Appendf(nil, "%v\r\n%s", encoded, out.Detail)
		}
		out.Expected = s.request.expect.words
		return
	}
	p.said.Checked = s.request.checked
	p.said.Redirect = !s.request.expect.asked() && wire.IsRedirect(p.status)
	out.Content = &p.said
}

// newParser makes a parser that sender.next prepares for each answer.
func (t *Target) newParser() parser {
	return parser{http10: t.http10, wanted: t.wanted}
}

// A carrier is what an answer came over.
type carrier interface {
	// handshake returns nil where there was none.
	handshake() *tls.ConnectionState
}

func (t *Target) noteFirst(p *parser, c carrier) *Answer {
	a := &Answer{Status: p.status, Server: string(p.server), BodyLength: p.body}
	if state := c.handshake(); state != nil {
		a.TLS, a.TempKey = describe(*state), tempKey(state.CurveID)
	}
	t.first.CompareAndSwap(nil, a)
	return t.first.Load()
}

// describe names a handshake as ab 2.3 does.
func describe(s tls.ConnectionState) string {
	version := strings.Replace(tls.VersionName(s.Version), "TLS ", "TLSv", 1)
	version = strings.TrimSuffix(version, ".0") // OpenSSL calls TLS 1.0 TLSv1
	bits := 0
	if len(s.PeerCertificates) > 0 {
		bits = keyBits(s.PeerCertificates[0].PublicKey)
	}
	suite := tls.CipherSuiteName(s.CipherSuite)
	return fmt.Sprintf("%s,%s,%d,%d", version, opensslName(suite), bits, cipherBits(suite))
}

func keyBits(public any) int {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen()
	case *ecdsa.PublicKey:
		return key.Params().BitSize
	case ed25519.PublicKey:
		return 253 // of the group's order, as OpenSSL counts
	}
	return 0
}

// opensslName turns the standard's name of a suite into OpenSSL's, which is
// the same from TLS 1.3 on.
func opensslName(suite string) string {
	exchange, cipher, found := strings.Cut(strings.TrimPrefix(suite, "TLS_"), "_WITH_")
	if !found {
		return suite
	}
	cipher = strings.NewReplacer("AES_128", "AES128", "AES_256", "AES256", "_CBC", "", "RC4_128", "RC4",
		"3DES_EDE", "DES-CBC3", "POLY1305_SHA256", "POLY1305").Replace(cipher)
	if exchange != "RSA" { // which OpenSSL does not mention
		cipher = exchange + "_" + cipher
	}
	return strings.ReplaceAll(cipher, "_", "-")
}

func cipherBits(suite string) int {
	switch {
	case strings.Contains(suite, "AES_256"), strings.Contains(suite, "CHACHA20"):
		return 256
	case strings.Contains(suite, "3DES"):
		return 112 // of 168, against a meet in the middle
	}
	return 128
}

// tempKey names the group of a key exchange with the bits that OpenSSL counts.
func tempKey(group tls.CurveID) string {
	switch group {
	case 0:
		return ""
	case tls.X25519:
		return "X25519 253 bits"
	case tls.CurveP256:
		return "ECDH prime256v1 256 bits"
	case tls.CurveP384:
		return "ECDH secp384r1 384 bits"
	case tls.CurveP521:
		return "ECDH secp521r1 521 bits"
	}
	return group.String()
}

// statuses are the right ones; none means 200 to 399.
type statuses struct {
	list  []int
	words string // the list, as in "201 or 204"
	any   bool   // all are right
}

// Statuses says a list of statuses as in "201 or 204".
func Statuses(list []int) string {
	words := make([]string, len(list))
	for i, status := range list {
		words[i] = strconv.Itoa(status)
	}
	return strings.Join(words, " or ")
}

// asked reports whether any are named.
func (s statuses) asked() bool { return len(s.list) > 0 || s.any }

func (s statuses) right(status int) bool {
	if len(s.list) == 0 {
		return s.any || status >= 200 && status < 400
	}
	return slices.Contains(s.list, status)
}
