package api

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
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
	grants map[[sha256.Size]byte]grant
}

type grant struct {
	customer string
	expires  time.Time // zero: never
	line     int
}

func newTokens() *Tokens {
	t := &Tokens{grants: make(map[[sha256.Size]byte]grant)}
	rand.Read(t.key[:]) // never fails
	return t
}

// DemoTokens knows only DemoToken, of DemoCustomer. It is for a server
// that listens on loopback.
func DemoTokens() *Tokens {
	t := newTokens()
	t.grants[t.digest(DemoToken)] = grant{customer: DemoCustomer}
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
	var mistakes []error
	lines := bufio.NewScanner(r)
	number := 1
	for ; lines.Scan(); number++ {
		for _, err := range t.add(strings.TrimPrefix(lines.Text(), "\ufeff"), number) {
			mistakes = append(mistakes, fmt.Errorf("token file, line %d: %w", number, err))
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		mistakes = append(mistakes, fmt.Errorf("token file, line %d: longer than 64 KiB", number))
	} else if err != nil {
		mistakes = append(mistakes, fmt.Errorf("token file, line %d: %w", number, err))
	}
	if len(t.grants) == 0 && len(mistakes) == 0 {
		mistakes = append(mistakes, errors.New("token file: no token in it"))
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return t, nil
}

var (
	customerForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	tokenForm    = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)
)

// add keeps the token of a line, or returns what is wrong with it.
func (t *Tokens) add(line string, number int) (mistakes []error) {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if len(words) < 2 || len(words) > 3 {
		return []error{fmt.Errorf("%d words; allowed: customer token [expires]", len(words))}
	}
	g := grant{customer: words[0], line: number}
	if !customerForm.MatchString(g.customer) {
		mistakes = append(mistakes, fmt.Errorf("customer is %.70q; allowed: 1 to 64 of A-Z a-z 0-9 . _ -", g.customer))
	}
	if !tokenForm.MatchString(words[1]) {
		mistakes = append(mistakes, errors.New("token is of another form; allowed: A-Z a-z 0-9 . _ ~ + / - and = at its end"))
	}
	if len(words) == 3 {
		var err error
		if g.expires, err = time.Parse(time.RFC3339, words[2]); err != nil {
			mistakes = append(mistakes, fmt.Errorf("expires is %.40q; allowed: a time such as 2030-12-31T23:59:59Z", words[2]))
		}
	}
	digest := t.digest(words[1])
	if first, ok := t.grants[digest]; ok {
		return append(mistakes, fmt.Errorf("token: the same as in line %d", first.line))
	}
	t.grants[digest] = g
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
	token, ok := bearer(r)
	if !ok {
		return "", false
	}
	g, ok := t.grants[t.digest(token)]
	if !ok || !g.expires.IsZero() && !time.Now().Before(g.expires) {
		return "", false
	}
	return g.customer, true
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
