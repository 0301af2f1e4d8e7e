// Package script drives a server with a k6 script: a JavaScript module whose default function is an
// iteration. Its API follows k6's public documentation and observed behaviour.
//
// # Life cycle
//
// The outermost part of the script (init) runs once when the target is opened, for the options, and once
// for each virtual user. setup runs before the first virtual user is made and teardown when the target is
// closed, so once for each server of a comparison. Each virtual user has a runtime of its own: nothing is
// shared but what setup returned.
//
// # What an iteration comes to
//
// An iteration is wrong if a check failed, an answer was not expected (its status, 200 to 399 unless the
// script says otherwise), or an exception ended it; it errs if a request got no answer. The first of these
// is its cause. Requests and checks are counted apart, by their names.
package script

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"

	"contend/internal/lazyregexp"
	"contend/load"
	"contend/protocol/wire"
	"contend/setting"
)

// A Target runs a script. Its methods may be called concurrently.
type Target struct {
	config  Config
	around  wire.Surroundings
	bundle  *bundle
	env     map[string]string
	proxies func(*url.URL) (*url.URL, error) // of the environment
	opened  context.Context                  // that it was opened in, which may end teardown
	Options Options                          // of the script
	script  load.Script
	tls     *tls.Config
	// from is the origin in whose place the URL's is asked; "": none.
	from, to string
	near     near // what event loops connect to; zero: nothing
	console  console
	secrets  []secretSource
	files    sync.Map // contents that all virtual users share, by their paths
	shared   sync.Map // arrays that all virtual users share, each element as JSON, once: []string by their names
	tally    tally
	hearings hearings
	schemas  schemas
	meters   *meters
	apart    apart
	groups   groups
	limit    limiter
	memory   memory
	named    named

	all   *driven   // the only load, or what setup and teardown are of
	loads []*driven // those that are driven
	users users

	once     sync.Once // around setup
	setupErr error
	data     string // what setup returned, as JSON; "": nothing
	begun    bool   // setup has run: teardown is due

	failed atomic.Pointer[error] // why the script has the run fail; nil: it does not
}

var (
	_ load.Reacher = (*Target)(nil)
	_ io.Closer    = (*Target)(nil)
)

// New reads the script and runs its outermost part once, at most until ctx is done.
func New(ctx context.Context, c Config, around wire.Surroundings) (*Target, error) {
	t := &Target{config: c, around: around, env: c.env(around.Environ), proxies: around.Proxies(), opened: ctx, console: console{out: around.Console}, meters: newMeters()}
	t.all = &driven{target: t, load: &t.Options.Load}
	t.loads = []*driven{t.all}
	common := c.common()
	material, err := common.Read(around.Env)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.replace(&c), t.readSecrets(&c), c.checkFolders()); err != nil {
		return nil, err
	}
	asked := setting.At(&c, &c.Script)
	if t.bundle, err = readBundle(c.Script, c.Root, c.JSLib); err != nil {
		return nil, asked.About(err)
	}
	for _, entry := range t.bundle.reads(around.Environ) {
		around.Secrets.LearnPair(entry)
	}
	v, err := t.newVU(ctx, 0)
	if err != nil {
		return nil, asked.About(err)
	}
	if t.Options, err = v.readOptions(); err != nil {
		return nil, asked.About(err)
	}
	if wants := func(l Load) bool { return l.Exec == "" }; slices.ContainsFunc(t.Options.loads(), wants) && !v.hasFunction("default") {
		return nil, asked.About(fmt.Errorf("%s exports no function %q, which would be an iteration", c.Script, "default"))
	}
	if perSec := t.Options.RequestsPerSec; perSec > 0 {
		t.limit.every = time.Duration(float64(time.Second) / perSec)
	}
	t.script = load.Script{File: c.Script, SHA256: t.bundle.hash, Interpreter: interpreter()}
	t.memory.perVU, t.memory.base = c.VUMemory, heap()
	t.near = t.nearest()
	material.TLS.Insecure = material.TLS.Insecure || t.Options.Insecure
	material.TLS.MinVersion, material.TLS.MaxVersion, material.TLS.CipherSuites = t.Options.connecting.min, t.Options.connecting.max, t.Options.connecting.suites
	if t.tls, err = material.TLS.Config("", "h2", "http/1.1"); err != nil {
		return nil, err
	}
	return t, nil
}

// Warnings are what the script asks for and does not get, each with its line.
func (t *Target) Warnings() []string { return slices.Concat(t.bundle.warnings, t.Options.warnings) }

// replace checks the URL, and notes which origin of the script it takes the place of.
func (t *Target) replace(c *Config) (err error) {
	if strings.HasPrefix(c.URL, "http") {
		if _, err := wire.ParseURL(c.URL, "http", "https"); err != nil {
			return err
		}
	}
	if u, err := url.Parse(c.URL); err == nil && isGRPC(u.Scheme) && !isServer(u) {
		m := wire.URL.Wrong("is %q", wire.HideUser(c.URL))
		m.Allowed = "grpc://host:port; the script says which methods are called"
		return m
	}
	if c.Origin != "" {
		t.from, _ = originOf(c.Origin)
		if t.to, err = originOf(c.URL); err != nil || ofHTTP(t.to) != ofHTTP(t.from) {
			return setting.At(c, &c.Origin).Wrong("is %q, and %q cannot replace it: a URL of HTTP replaces one of HTTP, a host:port one of gRPC", c.Origin, c.URL)
		}
	}
	return nil
}

// origins finds those that a script names.
var origins = lazyregexp.New(`https?://[A-Za-z0-9.-]+(?::[0-9]+)?`)

