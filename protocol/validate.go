package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"contend/protocol/check"
	"contend/protocol/data"
	"contend/protocol/guard"
	"contend/protocol/pipe"
	"contend/protocol/wire"
)

// schemes lists the families of schemes and the fields of a Spec that each knows
// besides URL.
var schemes = []struct {
	names  []string
	fields []string
}{
	{[]string{"http", "https", "http+unix"}, slices.Concat(common, []string{"Method", "Rows", "RowOrder", "Requests", "ExpectStatus",
		"Checks", "HTTP", "NoKeepAlive", "UnixSocket", "Connections", "Engine"})},
	{[]string{"grpc", "grpcs"}, slices.Concat(common, []string{"ExpectStatus", "Connections", "Proto", "ImportPath", "Messages",
		"Stream", "Deadline", "MaxMessage", "Engine"})},
	{[]string{"ws", "wss"}, slices.Concat(common, []string{"Checks", "Connections", "MaxMessage", "Mode", "Match", "IDPath",
		"AnswerIDPath", "Binary", "Subprotocols", "Compress"})},
	{[]string{"guard"}, nil},
	{[]string{"pipe"}, nil},
	{[]string{"func"}, nil},
}

// common are the fields of everything that has a network.
var common = []string{"Header", "Data", "DataFile", "BasicAuth", "Bearer", "CAFile", "Insecure", "CertFile", "KeyFile"}

// Schemes returns the schemes that a URL can have.
func Schemes() []string {
	var all []string
	for _, family := range schemes {
		all = append(all, family.names...)
	}
	return all
}

// Validate returns every mistake that can be seen without opening anything.
func (s Spec) Validate() error {
	scheme, _, found := strings.Cut(s.URL, ":")
	if !found {
		return fmt.Errorf("target %q: no scheme, as in http://localhost:8080/ (allowed: %s)", s.URL, strings.Join(Schemes(), ", "))
	}
	errs := []error{s.checkFields(scheme), s.checkPairs()}
	wrong := func(err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("target %q: %w", s.URL, err))
		}
	}
	_, err := headerFields(s.Header)
	errs = append(errs, err)
	_, err = check.Parse(s.Checks...)
	wrong(err)
	_, err = data.ParseOrder(s.RowOrder)
	if s.RowOrder != "" {
		wrong(err)
	}
	_, err = wire.ParseConnections(s.Connections)
	if s.Connections != "" {
		wrong(err)
	}
	wrong(oneOf("engine", s.Engine, "goroutines"))
	wrong(oneOf("http", s.HTTP, "1.1", "2", "3"))
	wrong(oneOf("stream", s.Stream, "per-iteration", "per-vu"))
	wrong(s.checkScheme(scheme))
	return errors.Join(errs...)
}

// checkScheme asks those who know the scheme.
func (s Spec) checkScheme(scheme string) error {
	var err error
	switch scheme {
	case "http", "https", "http+unix", "func":
		return s.checkVersion()
	case "grpc", "grpcs":
		_, err = s.metadata()
		if len(s.ExpectStatus) > 1 {
			err = errors.Join(err, fmt.Errorf("a gRPC call has one expected status, not %d", len(s.ExpectStatus)))
		}
	case "ws", "wss":
	case "guard":
		_, err = guard.Parse(s.URL)
	case "pipe":
		_, err = pipe.Parse(s.URL)
	default:
		err = fmt.Errorf("scheme %q is not one of %s", scheme, strings.Join(Schemes(), ", "))
	}
	return err
}

// checkFields refuses fields that the scheme would silently ignore.
func (s Spec) checkFields(scheme string) error {
	i := slices.IndexFunc(schemes, func(family struct{ names, fields []string }) bool { return slices.Contains(family.names, scheme) })
	if i < 0 {
		return nil // said by checkScheme
	}
	var errs []error
	value := reflect.ValueOf(s)
	for n := range value.NumField() {
		field := value.Type().Field(n)
		if field.Name == "URL" || value.Field(n).IsZero() || slices.Contains(schemes[i].fields, field.Name) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		errs = append(errs, fmt.Errorf("target %q: %s does not apply to the scheme %q", s.URL, name, scheme))
	}
	return errors.Join(errs...)
}

// checkPairs looks at fields that exclude or need each other.
func (s Spec) checkPairs() error {
	var errs []error
	wrong := func(bad bool, text string) {
		if bad {
			errs = append(errs, fmt.Errorf("target %q: %s", s.URL, text))
		}
	}
	wrong(s.Data != "" && s.DataFile != "", "both data and data_file are set")
	wrong(s.BasicAuth != "" && s.Bearer != "", "both basic_auth and bearer are set")
	wrong((s.CertFile == "") != (s.KeyFile == ""), "cert_file and key_file go together")
	wrong(s.RowOrder != "" && s.Rows == "", "row_order needs rows")
	for name, place := range map[string]string{"basic_auth": s.BasicAuth, "bearer": s.Bearer} {
		wrong(place != "" && !isSecretPlace(place), name+" is not of the form env:NAME or file:PATH")
	}
	return errors.Join(errs...)
}

// checkVersion refuses what only HTTP/1.1 can do, and the reverse.
func (s Spec) checkVersion() error {
	newer := s.newer()
	var errs []error
	for _, field := range []struct {
		name string
		bad  bool
	}{
		{"connections", !newer && s.Connections != ""},
		{"unix_socket", newer && s.UnixSocket != ""},
		{"no_keepalive", newer && s.NoKeepAlive},
	} {
		if field.bad {
			errs = append(errs, fmt.Errorf("%s does not apply to HTTP/%s", field.name, s.version()))
		}
	}
	return errors.Join(errs...)
}

// newer says whether the version of HTTP has streams.
func (s Spec) newer() bool { return s.HTTP == "2" || s.HTTP == "3" }

func (s Spec) version() string {
	if s.newer() {
		return s.HTTP
	}
	return "1.1"
}

func oneOf(name, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s %q is not one of %s", name, value, strings.Join(allowed, ", "))
}

// headerFields splits lines "Name: value".
func headerFields(lines []string) ([]wire.Field, error) {
	var fields []wire.Field
	var errs []error
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			errs = append(errs, fmt.Errorf("target: header %q is not of the form \"Name: value\"", line))
			continue
		}
		fields = append(fields, wire.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	}
	return fields, errors.Join(errs...)
}
