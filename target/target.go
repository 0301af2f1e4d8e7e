// Package target opens what can be driven: it is the one place where the
// schemes of targets are resolved.
package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"contend/load"
	"contend/target/grpc"
	"contend/target/guard"
	"contend/target/http"
	"contend/target/pipe"
)

// A Spec describes a target in words, as flags and experiment files do. Only
// URL is required; fields that its scheme does not know are a mistake.
type Spec struct {
	// URL is http://, https:// or http+unix://, grpc:// or grpcs://host:port/package.Service/Method,
	// guard:DESIGN?…, pipe:RUNG?…, or func:NAME for a function of this program.
	URL string `yaml:"url,omitempty" json:"url"`
	// Method is the HTTP method.
	Method string `yaml:"method,omitempty" json:"method,omitempty"`
	// Header holds lines "Name: value": HTTP header fields or gRPC metadata.
	Header []string `yaml:"header,omitempty" json:"-"`
	// Data is the request's body: as it is for HTTP, a JSON message for gRPC.
	Data string `yaml:"data,omitempty" json:"data,omitempty"`
	// DataFile is read instead of Data.
	DataFile string `yaml:"data_file,omitempty" json:"data_file,omitempty"`
	// ExpectStatus lists the right HTTP statuses (empty: 200 to 399), or the one
	// right gRPC code (empty: 0).
	ExpectStatus []int `yaml:"expect_status,omitempty" json:"expect_status,omitempty"`
	// NoKeepAlive opens a connection for every HTTP iteration.
	NoKeepAlive bool `yaml:"no_keepalive,omitempty" json:"no_keepalive,omitempty"`
	// UnixSocket is connected to instead of the URL's host.
	UnixSocket string `yaml:"unix_socket,omitempty" json:"unix_socket,omitempty"`
	// Connections of gRPC: shared:N, per-vu or per-iteration.
	Connections string `yaml:"connections,omitempty" json:"connections,omitempty"`
	// Proto and ImportPath find the gRPC method without reflection.
	Proto      []string `yaml:"proto,omitempty" json:"proto,omitempty"`
	ImportPath []string `yaml:"import_path,omitempty" json:"import_path,omitempty"`
	// CAFile holds the trusted authorities in PEM form; Insecure trusts anybody.
	CAFile   string `yaml:"ca_file,omitempty" json:"ca_file,omitempty"`
	Insecure bool   `yaml:"insecure,omitempty" json:"insecure,omitempty"`
}

// An Opener opens targets. The zero value knows all schemes but func: and
// printing pipelines.
type Opener struct {
	// Funcs make the functions behind func:NAME.
	Funcs map[string]func() (load.Target, error)
	// Discard is a command that reads its standard input to the end; printing
	// pipelines write to it.
	Discard []string
}

// Open resolves the spec's scheme. The returned target is closed by its user
// if it implements io.Closer.
func (o Opener) Open(ctx context.Context, s Spec) (load.Target, error) {
	scheme, rest, found := strings.Cut(s.URL, ":")
	if !found {
		return nil, fmt.Errorf("target %q: no scheme, as in http://localhost:8080/ (allowed: %s)", s.URL, schemes)
	}
	if err := s.check(scheme); err != nil {
		return nil, err
	}
	if s.DataFile != "" {
		data, err := os.ReadFile(s.DataFile)
		if err != nil {
			return nil, fmt.Errorf("target: data file: %w", err)
		}
		s.Data = string(data)
	}
	switch scheme {
	case "http", "https", "http+unix":
		return openHTTP(s)
	case "grpc", "grpcs":
		return openGRPC(ctx, s)
	case "guard":
		c, err := guard.Parse(s.URL)
		if err != nil {
			return nil, err
		}
		return opened(guard.New(c))
	case "pipe":
		c, err := pipe.Parse(s.URL)
		if err != nil {
			return nil, err
		}
		c.Discard = o.Discard
		return opened(pipe.New(c))
	case "func":
		f, ok := o.Funcs[rest]
		if !ok {
			return nil, fmt.Errorf("target %q: no such function (allowed: %s)", s.URL, strings.Join(slices.Sorted(maps.Keys(o.Funcs)), ", "))
		}
		return f()
	}
	return nil, fmt.Errorf("target %q: scheme %q is not one of %s", s.URL, scheme, schemes)
}

