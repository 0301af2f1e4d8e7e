package script

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/grafana/sobek"

	"contend/setting"
)

// A secretSource has the values of keys that scripts ask k6/secrets for.
type secretSource struct {
	name   string
	values map[string]string
}

// readSecrets reads the sources as k6 takes them: mock=KEY=VALUE,…, file=PATH, with name= and default among what is
// between the commas. From then on their values are hidden.
func (t *Target) readSecrets(c *Config) error {
	var all []secretSource
	var errs []error
	var hidden []string
	for i, text := range c.Secrets {
		source, isDefault, err := readSecretSource(text)
		if err != nil {
			m := setting.At(c, &c.Secrets).Wrong("is a source that %v", err)
			m.Index = i
			errs = append(errs, m)
		}
		if all = append(all, source); isDefault {
			all[0], all[len(all)-1] = all[len(all)-1], all[0]
		}
		for key, value := range source.values {
			t.around.Secrets.Add(key, value)
			if value != "" {
				hidden = append(hidden, value, "***SECRET_REDACTED***")
			}
		}
	}
	t.secrets, t.console.hide = all, strings.NewReplacer(hidden...)
	return errors.Join(errs...)
}

func readSecretSource(text string) (s secretSource, isDefault bool, err error) {
	kind, rest, _ := strings.Cut(text, "=")
	s = secretSource{name: kind, values: map[string]string{}}
	var own []string
	for part := range strings.SplitSeq(rest, ",") {
		name, named := strings.CutPrefix(part, "name=")
		switch {
		case part == "default":
			isDefault = true
		case named:
			s.name = name
		default:
			own = append(own, part)
		}
	}
	switch kind {
	case "mock":
		err = s.add(own)
	case "file":
		path := strings.TrimPrefix(strings.Join(own, ","), "filename=")
		content, unread := os.ReadFile(path)
		if unread != nil {
			return s, isDefault, setting.CannotRead(path, unread)
		}
		err = s.add(strings.Split(strings.TrimRight(string(content), "\r\n"), "\n"))
	default:
		err = fmt.Errorf("is of kind %q; expected mock=KEY=VALUE,… or file=PATH, whose lines are KEY=VALUE", kind)
	}
	return s, isDefault, err
}

// add adds KEY=VALUE. An error has no value.
func (s *secretSource) add(pairs []string) error {
	for i, pair := range pairs {
		key, value, found := strings.Cut(strings.TrimRight(pair, "\r"), "=")
		if !found {
			return fmt.Errorf("has no = in part %d; expected KEY=VALUE", i+1)
		}
		s.values[key] = value
	}
	return nil
}

// secret is the value of a key in the first source that is asked for.
func (v *vu) secret(is func(*secretSource) bool, none, key string) sobek.Value {
	for i := range v.target.secrets {
		s := &v.target.secrets[i]
		if !is(s) {
			continue
		}
		value, known := s.values[key]
		if !known {
			v.throw("secret source %q has no %q", s.name, key)
		}
		return v.rt.ToValue(value)
	}
	v.throw("%s", none)
	return nil
}

// secretsModule is "k6/secrets": the first source, and all by their names.
func (v *vu) secretsModule() exports {
	getter := func(is func(*secretSource) bool, none string) func(sobek.FunctionCall) sobek.Value {
		return func(call sobek.FunctionCall) sobek.Value {
			return v.promise(func() sobek.Value { return v.secret(is, none, call.Argument(0).String()) })
		}
	}
	return exports{
		"get": getter(func(*secretSource) bool { return true }, "no secret source is given: --secret-source file=PATH, or mock=KEY=VALUE"),
		"source": func(name string) sobek.Value {
			named := func(s *secretSource) bool { return s.name == name }
			return v.object(exports{"get": getter(named, fmt.Sprintf("there is no secret source %q", name))})
		},
	}
}