// nearest is the server that the script asks: the URL's, or the only one that __ENV names, or else it and __ENV.
func (t *Target) nearest() near {
	named := t.config.URL
	if named == "" {
		given := distinct(origins().FindAllString(strings.Join(slices.Concat(t.config.Env, t.bundle.reads(t.around.Environ)), "\n"), -1))
		if len(given) != 1 {
			given = distinct(append(given, origins().FindAllString(t.bundle.text, -1)...))
		}
		if len(given) != 1 {
			return near{}
		}
		named = given[0]
	}
	u, err := url.Parse(named)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return near{}
	}
	if proxy, err := t.proxies(u); proxy != nil || err != nil || t.Options.connecting.looksUp() && net.ParseIP(u.Hostname()) == nil { // net/http knows how
		return near{}
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "80")
	}
	if address, err = t.where(t.opened, address); err != nil {
		return near{} // a request will say why
	}
	return near{u.Scheme, u.Host, address}
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// interpreter is the module that runs scripts, with its version.
func interpreter() string {
	const module = "github.com/grafana/sobek"
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return module + " " + m.Version
		}
	}
	return module
}

// Reach opens a connection to the URL's server, where there is one, and closes it.
func (t *Target) Reach(ctx context.Context) error {
	u, err := url.Parse(t.config.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = ofPage(u).Scheme
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if proxy, err := t.proxies(u); err == nil && proxy != nil {
		address = net.JoinHostPort(proxy.Hostname(), cmp.Or(proxy.Port(), proxy.Scheme))
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// NewVU makes a virtual user; the first one waits for setup.
func (t *Target) NewVU(ctx context.Context, id int) (load.VU, error) { return t.all.NewVU(ctx, id) }

// setup runs the function of that name once.
func (t *Target) setup(ctx context.Context) error {
	t.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, t.Options.SetupTimeout)
		defer cancel()
		t.begun = true
		t.users.count(t)
		if t.Options.NoSetup {
			return
		}
		t.users.settingUp.Store(true)
		defer t.users.settingUp.Store(false)
		defer t.apart.pass(time.Now())
		value, err := t.runOnce(ctx, "setup", ofSetup)
		if err == nil && value != nil {
			t.data, err = value.text()
		}
		t.setupErr = err
	})
	return t.setupErr
}

// Close runs teardown, if anything ran, once. The error is also what the script has the run fail with.
func (t *Target) Close() error {
	defer t.console.close()
	defer t.users.end()
	if !t.begun || t.setupErr != nil {
		return nil
	}
	t.begun = false
	ctx := t.opened
	if ctx.Err() != nil { // the end of the run does not excuse from cleaning up the server
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, t.Options.TeardownTimeout)
	defer cancel()
	var err error
	if !t.Options.NoTeardown {
		defer t.apart.pass(time.Now())
		_, err = t.runOnce(ctx, "teardown", ofSetup)
	}
	if failed := t.failed.Load(); failed != nil {
		err = errors.Join(*failed, err)
	}
	return err
}

// a result is what a function returned, and the runtime that it is of.
type result struct {
	v     *vu
	value sobek.Value
}

// text returns the value as JSON, "" if it is undefined. As in k6, what is undefined in it becomes null, times have no more
// digits than they need, and a function or a number that JSON does not have is a mistake.
func (r *result) text() (string, error) {
	if sobek.IsUndefined(r.value) {
		return "", nil
	}
	each := r.v.rt.ToValue(func(call sobek.FunctionCall) sobek.Value {
		key, value := call.Argument(0), call.Argument(1)
		_, isFunction := sobek.AssertFunction(value)
		number, isNumber := value.Export().(float64)
		at, isTime := call.This.ToObject(r.v.rt).Get(key.String()).Export().(time.Time)
		switch {
		case isTime:
			return r.v.rt.ToValue(at.UTC().Format(time.RFC3339Nano))
		case sobek.IsUndefined(value):
			return sobek.Null()
		case isFunction, isNumber && (math.IsNaN(number) || math.IsInf(number, 0)):
			r.v.throw("setup returns %.40q in %q, which JSON does not have; return text, finite numbers, lists and objects", value.String(), key.String())
		}
		return value
	})
	value, err := r.v.functions.stringify(sobek.Undefined(), r.value, each)
	if err != nil || sobek.IsUndefined(value) {
		return "", err
	}
	return value.String(), nil
}

// handleSummary is the function that is called with the result of a run.
const handleSummary = "handleSummary"

// runOnce runs setup, teardown or handleSummary in a runtime of its own; nil: the script has no such function.
func (t *Target) runOnce(ctx context.Context, name string, argument func(*vu) (sobek.Value, error)) (*result, error) {
	v, err := t.newVU(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	f, ok := sobek.AssertFunction(v.exports.Get(name))
	if !ok {
		return nil, nil
	}
	v.follow(ctx)
	v.begin()
	given, err := argument(v)
	if err != nil {
		return nil, err
	}
	if name != handleSummary {
		v.group = name // as k6 has it
		defer t.apart.note(v)
	}
	value, err := v.settle(f, given)
	switch {
	case v.aborted != nil:
		err = v.aborted
	case err == nil:
		err = context.Cause(ctx) // what waits ends then, and what comes after it may be quick
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", name, t.config.Script, v.explain(err))
	}
	return &result{v, value}, nil
}

// ofSetup is what setup returned.
func ofSetup(v *vu) (sobek.Value, error) { return v.data, nil }

// errEnded is what a script is interrupted with.
var errEnded = errors.New("the run ended")
