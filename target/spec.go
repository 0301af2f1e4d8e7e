package target

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"contend/target/grpc"
	"contend/target/guard"
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

// Validate returns every mistake that can be seen without opening anything.
func (s Spec) Validate() error {
	scheme, _, found := strings.Cut(s.URL, ":")
	if !found {
		return fmt.Errorf("target %q: no scheme, as in http://localhost:8080/ (allowed: %s)", s.URL, schemes())
	}
	errs := []error{s.check(scheme)}
	_, err := s.fields()
	errs = append(errs, err)
	switch scheme {
	case "http", "https", "http+unix", "func":
	case "grpc", "grpcs":
		_, err = s.connections()
		errs = append(errs, err, s.checkCode())
	case "guard":
		_, err = guard.Parse(s.URL)
		errs = append(errs, err)
	case "pipe":
		_, err = pipe.Parse(s.URL)
		errs = append(errs, err)
	default:
		errs = append(errs, fmt.Errorf("target %q: scheme %q is not one of %s", s.URL, scheme, schemes()))
	}
	return errors.Join(errs...)
}

// Schemes returns the schemes that a URL can have.
func Schemes() []string {
	return []string{"http", "https", "http+unix", "grpc", "grpcs", "guard", "pipe", "func"}
}

func schemes() string { return strings.Join(Schemes(), ", ") }

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

func (s Spec) connections() (grpc.Connections, error) {
	if s.Connections == "" {
		return grpc.Connections{}, nil
	}
	return grpc.ParseConnections(s.Connections)
}

func (s Spec) checkCode() error {
	if len(s.ExpectStatus) > 1 {
		return fmt.Errorf("target %q: a gRPC call has one expected status, not %d", s.URL, len(s.ExpectStatus))
	}
	return nil
}

// body reads the file that holds the body, if one is named.
func (s Spec) body() ([]byte, error) {
	if s.DataFile == "" {
		return []byte(s.Data), nil
	}
	data, err := os.ReadFile(s.DataFile)
	if err != nil {
		return nil, fmt.Errorf("target: data file: %w", err)
	}
	return data, nil
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
