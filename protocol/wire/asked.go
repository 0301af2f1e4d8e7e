package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"contend/internal/secret"
	"contend/pace"
	"contend/setting"
)

// Surroundings are what a target is opened in, in addition to what is asked for.
// The zero value knows no environment.
type Surroundings struct {
	// Env looks up a variable of the environment, for secrets and proxies; nil: no environment.
	Env func(name string) (string, bool)
	// Environ is what of the environment scripts find in __ENV: "NAME=value".
	Environ []string
	// VUs is the most that will drive the target; the row order per-vu needs it.
	VUs int
	// Share is which of these VUs, and of the rows of data, are driven here.
	Share pace.Share
	// OwnCores says that servers on this machine do not need the cores that this
	// process may use.
	OwnCores bool
	// Slower is how many times as long the server may take, as under a simulator; 0: it is as fast as ever.
	Slower int
	// Seed feeds random rows and placeholders.
	Seed uint64
	// Discard is a command that reads its standard input to the end; printing
	// pipelines write to it.
	Discard []string
	// Secrets gets what of a target is secret; nil: nobody does.
	Secrets *secret.Book
	// Console is where scripts print; nil: nowhere.
	Console io.Writer
}

// Engines is the choice among the engines that can drive a target, for its Loops.
type Engines struct {
	Engine string `file:"engine" oneof:"goroutines" words:"*engine* of the callers: goroutines uses one per caller, even where event loops would work"`
}

// NoLoops says that event loops are switched off.
func (e Engines) NoLoops() bool { return e.Engine != "" }

// A Body is given in a file instead of a setting of the protocol's own.
type Body struct {
	DataFile string `file:"data_file" words:"*file* with the body"`
}

// Check rejects a file together with a body.
func (b *Body) Check(body []byte) error {
	if b.DataFile != "" && len(body) > 0 {
		return setting.At(b, &b.DataFile).Wrong("cannot be combined with data; use one of them")
	}
	return nil
}

// In returns the setting that gives the body: own unless there is a file.
func (b *Body) In(own setting.Setting) setting.Setting {
	if b.DataFile != "" {
		return setting.At(b, &b.DataFile)
	}
	return own
}

// Common is what the targets of protocols with TLS and credentials accept in
// addition to their own settings.
type Common struct {
	Body
	BasicAuth Secret `file:"basic_auth" words:"*place* to read user:password from: env:NAME or file:PATH"`
	Bearer    Secret `file:"bearer" words:"*place* to read a bearer token from: env:NAME or file:PATH"`
	CAFile    string `file:"ca_file" words:"*file* with the trusted CA certificates, in PEM form"`
	Insecure  bool   `file:"insecure" words:"accept any certificate"`
	CertFile  string `file:"cert_file" words:"*file* with the client certificate, in PEM form"`
	KeyFile   string `file:"key_file" words:"*file* with its key, in PEM form"`
}

// Check returns what cannot be combined, with or without a body.
func (c *Common) Check(body []byte) error {
	errs := []error{c.Body.Check(body)}
	if c.BasicAuth != "" && c.Bearer != "" {
		errs = append(errs, setting.At(c, &c.Bearer).Wrong("cannot be combined with basic_auth; use one of them"))
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		alone := &c.CertFile
		if *alone == "" {
			alone = &c.KeyFile
		}
		errs = append(errs, setting.At(c, alone).Wrong("is given alone: a certificate and its key go together"))
	}
	return errors.Join(errs...)
}

// A Material is what files and secrets hold.
type Material struct {
	Body []byte // of DataFile
	Auth Auth
	TLS  TLS
}

// mark is the byte-order mark that some editors begin a text with.
var mark = []byte("\ufeff")

