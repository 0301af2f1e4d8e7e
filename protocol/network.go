package protocol

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"contend/load"
	"contend/protocol/check"
	"contend/protocol/data"
	"contend/protocol/grpc"
	"contend/protocol/http"
	"contend/protocol/roundtrip"
	"contend/protocol/wire"
	"contend/protocol/ws"
)

// material is what a spec names and what stands elsewhere: in files and in the
// environment.
type material struct {
	body                          []byte
	authorities, certificate, key []byte
	rows                          *data.Rows
	basic, bearer                 string
}

// read reads all of it, and reports every mistake.
func (o Opener) read(s Spec) (material, error) {
	m := material{body: []byte(s.Data)}
	var errs []error
	for _, file := range []struct {
		what, path string
		into       *[]byte
	}{
		{"data file", s.DataFile, &m.body}, {"ca file", s.CAFile, &m.authorities},
		{"cert file", s.CertFile, &m.certificate}, {"key file", s.KeyFile, &m.key},
	} {
		if file.path == "" {
			continue
		}
		content, err := os.ReadFile(file.path)
		if err != nil {
			errs = append(errs, fmt.Errorf("target: %s: %w", file.what, err))
		}
		*file.into = content
	}
	var err error
	if s.Rows != "" {
		m.rows, err = data.ReadRows(s.Rows)
		errs = append(errs, err)
	}
	m.basic, err = o.secret("basic_auth", s.BasicAuth)
	errs = append(errs, err)
	m.bearer, err = o.secret("bearer", s.Bearer)
	errs = append(errs, err)
	if s.BasicAuth != "" && err == nil && m.basic != "" && !strings.Contains(m.basic, ":") {
		errs = append(errs, fmt.Errorf("target: basic_auth: what stands at %s is not user:password", s.BasicAuth))
	}
	return m, errors.Join(errs...)
}

// secret is ReadSecret of a field that may be empty; Validate says what has the
// wrong form.
func (o Opener) secret(field, place string) (string, error) {
	if !isSecretPlace(place) {
		return "", nil
	}
	return ReadSecret("target: "+field, place, o.Env)
}

// ReadSecret finds what place, env:NAME or file:PATH, stands for, without the space
// around it in a file. env looks a variable up; nil means that there are none. The
// error begins with name, and shows neither the secret nor a place of another form,
// which may be the secret itself.
func ReadSecret(name, place string, env func(string) (string, bool)) (string, error) {
	if !isSecretPlace(place) {
		return "", fmt.Errorf("%s is not of the form env:NAME or file:PATH", name)
	}
	kind, rest, _ := strings.Cut(place, ":")
	if kind == "env" {
		if env != nil {
			if value, ok := env(rest); ok && value != "" {
				return value, nil
			}
		}
		return "", fmt.Errorf("%s: the environment has no %s", name, rest)
	}
	content, err := os.ReadFile(rest)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", fmt.Errorf("%s: %s is empty", name, rest)
	}
	return secret, nil
}

func isSecretPlace(place string) bool {
	kind, rest, _ := strings.Cut(place, ":")
	return rest != "" && (kind == "env" || kind == "file")
}

// authorization is the value of a field of that name, or "".
func (m material) authorization() string {
	switch {
	case m.basic != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(m.basic))
	case m.bearer != "":
		return "Bearer " + m.bearer
	}
	return ""
}

// validFields splits lines that Validate has read.
func validFields(lines []string) []wire.Field {
	fields, _ := headerFields(lines)
	return fields
}

// header is that of a request or handshake.
func (m material) header(s Spec) []wire.Field {
	fields := validFields(s.Header)
	if auth := m.authorization(); auth != "" {
		fields = append(fields, wire.Field{Name: "Authorization", Value: auth})
	}
	return fields
}

func (m material) tls(s Spec) wire.TLS {
	return wire.TLS{CA: m.authorities, Insecure: s.Insecure, Certificate: m.certificate, Key: m.key}
}

// connections are those of a valid spec, usual if it says nothing.
func (s Spec) connections(usual wire.Sharing) wire.Connections {
	if s.Connections == "" {
		return wire.Connections{Sharing: usual}
	}
	c, _ := wire.ParseConnections(s.Connections) // Validate has read it
	return c
}

// metadata is the header for gRPC, with binary values decoded.
func (s Spec) metadata() (map[string][]string, error) {
	metadata := map[string][]string{}
	var errs []error
	for _, f := range validFields(s.Header) {
		key, value := strings.ToLower(f.Name), f.Value
		if strings.HasSuffix(key, "-bin") {
			decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
			if err != nil {
				errs = append(errs, fmt.Errorf("header %s: the value of a key that ends in -bin is not base64", f.Name))
			}
			value = string(decoded)
		}
		metadata[key] = append(metadata[key], value)
	}
	return metadata, errors.Join(errs...)
}

