package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"contend/load"
	"contend/protocol/wire"
	"contend/setting"
)

// A Config says what every iteration writes and where its answer ends. URL, one of
// Data and DataFile, and one of Until and Length must be set.
type Config struct {
	// URL is tcp://host:port.
	URL string `json:"target" file:"url" flag:"-"`
	// Data is written by every iteration. Given as text it has the escapes \r, \n,
	// \t, \\ and \xHH; those of DataFile are bytes as they are.
	Data Escaped `file:"data"`
	wire.Body
	// Until is what an answer ends with, itself included; given as text it has the
	// escapes of Data.
	Until Escaped `file:"until" words:"TCP: *bytes* that end a response, as in \\r\\n"`
	// Length is how many bytes an answer has.
	Length int64 `file:"length" unit:"bytes" min:"0" words:"TCP: *number* of bytes in a response"`
	// MaxMessage is the longest answer that Until is looked for in, in bytes.
	MaxMessage int `file:"max_message" unit:"bytes" default:"1MiB" min:"1"`
	// NoKeepAlive opens a connection for every iteration.
	NoKeepAlive bool `file:"no_keepalive"`
	wire.Engines
}

// Validate returns every mistake that can be seen without opening anything.
func (c *Config) Validate() error {
	errs := []error{c.Body.Check(c.Data)}
	wrong := func(field any, format string, args ...any) {
		errs = append(errs, setting.At(c, field).Wrong(format, args...))
	}
	if _, err := c.address(); err != nil {
		wrong(&c.URL, "%v", err)
	}
	if len(c.Data) == 0 && c.DataFile == "" {
		wrong(&c.Data, "is missing: give the bytes to write, or data_file")
	}
	switch {
	case len(c.Until) == 0 && c.Length == 0:
		wrong(&c.Until, "is missing: give what a response ends with, or its length")
	case len(c.Until) > 0 && c.Length > 0:
		wrong(&c.Length, "cannot be combined with until; use one of them")
	}
	if len(c.Until) > c.MaxMessage {
		wrong(&c.Until, "has %d bytes; expected at most the %d of an answer", len(c.Until), c.MaxMessage)
	}
	return errors.Join(errs...)
}

// CanRead returns the mistake in the file, if there is one.
func (c *Config) CanRead(func(string) (string, bool)) error {
	_, err := c.data()
	return err
}

// data is what is written, from the file if there is one.
func (c *Config) data() ([]byte, error) {
	if c.DataFile == "" {
		return c.Data, nil
	}
	content, err := os.ReadFile(c.DataFile)
	switch {
	case err != nil:
		return nil, setting.At(c, &c.DataFile).About(setting.CannotRead(c.DataFile, err))
	case len(content) == 0:
		return nil, setting.At(c, &c.DataFile).Wrong("is %q, which is empty", c.DataFile)
	}
	return content, nil
}

// address reads the URL, in which {{addr}} may replace a subject's host:port, and
// {{port}} its port.
func (c *Config) address() (string, error) {
	u, err := url.Parse(strings.NewReplacer("{{addr}}", "host:1", "{{port}}", "1").Replace(c.URL))
	if err != nil || u.Scheme != "tcp" || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("is %q; expected tcp://host:port", wire.HideUser(c.URL))
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}

// Open opens what is asked for.
func Open(_ context.Context, c Config, around wire.Surroundings) (load.Target, error) {
	data, err := c.data()
	if err := errors.Join(c.Validate(), err); err != nil {
		return nil, err
	}
	c.Data = data
	address, _ := c.address() // Validate has read it
	return &Target{config: c, address: address, ownCores: around.OwnCores}, nil
}

// Escaped are bytes whose text form has the escapes \r, \n, \t, \\ and \xHH.
// All other characters are literal.
type Escaped []byte

// UnmarshalText reads the text form.
func (e *Escaped) UnmarshalText(text []byte) error {
	*e = Escaped{}
	for rest := string(text); rest != ""; {
		plain, after, found := strings.Cut(rest, `\`)
		*e = append(*e, plain...)
		if rest = after; !found {
			break
		}
		b, size := escape(rest)
		if size == 0 {
			return fmt.Errorf(`after a \ stands %.3q; expected \r, \n, \t, \\ and \xHH`, rest)
		}
		*e, rest = append(*e, b), rest[size:]
	}
	return nil
}

// escape reads what follows a backslash. Size 0 means that it is not an escape.
func escape(text string) (b byte, size int) {
	if text == "" || !strings.Contains(`rntx\`, text[:1]) {
		return 0, 0
	}
	c, _, rest, err := strconv.UnquoteChar(`\`+text, 0)
	if err != nil {
		return 0, 0
	}
	return byte(c), len(text) - len(rest)
}

// MarshalText returns a text form.
func (e Escaped) MarshalText() ([]byte, error) {
	var out []byte
	for _, b := range e {
		switch {
		case b == '\\':
			out = append(out, `\\`...)
		case b < ' ' || b >= 0x7f:
			out = fmt.Appendf(out, `\x%02x`, b)
		default:
			out = append(out, b)
		}
	}
	return out, nil
}
