package api

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"contend/internal/lazyregexp"
)

// DemoToken is the token of the one customer of DemoTokens.
const DemoToken = "demo-token"

// DemoCustomer is that customer.
const DemoCustomer = "demo"

// Tokens knows which bearer token belongs to which customer. A customer may have
// several, so that they can be exchanged. The zero value knows none. Safe for
// concurrent use.
//
// A token is looked up by a keyed digest whose key is drawn anew in each process.
// How long that takes tells nothing about the tokens that exist.
type Tokens struct {
	key    [sha256.Size]byte
	mu     sync.Mutex
	grants grants
}

// grants are by the digest of their token.
type grants map[[sha256.Size]byte]*grant

type grant struct {
	customer string
	expires  time.Time // zero: never
	line     int
	valid    context.Context // ends when the token expires or is withdrawn
	end      context.CancelFunc
	expiry   *time.Timer // nil: none
}

func newTokens() *Tokens {
	t := &Tokens{}
	rand.Read(t.key[:]) // never fails
	return t
}

// DemoTokens knows only DemoToken, of DemoCustomer. It is for a server
// that listens on loopback.
func DemoTokens() *Tokens {
	t := newTokens()
	t.replace(grants{t.digest(DemoToken): {customer: DemoCustomer}})
	return t
}

// ParseTokens reads a token file: a token per line, as
//
//	customer token [expires]
//
// The customer is 1 to 64 letters, digits, dots, dashes and underscores; the
// token has the characters of RFC 6750, section 2.1; the moment from which it is
// refused is written as in RFC 3339. What follows a # is a comment. The error
// names all mistakes with their lines, and never a token.
func ParseTokens(r io.Reader) (*Tokens, error) {
	t := newTokens()
	err := t.Reread(r)
	if err == nil && len(t.grants) == 0 {
		err = errors.New("token file: no token in it")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Reread has the tokens be those of a file, which may be none. Those that are no longer
// in it, or are of another customer, end. An error, as of ParseTokens, changes nothing.
func (t *Tokens) Reread(r io.Reader) error {
	next := grants{}
	var mistakes []error
	lines := bufio.NewScanner(r)
	number := 1
	for ; lines.Scan(); number++ {
		for _, err := range t.add(next, strings.TrimPrefix(lines.Text(), "\ufeff"), number) {
			mistakes = append(mistakes, fmt.Errorf("token file, line %d: %w", number, err))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		mistakes = append(mistakes, fmt.Errorf("token file, line %d: longer than 64 KiB", number))
	} else if err != nil {
		mistakes = append(mistakes, fmt.Errorf("token file, line %d: %w", number, err))
	}
	if len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	t.replace(next)
	return nil
}

// replace takes the tokens over. Those that stay, if only with another expiry, go on.
func (t *Tokens) replace(next grants) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for digest, before := range t.grants {
		ended := before.expiry != nil && !before.expiry.Stop()
		if g := next[digest]; g != nil && g.customer == before.customer && !ended {
			g.valid, g.end = before.valid, before.end
		} else {
			before.end()
		}
	}
	for _, g := range next {
		if g.valid == nil {
			g.valid, g.end = context.WithCancel(context.Background())
		}
		if !g.expires.IsZero() {
			g.expiry = time.AfterFunc(time.Until(g.expires), g.end)
		}
	}
	t.grants = next
}

var (
	customerForm = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)
	tokenForm    = lazyregexp.New(`^[A-Za-z0-9._~+/-]+=*$`)
)

// add adds the token of a line, or returns what is wrong with it.
func (t *Tokens) add(to grants, line string, number int) (mistakes []error) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if len(words) < 2 || len(words) > 3 {
		return []error{fmt.Errorf("%d words; expected customer token [expires]", len(words))}
	}
	g := &grant{customer: words[0], line: number}
	if !customerForm().MatchString(g.customer) {
		mistakes = append(mistakes, fmt.Errorf("customer is %.70q; expected 1 to 64 of A-Z a-z 0-9 . _ -", g.customer))
	}
	if !tokenForm().MatchString(words[1]) {
		mistakes = append(mistakes, errors.New("token is of another form; expected A-Z a-z 0-9 . _ ~ + / - and = at its end"))
	}
	if len(words) == 3 {
		var err error
		if g.expires, err = time.Parse(time.RFC3339, words[2]); err != nil {
			mistakes = append(mistakes, fmt.Errorf("expires is %.40q; expected a time such as 2030-12-31T23:59:59Z", words[2]))
		}
	}
	digest := t.digest(words[1])
	if first, ok := to[digest]; ok {
		return append(mistakes, fmt.Errorf("token: the same as in line %d", first.line))
	}
	to[digest] = g
	return mistakes
}

func (t *Tokens) digest(token string) (d [sha256.Size]byte) {
	mac := hmac.New(sha256.New, t.key[:])
	io.WriteString(mac, token)
	mac.Sum(d[:0])
	return d
}

// Authenticate returns the customer whose token a request carries: in its header
// "Authorization: Bearer", or, if it has no such header, in the parameter
// access_token of its query. A token that has expired is as good as none.
func (t *Tokens) Authenticate(r *http.Request) (customer string, ok bool) {
	customer, _, ok = t.Admit(r)
	return customer, ok
}

// Admit is Authenticate for whoever stays: valid ends when the token expires or is
// withdrawn.
func (t *Tokens) Admit(r *http.Request) (customer string, valid context.Context, ok bool) {
	token, ok := bearer(r)
	if !ok {
		return "", nil, false
	}
	digest := t.digest(token)
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.grants[digest]
	if g == nil || g.valid.Err() != nil || !g.expires.IsZero() && !time.Now().Before(g.expires) {
		return "", nil, false
	}
	return g.customer, g.valid, true
}

func bearer(r *http.Request) (token string, ok bool) {
	if headers := r.Header.Values("Authorization"); len(headers) > 0 {
		scheme, token, _ := strings.Cut(headers[0], " ")
		return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
	}
	for key, value := range parameters(r.URL.RawQuery) {
		if key == "access_token" {
			return value, true
		}
	}
	return "", false
}
