package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"contend/setting"
)

// A Field is one line of a header.
type Field struct {
	Name, Value string
}

// UnmarshalText reads the form "Name: value".
func (f *Field) UnmarshalText(text []byte) error {
	name, value, ok := strings.Cut(string(text), ":")
	f.Name, f.Value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || f.Name == "" {
		return errors.New("not of the form \"Name: value\"")
	}
	return nil
}

// MarshalText returns the form "Name: value".
func (f Field) MarshalText() ([]byte, error) { return []byte(f.Name + ": " + f.Value), nil }

// Check refuses what no header can hold. No error shows the value: it may be a
// secret.
func (f Field) Check() error {
	switch {
	case !IsToken(f.Name):
		return wrong("name %q is not a token of letters, digits and !#$%%&'*+-.^_`|~", f.Name)
	case strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return wrong("%s holds a line break or another control character", f.Name)
	}
	return nil
}

// IsOfConnection reports whether a field is about a connection of HTTP/1.1: a request of
// HTTP/2 or HTTP/3 that has it is malformed (RFC 9113, section 8.2.2).
func IsOfConnection(name string) bool {
	return slices.Contains([]string{"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}, strings.ToLower(name))
}

// wrong is a mistake of a setting whose value is not shown.
func wrong(format string, args ...any) error {
	return &setting.Mistake{Setting: setting.Setting{Name: "header"}, Index: -1, Problem: fmt.Sprintf(format, args...)}
}

// IsToken reports whether text consists of the characters of a method or a field
// name (RFC 9110, section 5.6.2).
func IsToken[T []byte | string](text T) bool {
	for i := range len(text) {
		if !tokenChars[text[i]] {
			return false
		}
	}
	return len(text) > 0
}

var tokenChars = func() (table [256]bool) {
	const chars = "!#$%&'*+-.^_`|~0123456789" +
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for i := range len(chars) {
		table[chars[i]] = true
	}
	return table
}()
