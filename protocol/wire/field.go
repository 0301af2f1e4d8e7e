package wire

import (
	"fmt"
	"strings"
)

// A Field is one line of a header.
type Field struct {
	Name, Value string
}

// Check refuses what no header can hold. No error shows the value: it may be a
// secret.
func (f Field) Check() error {
	switch {
	case !IsToken(f.Name):
		return fmt.Errorf("header name %q is not a token of letters, digits and !#$%%&'*+-.^_`|~", f.Name)
	case strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("header %s holds a line break or another control character", f.Name)
	}
	return nil
}

// IsToken reports whether s consists of the characters of a method or a field
// name (RFC 9110, section 5.6.2).
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
