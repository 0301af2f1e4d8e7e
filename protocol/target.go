package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"contend/protocol/data"
	"contend/setting"
)

// A Target is what is asked for: url and the settings that its scheme knows, by
// their names in files. It is not changed once it is made.
type Target setting.Values

// At returns the target of a URL.
func At(url string) Target { return Target{}.With("url", url) }

// With returns the target with one value replaced.
func (t Target) With(name string, texts ...string) Target {
	return Target{name: {Texts: texts}}.Over(t)
}

// Over returns the target over one below, whose settings it hides.
func (t Target) Over(below Target) Target {
	return Target(setting.Values(t).Over(setting.Values(below)))
}

// Get returns what is given for a setting, "" for nothing.
func (t Target) Get(name string) string { return strings.Join(t[name].Texts, ",") }

// URL returns the URL.
func (t Target) URL() string { return t.Get("url") }

// Address returns where the server of the URL listens, as host:port; "" where it has
// none, as guard:mutex.
func (t Target) Address() string {
	u, err := url.Parse(t.URL())
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme])
	if port == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// FromFlags returns the target that a command line gives: its values by flags.
func FromFlags(given setting.Values) Target {
	t := Target{}
	for _, s := range Settings() {
		if value, ok := given[s.Flag]; ok && s.Flag != "" {
			t[s.Path] = value
		}
	}
	return t
}

// Settings returns what targets can be asked for, whatever their scheme: one for
// each name, with the words of the first configuration that has some. Nobody may change them.
func Settings() []setting.Setting { return settings() }

var settings = sync.OnceValue(func() (all []setting.Setting) {
	for _, f := range families {
		for _, s := range setting.Of(f.config()) {
			i := slices.IndexFunc(all, func(known setting.Setting) bool { return known.Path == s.Path })
			switch {
			case i < 0:
				all = append(all, s)
			case all[i].Words == "":
				all[i].Words, all[i].Argument = s.Words, s.Argument
			}
		}
	}
	return all
})

// Validate returns every mistake that can be seen without opening anything.
func (t Target) Validate() error {
	_, _, err := t.decode()
	return t.located(err)
}

// Check returns the mistakes in what is given that are such whatever the rest will
// be: a layer may lack the URL.
func (t Target) Check() error {
	var errs []error
	if _, ok := t["url"]; ok {
		_, err := t.family()
		errs = append(errs, err)
	}
	for _, s := range Settings() {
		if value, ok := t[s.Path]; ok {
			errs = append(errs, check(s.Path, value))
		}
	}
	return t.located(errors.Join(errs...))
}

// check returns the mistakes in a value, or nil if any family takes it.
func check(name string, value setting.Value) error {
	var first error
	for _, f := range families {
		for _, s := range setting.Of(f.config()) {
			if s.Path != name {
				continue
			}
			_, err := s.Read(value, setting.InFile)
			if err == nil {
				return nil
			}
			first = cmp.Or(first, err)
		}
	}
	return first
}

// decode resolves the scheme and reads its configuration. Both may be nil with
// an error.
func (t Target) decode() (*family, any, error) {
	f, err := t.family()
	if err != nil {
		return nil, nil, err
	}
	config := f.config()
	errs := []error{setting.Fill(config, setting.Values(t), setting.InFile)}
	for _, name := range setting.Foreign(setting.Of(config), setting.Values(t), setting.InFile) {
		errs = append(errs, f.foreign(name))
	}
	if v, ok := config.(interface{ Validate() error }); ok {
		errs = append(errs, v.Validate())
	}
	errs = append(errs, f.unfilled(setting.Values(t)), notOfFile(t["data"].Texts))
	return f, config, errors.Join(errs...)
}

// unfilled refuses placeholders where they would be sent, or compared, unfilled: only
// HTTP fills them, and no scheme does in checks.
func (f *family) unfilled(given setting.Values) error {
	var errs []error
	for _, s := range Settings() {
		if s.Path != "checks" && (s.Path != "data" || f.fills()) {
			continue
		}
		for i, text := range given[s.Path].Texts {
			if placeholder := data.Placeholder(text); placeholder != "" {
				m := s.Wrong("has %s, which is not replaced here: %s", placeholder, literally[s.Path])
				if m.Index = -1; s.List() {
					m.Index = i
				}
				errs = append(errs, m)
			}
		}
	}
	return errors.Join(errs...)
}