// openHTTP opens a valid spec.
func (o Opener) openHTTP(s Spec, m material) (load.Target, error) {
	ownStreams, why := s.ownStreams()
	if s.newer() && !ownStreams {
		if s.needsRequests() {
			return nil, fmt.Errorf("target %q: rows, placeholders, requests and checks do not apply to HTTP/%s here: %s", s.URL, s.HTTP, why)
		}
		return openRoundTrip(s, m)
	}
	user, password, _ := strings.Cut(m.basic, ":")
	c := http.Config{
		URL: s.URL, UnixSocket: s.UnixSocket, Method: s.Method, Body: m.body, Header: validFields(s.Header),
		ExpectStatus: s.ExpectStatus, Checks: s.Checks, DisableKeepAlive: s.NoKeepAlive,
		Auth: http.Auth{User: user, Password: password, Bearer: m.bearer},
		TLS:  m.tls(s), OwnCores: o.OwnCores,
	}
	if ownStreams {
		connections := s.connections(wire.PerVU)
		c.HTTP2, c.DisableKeepAlive, c.Connections = true, connections.Sharing == wire.PerIteration, connections.Pool()
	}
	for _, r := range s.Requests {
		c.Requests = append(c.Requests, r.httpRequest())
	}
	if m.rows != nil || s.hasPlaceholders(m.body) {
		c.Data = &data.Source{Rows: m.rows, VUs: o.VUs, Seed: o.Seed}
		if s.RowOrder != "" {
			c.Data.Order, _ = data.ParseOrder(s.RowOrder) // Validate has read it
		}
	}
	return opened(http.New(c))
}

func (r Request) httpRequest() http.Request {
	request := http.Request{
		Name: r.Name, Weight: r.Weight, Path: r.Path, Method: r.Method, Header: validFields(r.Header),
		ExpectStatus: r.ExpectStatus, Checks: r.Checks,
	}
	if r.Data != "" { // otherwise the body is that of the Spec
		request.Body = []byte(r.Data)
	}
	return request
}

// ownStreams says whether our own client speaks the version of HTTP/2 asked for,
// and if not, why.
func (s Spec) ownStreams() (ok bool, why string) {
	switch supported, why := http.SupportsHTTP2(); {
	case s.HTTP != "2":
		return false, "only HTTP/1.1 and HTTP/2 have them"
	case s.Engine != "":
		return false, "event loops are switched off"
	default:
		return supported, why
	}
}

// needsRequests says whether requests or answers need more than to be sent and
// counted.
func (s Spec) needsRequests() bool {
	return s.Rows != "" || len(s.Requests) > 0 || len(s.Checks) > 0 || s.hasPlaceholders([]byte(s.Data))
}

// openRoundTrip opens a valid spec of HTTP/2 or HTTP/3.
func openRoundTrip(s Spec, m material) (load.Target, error) {
	c := roundtrip.Config{
		URL: s.URL, Method: s.Method, Body: m.body, ExpectStatus: s.ExpectStatus,
		TLS: m.tls(s), Connections: s.connections(wire.PerVU), Header: m.header(s),
	}
	c.Version, _ = strconv.Atoi(s.HTTP)
	return opened(roundtrip.New(c))
}

// hasPlaceholders says whether something is to be filled in for each iteration.
func (s Spec) hasPlaceholders(body []byte) bool {
	texts := append([]string{s.URL}, s.Header...)
	for _, r := range s.Requests {
		texts = append(append(texts, r.Path, r.Data), r.Header...)
	}
	return strings.Contains(strings.Join(texts, "\n"), "{{") || bytes.Contains(body, []byte("{{"))
}

// openGRPC opens a valid spec.
func (o Opener) openGRPC(ctx context.Context, s Spec, m material) (load.Target, error) {
	c := grpc.Config{
		URL: s.URL, Data: m.body, ProtoFiles: s.Proto, ImportPaths: s.ImportPath,
		Messages: s.Messages, StreamPerVU: s.Stream == "per-vu", Deadline: s.Deadline, MaxMessage: s.MaxMessage,
		TLS: m.tls(s), Connections: s.connections(wire.Shared), OwnCores: o.OwnCores,
	}
	c.Metadata, _ = s.metadata() // Validate has read it
	if auth := m.authorization(); auth != "" {
		c.Metadata["authorization"] = []string{auth}
	}
	if len(s.ExpectStatus) == 1 {
		c.ExpectCode = s.ExpectStatus[0]
	}
	return opened(grpc.New(ctx, c))
}

// openWS opens a valid spec.
func openWS(s Spec, m material) (load.Target, error) {
	checks, err := check.Parse(s.Checks...)
	if err != nil {
		return nil, err
	}
	if needs := checks.Needs(); needs.Status || len(needs.Headers) > 0 {
		return nil, fmt.Errorf("target %q: a message has neither status nor header to check", s.URL)
	}
	c := ws.Config{
		URL: s.URL, Subprotocols: s.Subprotocols, Mode: ws.Mode(s.Mode), Message: m.body, Binary: s.Binary,
		Match: ws.Match(s.Match), IDPath: s.IDPath, AnswerIDPath: s.AnswerIDPath, Compress: s.Compress, MaxMessage: s.MaxMessage,
		TLS: m.tls(s), Connections: s.connections(wire.PerVU), Header: m.header(s),
	}
	if checks.Len() > 0 {
		c.Check = func(message []byte) string {
			return checks.Run(check.Answer{Body: message, Size: int64(len(message))})
		}
	}
	return opened(ws.New(c))
}
