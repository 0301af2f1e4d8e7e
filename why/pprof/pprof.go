// Package pprof fetches profiles and traces of a Go program over HTTP (net/http/pprof). The program is
// not trusted: how much is read, and how long that takes, is bounded.
package pprof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// mostBytes bounds an answer. An execution trace has about 200 bytes for a request.
	mostBytes = 64 << 20
	// findWithin is how long the index page may take, and tellWithin what is asked for beyond
	// the time for which that is to last.
	findWithin = 2 * time.Second
	tellWithin = 5 * time.Second
	// mostRefusal bounds the repeated text of a refusal. mostMistake bounds the text about a response that
	// is not HTTP, which net/http quotes whole, without its address.
	mostRefusal = 200
	mostMistake = 300
)

// DefaultPath is where net/http/pprof answers.
const DefaultPath = "/debug/pprof/"

// A Server is asked at its URL. Several goroutines may use it.
type Server struct {
	url    string // ends in a slash
	shown  string // the same without a password
	client http.Client
}

// At returns the server at the URL of its index page; the error says what is wrong with that.
func At(at string) (*Server, error) {
	u, err := url.Parse(at)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q is no URL of a page of net/http/pprof; expected http://HOST:PORT%s", at, DefaultPath)
	}
	// Connections of its own, that end with each answer: idle ones would be work for the server.
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return &Server{u.String(), u.Redacted(), http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Find returns an error if the server has no pages of net/http/pprof.
func (s *Server) Find(ctx context.Context) error {
	page, err := s.get(ctx, "", findWithin)
	if err == nil && (!bytes.Contains(page, []byte("goroutine")) || !bytes.Contains(page, []byte("threadcreate"))) {
		err = fmt.Errorf("%s is no page of net/http/pprof", s.shown)
	}
	return err
}

// Trace returns an execution trace of so long, which begins at once.
func (s *Server) Trace(ctx context.Context, length time.Duration) ([]byte, error) {
	return s.get(ctx, "trace?seconds="+strconv.FormatFloat(length.Seconds(), 'f', 3, 64), length+tellWithin)
}

// get returns the body of a page that arrives within a time.
func (s *Server) get(ctx context.Context, page string, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%s%s has not answered in %v", s.shown, page, within))
	defer cancel()
	body, err := s.read(ctx, page)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, context.Cause(ctx)
	}
	if err != nil && len(err.Error()) > len(s.shown)+mostMistake {
		err = fmt.Errorf("%.*s…", len(s.shown)+mostMistake, err)
	}
	return body, err
}

func (s *Server) read(ctx context.Context, page string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+page, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, refusal(s.shown+page, answer)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s%s: %w", s.shown, page, err)
	case len(body) > mostBytes:
		return nil, fmt.Errorf("%s%s answers more than %d MiB", s.shown, page, mostBytes>>20)
	}
	return body, nil
}

// refusal is what a page answers instead of what it was asked for. net/http/pprof says why.
func refusal(url string, answer *http.Response) error {
	why := ""
	if answer.Header.Get("X-Go-Pprof") != "" {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, mostRefusal)) // what arrives of it
		why, _, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
		why = ": " + why
	}
	return fmt.Errorf("%s answers %d%s", url, answer.StatusCode, why)
}