// Read reads all of it, and reports every mistake.
func (c *Common) Read(env func(string) (string, bool)) (Material, error) {
	m := Material{TLS: TLS{Insecure: c.Insecure}}
	var errs []error
	for _, file := range []struct {
		path *string
		into *[]byte
	}{{&c.DataFile, &m.Body}, {&c.CAFile, &m.TLS.CA}, {&c.CertFile, &m.TLS.Certificate}, {&c.KeyFile, &m.TLS.Key}} {
		if *file.path == "" {
			continue
		}
		content, err := os.ReadFile(*file.path)
		if err != nil {
			errs = append(errs, setting.At(c, file.path).About(setting.CannotRead(*file.path, err)))
		}
		if *file.into = content; file.into != &m.Body { // which is sent as it is
			*file.into = bytes.TrimPrefix(content, mark)
		}
	}
	secret := func(s *Secret) string {
		if *s == "" || s.Check() != nil {
			return ""
		}
		text, err := s.read(env)
		if err != nil {
			errs = append(errs, setting.At(c, s).Wrong("cannot be read: %v", err))
		}
		return text
	}
	pair := secret(&c.BasicAuth)
	m.Auth.Bearer = secret(&c.Bearer)
	var isPair bool
	if m.Auth.User, m.Auth.Password, isPair = strings.Cut(pair, ":"); pair != "" && !isPair {
		errs = append(errs, setting.At(c, &c.BasicAuth).Wrong("is wrong: what stands at %s is not user:password", c.BasicAuth))
	}
	return m, errors.Join(errs...)
}

// CanRead returns the mistakes of Read.
func (c *Common) CanRead(env func(string) (string, bool)) error {
	_, err := c.Read(env)
	return err
}

// A Secret is the place of a secret: env:NAME or file:PATH.
type Secret string

// Check refuses another form without showing it: it may be the secret itself.
func (s Secret) Check() error {
	kind, rest, _ := strings.Cut(string(s), ":")
	if s == "" || rest != "" && (kind == "env" || kind == "file") {
		return nil
	}
	return &setting.Mistake{Index: -1, Problem: "is not of the form env:NAME or file:PATH"}
}

// ReadSecret reads the secret at place, env:NAME or file:PATH, without the space
// around it in a file. env looks a variable up; nil means that there are none. The
// error begins with name, and shows neither the secret nor a place of another form,
// which may be the secret itself.
func ReadSecret(name, place string, env func(string) (string, bool)) (string, error) {
	s := Secret(place)
	err := s.Check()
	text := ""
	switch {
	case place == "":
		err = errors.New("is empty")
	case err == nil:
		if text, err = s.read(env); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s %w", name, err)
	}
	return text, nil
}

func (s Secret) read(env func(string) (string, bool)) (string, error) {
	kind, rest, _ := strings.Cut(string(s), ":")
	if kind == "env" {
		if env != nil {
			if value, ok := env(rest); ok && value != "" {
				return value, nil
			}
		}
		return "", fmt.Errorf("the environment has no %s", rest)
	}
	content, err := os.ReadFile(rest)
	if err != nil {
		return "", fmt.Errorf("%s: %w", rest, setting.Cause(err))
	}
	secret := strings.TrimSpace(string(bytes.TrimPrefix(content, mark)))
	if secret == "" {
		return "", fmt.Errorf("%s is empty", rest)
	}
	return secret, nil
}

// Bytes are bytes that are given as text.
type Bytes []byte

// UnmarshalText takes the text as it is.
func (b *Bytes) UnmarshalText(text []byte) error {
	*b = append(Bytes{}, text...)
	return nil
}

func (b Bytes) MarshalText() ([]byte, error) { return b, nil }

// Auth is what a client identifies itself with. Errors and printing in any form
// do not show it. The zero value is nothing.
type Auth struct {
	// User and Password are those of Basic authentication (RFC 7617).
	User, Password string
	// Bearer is a token (RFC 6750), instead of a user.
	Bearer string
}

// Format prints that something is set, but not what, whatever the verb.
func (a Auth) Format(f fmt.State, _ rune) {
	if a != (Auth{}) {
		_, _ = f.Write([]byte("(hidden)"))
	}
}

// MarshalText hides the same from encoders.
func (a Auth) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(a)), nil }

// Value returns the value of an Authorization field, "" for none.
func (a Auth) Value() string {
	switch {
	case a.Bearer != "":
		return "Bearer " + a.Bearer
	case a.User != "" || a.Password != "":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.User+":"+a.Password))
	}
	return ""
}

// Fields returns the header field of that name, or none.
func (a Auth) Fields() []Field {
	if a.Value() == "" {
		return nil
	}
	return []Field{{Name: "Authorization", Value: a.Value()}}
}