// notOfFile refuses the @FILE of curl, which would be sent literally.
func notOfFile(data []string) error {
	if len(data) == 0 || !strings.HasPrefix(data[0], "@") {
		return nil
	}
	return setting.Pick(Settings(), "data")[0].Wrong("sends its text as it is, unlike curl's @file; to send a file use --data-file %s (data_file in an experiment file)", data[0][1:])
}

// literally says what to do about a placeholder in a setting that is not filled.
var literally = map[string]string{
	"checks": "a check compares every response with the same value",
	"data":   "http and https fill it; to send the braces, put the text into a file",
}

// fills reports whether the family fills placeholders in data.
func (f *family) fills() bool { return slices.Contains(f.schemes, "http") }

// family returns that of the URL's scheme.
func (t Target) family() (*family, error) {
	if t.Get("script") != "" {
		i := slices.IndexFunc(families, func(f family) bool { return f.name == scripted })
		return &families[i], nil
	}
	asked := setting.Pick(Settings(), "target")[0]
	scheme, rest, found := strings.Cut(t.URL(), ":")
	for i := range families {
		if found && slices.Contains(families[i].schemes, scheme) {
			return &families[i], nil
		}
	}
	m := asked.Wrong("%q has no scheme, as in http://localhost:8080/", t.URL())
	switch port, _, _ := strings.Cut(rest, "/"); {
	case slices.Contains(schemes(), strings.TrimRight(strings.SplitN(t.URL(), "/", 2)[0], "/")) && strings.Contains(t.URL(), "//"): // without a colon
		m.Meant = strings.Replace(t.URL(), "//", "://", 1)
	case port != "" && strings.Trim(port, "0123456789") == "":
		m.Meant = "http://" + t.URL()
	case found:
		m = asked.Wrong("%q has the scheme %q", t.URL(), scheme)
		m.Meant = setting.Nearest(scheme, schemes())
	}
	m.Allowed = strings.Join(schemes(), ", ")
	return nil, m
}

// foreign is the mistake of a name that the family does not know: what does, or
// what is known.
func (f *family) foreign(name string) error {
	var schemes []string
	for _, other := range families {
		if slices.ContainsFunc(setting.Of(other.config()), func(s setting.Setting) bool { return s.Path == name }) {
			schemes = append(schemes, other.words()...)
		}
	}
	if schemes == nil {
		return setting.Unknown(name, setting.Of(f.config()), nil, setting.InFile)
	}
	i := slices.IndexFunc(Settings(), func(s setting.Setting) bool { return s.Path == name })
	m := Settings()[i].Wrong("does not apply to %s", strings.Join(f.words(), ", "))
	m.Allowed = fmt.Sprintf("with %s", strings.Join(schemes, ", "))
	return m
}

// words are the family's schemes, or its name.
func (f *family) words() []string {
	if len(f.schemes) == 0 {
		return []string{f.name}
	}
	return f.schemes
}

// IsURL reports whether a word is a URL, and no command line that names one.
func IsURL(word string) bool {
	scheme, _, found := strings.Cut(word, "://")
	return found && !strings.ContainsAny(scheme, " \t/=")
}

// IsScript reports whether a word names a file with a script. A command line may end like one, as
// in "node server.js": words with spaces are a name only where there is such a file.
func IsScript(word string) bool {
	if !slices.Contains([]string{".js", ".mjs", ".ts"}, path.Ext(word)) || IsURL(word) {
		return false
	}
	if !strings.ContainsAny(word, " \t") {
		return true
	}
	_, err := os.Stat(word)
	return err == nil
}

// located says of every mistake in an error where its value was given.
func (t Target) located(err error) error {
	switch e := err.(type) {
	case *setting.Mistake:
		m := *e
		if value, i := t[m.Setting.Path], max(0, m.Index); m.At == (setting.Place{}) && i < len(value.Places) {
			m.At = value.Places[i]
		}
		return &m
	case interface{ Unwrap() []error }:
		var errs []error
		for _, one := range e.Unwrap() {
			errs = append(errs, t.located(one))
		}
		return errors.Join(errs...)
	}
	return err
}
