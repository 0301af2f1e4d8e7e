// Package target opens what can be driven: it is the one place where the
// schemes of targets are resolved.
package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"contend/load"
	"contend/target/grpc"
	"contend/target/guard"
	"contend/target/http"
	"contend/target/pipe"
)

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
	body, bodyErr := s.body()
	authorities, caErr := s.authorities()
	if err := errors.Join(s.Validate(), bodyErr, caErr); err != nil {
		return nil, err
	}
	scheme, rest, _ := strings.Cut(s.URL, ":")
	switch scheme {
	case "http", "https", "http+unix":
		return openHTTP(s, body, authorities)
	case "grpc", "grpcs":
		return openGRPC(ctx, s, body, authorities)
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
	}
	f, ok := o.Funcs[rest]
	if !ok {
		return nil, fmt.Errorf("target %q: no such function (allowed: %s)", s.URL, strings.Join(slices.Sorted(maps.Keys(o.Funcs)), ", "))
	}
	return f()
}

// opened keeps a nil pointer of a concrete type from looking like a target.
func opened[T load.Target](t T, err error) (load.Target, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// openHTTP opens a valid spec.
func openHTTP(s Spec, body, authorities []byte) (load.Target, error) {
	c := http.Config{
		URL: s.URL, UnixSocket: s.UnixSocket, Method: s.Method, Body: body,
		ExpectStatus: s.ExpectStatus, DisableKeepAlive: s.NoKeepAlive,
		TLS: http.TLS{CA: authorities, Insecure: s.Insecure},
	}
	fields, err := s.fields()
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		c.Header = append(c.Header, http.Field{Name: f.name, Value: f.value})
	}
	return opened(http.New(c))
}

// openGRPC opens a valid spec.
func openGRPC(ctx context.Context, s Spec, message, authorities []byte) (load.Target, error) {
	fields, err1 := s.fields()
	connections, err2 := s.connections()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	c := grpc.Config{
		URL: s.URL, Data: message, Metadata: map[string][]string{}, Connections: connections,
		ProtoFiles: s.Proto, ImportPaths: s.ImportPath,
		TLS: grpc.TLS{CA: authorities, Insecure: s.Insecure},
	}
	for _, f := range fields {
		key := strings.ToLower(f.name)
		c.Metadata[key] = append(c.Metadata[key], f.value)
	}
	if len(s.ExpectStatus) == 1 {
		c.ExpectCode = s.ExpectStatus[0]
	}
	return opened(grpc.New(ctx, c))
}