// opened keeps a nil pointer of a concrete type from looking like a target.
func opened[T load.Target](t T, err error) (load.Target, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

const schemes = "http, https, http+unix, grpc, grpcs, guard, pipe, func"

// check refuses fields that the scheme would silently ignore.
func (s Spec) check(scheme string) error {
	isHTTP := strings.HasPrefix(scheme, "http")
	isGRPC := strings.HasPrefix(scheme, "grpc")
	var errs []error
	for _, field := range []struct {
		name         string
		set, allowed bool
	}{
		{"method", s.Method != "", isHTTP},
		{"header", len(s.Header) > 0, isHTTP || isGRPC},
		{"data", s.Data != "", isHTTP || isGRPC},
		{"data_file", s.DataFile != "", isHTTP || isGRPC},
		{"expect_status", len(s.ExpectStatus) > 0, isHTTP || isGRPC},
		{"no_keepalive", s.NoKeepAlive, isHTTP},
		{"unix_socket", s.UnixSocket != "", isHTTP},
		{"connections", s.Connections != "", isGRPC},
		{"proto", len(s.Proto) > 0, isGRPC},
		{"import_path", len(s.ImportPath) > 0, isGRPC},
		{"ca_file", s.CAFile != "", isHTTP || isGRPC},
		{"insecure", s.Insecure, isHTTP || isGRPC},
	} {
		if field.set && !field.allowed {
			errs = append(errs, fmt.Errorf("target %q: %s does not apply to the scheme %q", s.URL, field.name, scheme))
		}
	}
	if s.Data != "" && s.DataFile != "" {
		errs = append(errs, fmt.Errorf("target %q: both data and data_file are set", s.URL))
	}
	return errors.Join(errs...)
}

func openHTTP(s Spec) (load.Target, error) {
	c := http.Config{
		URL: s.URL, UnixSocket: s.UnixSocket, Method: s.Method, Body: []byte(s.Data),
		ExpectStatus: s.ExpectStatus, DisableKeepAlive: s.NoKeepAlive,
		TLS: http.TLS{Insecure: s.Insecure},
	}
	fields, err := s.fields()
	for _, f := range fields {
		c.Header = append(c.Header, http.Field{Name: f.name, Value: f.value})
	}
	var caErr error
	c.TLS.CA, caErr = s.authorities()
	if err := errors.Join(err, caErr); err != nil {
		return nil, err
	}
	return opened(http.New(c))
}

func openGRPC(ctx context.Context, s Spec) (load.Target, error) {
	c := grpc.Config{
		URL: s.URL, Data: []byte(s.Data), Metadata: map[string][]string{},
		ProtoFiles: s.Proto, ImportPaths: s.ImportPath,
		TLS: grpc.TLS{Insecure: s.Insecure},
	}
	fields, err := s.fields()
	for _, f := range fields {
		key := strings.ToLower(f.name)
		c.Metadata[key] = append(c.Metadata[key], f.value)
	}
	errs := []error{err}
	c.TLS.CA, err = s.authorities()
	errs = append(errs, err)
	if s.Connections != "" {
		c.Connections, err = grpc.ParseConnections(s.Connections)
		errs = append(errs, err)
	}
	switch len(s.ExpectStatus) {
	case 0:
	case 1:
		c.ExpectCode = s.ExpectStatus[0]
	default:
		errs = append(errs, fmt.Errorf("target %q: a gRPC call has one expected status, not %d", s.URL, len(s.ExpectStatus)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return opened(grpc.New(ctx, c))
}

// authorities reads the file of trusted authorities, if one is named.
func (s Spec) authorities() ([]byte, error) {
	if s.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("target: ca file: %w", err)
	}
	return pem, nil
}

type field struct{ name, value string }

func (s Spec) fields() ([]field, error) {
	var fields []field
	var errs []error
	for _, line := range s.Header {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			errs = append(errs, fmt.Errorf("target: header %q is not of the form \"Name: value\"", line))
			continue
		}
		fields = append(fields, field{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return fields, errors.Join(errs...)
}
