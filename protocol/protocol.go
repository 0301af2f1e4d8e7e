// Package protocol opens what can be driven: it is the one place where the
// schemes of targets are resolved.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"contend/load"
	"contend/protocol/guard"
	"contend/protocol/pipe"
)

// An Opener opens targets. The zero value knows all schemes but func: and
// printing pipelines, and no environment.
type Opener struct {
	// Funcs make the functions behind func:NAME.
	Funcs map[string]func() (load.Target, error)
	// Discard is a command that reads its standard input to the end; printing
	// pipelines write to it.
	Discard []string
	// Env looks up a variable of the environment, for secrets; nil: there is none.
	Env func(name string) (string, bool)
	// VUs is the most that will drive the target; the row order per-vu needs it.
	VUs int
	// OwnCores says that servers on this machine do not need the cores that this
	// process may use.
	OwnCores bool
	// Seed feeds random rows and placeholders.
	Seed uint64
}

// Open resolves the spec's scheme. The returned target is closed by its user
// if it implements io.Closer.
func (o Opener) Open(ctx context.Context, s Spec) (load.Target, error) {
	m, err := o.read(s)
	if err := errors.Join(s.Validate(), err); err != nil {
		return nil, err
	}
	opened, err := o.open(ctx, s, m)
	if err == nil && s.Engine == "goroutines" {
		opened = goroutines{opened}
	}
	return opened, err
}

func (o Opener) open(ctx context.Context, s Spec, m material) (load.Target, error) {
	scheme, rest, _ := strings.Cut(s.URL, ":")
	switch scheme {
	case "http", "https", "http+unix":
		return o.openHTTP(s, m)
	case "grpc", "grpcs":
		return o.openGRPC(ctx, s, m)
	case "ws", "wss":
		return openWS(s, m)
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

// goroutines hides that event loops could drive a target.
type goroutines struct{ load.Target }

func (g goroutines) Close() error {
	if c, ok := g.Target.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
