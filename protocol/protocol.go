// Package protocol opens targets. It is the only place that resolves their
// schemes.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"contend/load"
	"contend/protocol/grpc"
	"contend/protocol/guard"
	"contend/protocol/pipe"
	"contend/protocol/roundtrip"
	"contend/protocol/script"
	"contend/protocol/tcp"
	"contend/protocol/wire"
	"contend/protocol/ws"
	"contend/setting"
)

// families are the schemes by the packages that open them. A target has the
// settings of that package's configuration.
var families = []family{
	of(roundtrip.Open, "HTTP", "http://host/path, https://…, http+unix:///path/of/socket:/path", "http", "https", "http+unix"),
	of(grpc.Open, "gRPC", "grpc://host:port/package.Service/Method, grpcs://…", "grpc", "grpcs"),
	of(ws.Open, "WebSocket", "ws://host/path, wss://…", "ws", "wss"),
	of(tcp.Open, "TCP", "tcp://host:port", "tcp"),
	ofURL(guard.Parse, func(c guard.Config, _ wire.Surroundings) (*guard.Target, error) { return guard.New(c) }, "guard:DESIGN", "guard"),
	ofURL(pipe.Parse, func(c pipe.Config, around wire.Surroundings) (*pipe.Target, error) {
		c.Discard = around.Discard
		return pipe.New(c)
	}, "pipe:DESIGN", "pipe"),
	{schemes: []string{"func"}, config: func() any { return new(address) }},
	of(script.Open, scripted, "FILE.js, FILE.mjs or FILE.ts, a k6 script"),
}

// scripted is the family of targets with a script, whatever their scheme.
const scripted = "scripts"

// A family is one package's schemes.
type family struct {
	name    string // of its protocol; "": it has none
	form    string // what its targets look like; "" is not shown
	schemes []string
	config  func() any // a pointer to a new configuration
	open    func(ctx context.Context, config any, around wire.Surroundings) (load.Target, error)
}

func of[C any](open func(context.Context, C, wire.Surroundings) (load.Target, error), name, form string, schemes ...string) family {
	return family{name, form, schemes, func() any { return new(C) }, func(ctx context.Context, config any, around wire.Surroundings) (load.Target, error) {
		return open(ctx, *config.(*C), around)
	}}
}

// ofURL is a family whose targets are described by their URL alone.
func ofURL[C any, T load.Target](parse func(string) (C, error), open func(C, wire.Surroundings) (T, error), form, scheme string) family {
	check := func(url string) error {
		_, err := parse(url)
		var errs []error
		for _, m := range setting.Mistakes(err) {
			// It is the URL that is wrong: the name is a parameter's.
			m.Setting, m.Problem, m.Sentence = setting.Setting{}, strings.TrimSpace(m.Setting.Name+" "+m.Problem), true
			errs = append(errs, m)
		}
		return errors.Join(errs...)
	}
	return family{"", form, []string{scheme}, func() any { return &address{check: check} }, func(_ context.Context, config any, around wire.Surroundings) (load.Target, error) {
		c, err := parse(config.(*address).URL)
		if err != nil {
			return nil, err
		}
		return load.Opened(open(c, around))
	}}
}

// An address is all that a target is asked for.
type address struct {
	URL   string                 `json:"target" file:"url" flag:"-"`
	check func(url string) error // nil: nothing to check
}

// Validate returns the mistakes in the URL.
func (a *address) Validate() error {
	if a.check == nil {
		return nil
	}
	return a.check(a.URL)
}

// schemes returns the schemes that a URL can have.
func schemes() []string {
	var all []string
	for _, f := range families {
		all = append(all, f.schemes...)
	}
	return all
}

// Protocols returns the protocols that have settings.
func Protocols() []string {
	var all []string
	for _, f := range families {
		if f.name != "" {
			all = append(all, f.name)
		}
	}
	return all
}

// ProtocolOf returns the protocol that alone knows a setting, "" where several do.
func ProtocolOf(s setting.Setting) string { return protocolOf()[s.Path] }

// protocolOf has the protocols by the paths of settings: a start asks for that of each flag.
var protocolOf = sync.OnceValue(func() map[string]string {
	known := map[string]string{}
	for _, f := range families {
		for _, s := range setting.Of(f.config()) {
			if _, shared := known[s.Path]; shared {
				known[s.Path] = ""
			} else {
				known[s.Path] = f.name
			}
		}
	}
	return known
})

// Forms returns what targets look like, one line for each family of schemes.
func Forms() []string {
	var all []string
	for _, f := range families {
		if f.form != "" {
			all = append(all, f.form)
		}
	}
	return all
}

// An Opener opens targets. The zero value knows all schemes but func: and
// printing pipelines, and no environment.
type Opener struct {
	wire.Surroundings
	// Funcs make the functions of func:NAME.
	Funcs map[string]func() (load.Target, error)
	// Remote returns what workers on other machines drive, of a target without mistakes in
	// its words; nil: it is driven here.
	Remote func(Target, wire.Surroundings) (load.Target, error)
}

// Close closes a target, if there is anything to close of it.
func Close(t load.Target) error {
	if c, ok := t.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Open opens a target, whose user calls Close. The error
// has every mistake in what was asked for.
func (o Opener) Open(ctx context.Context, t Target) (load.Target, error) {
	t.learn(o.Surroundings)
	f, config, err := t.decode()
	if o.Remote != nil {
		if err == nil && f.name == "" {
			err = fmt.Errorf("target %q: is driven in this process, and not by workers", t.URL())
		}
		if err != nil {
			return nil, t.located(err)
		}
		if t, err = t.elsewhere(config, o.Environ); err != nil {
			return nil, t.located(err)
		}
		return o.Remote(t, o.Surroundings)
	}
	if err != nil {
		return nil, t.located(errors.Join(err, canRead(config, o.Env)))
	}
	if f.open == nil {
		return o.function(t)
	}
	opened, err := f.open(ctx, config, o.Surroundings)
	if err != nil {
		return nil, t.located(err)
	}
	return opened, nil
}

// elsewhere is the target as workers open it, which know nothing of the environment here.
func (t Target) elsewhere(config any, environ []string) (Target, error) {
	c, ok := config.(*script.Config)
	if !ok {
		return t, nil
	}
	env, err := c.Elsewhere(environ)
	if err != nil || len(env) == 0 {
		return t, err
	}
	return t.With("script_env", env...), nil
}

// canRead returns the mistakes in files and secrets.
func canRead(config any, env func(string) (string, bool)) error {
	if c, ok := config.(interface {
		CanRead(env func(string) (string, bool)) error
	}); ok {
		return c.CanRead(env)
	}
	return nil
}

func (o Opener) function(t Target) (load.Target, error) {
	_, name, _ := strings.Cut(t.URL(), ":")
	f, ok := o.Funcs[name]
	if !ok {
		return nil, fmt.Errorf("target %q: no such function; expected %s", t.URL(), setting.Or(slices.Sorted(maps.Keys(o.Funcs))))
	}
	return f()
}
