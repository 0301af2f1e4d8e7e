package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Place says where a template's text is put, and so how values are written
// there. The zero value is Text.
type Place int

const (
	// Text takes values as they are.
	Text Place = iota
	// URL is the path and query of a request, whose text is sent as it is written,
	// except for what must be percent-encoded. In values everything but letters,
	// digits and -._~ is percent-encoded (RFC 3986, section 2.3), including the
	// slash, so that a value stays within its part of the path or query.
	URL
	// Header is the value of a field. No value may hold a control character
	// other than a tab: a line break would add a field.
	Header
	// JSON escapes values inside a string. Other values must be JSON themselves: 7,
	// true, ["a"].
	JSON
	// Form is application/x-www-form-urlencoded: values are written as in a URL.
	Form
)

// String names the place in messages.
func (p Place) String() string {
	switch p {
	case URL:
		return "URL"
	case Header:
		return "header"
	case JSON:
		return "JSON body"
	case Form:
		return "form body"
	}
	return "text"
}

// BodyPlace returns the place that a body of a Content-Type is; without one,
// text that begins with a brace or bracket is JSON.
func BodyPlace(contentType, body string) Place {
	media, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	media = strings.TrimSpace(media)
	body = strings.TrimSpace(body)
	switch {
	case media == "application/x-www-form-urlencoded":
		return Form
	case media == "application/json", strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "ndjson"):
		return JSON
	case media == "" && body != "" && (body[0] == '{' && !strings.HasPrefix(body, "{{") || body[0] == '['):
		return JSON
	}
	return Text
}

// checkText says what is wrong with the text between placeholders.
func (p Place) checkText(text string) error {
	switch {
	case p == URL && strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f || c == '#' }):
		return fmt.Errorf("%q holds a # or a control character: percent-encode it", text)
	case p == Header && strings.ContainsFunc(text, isControl):
		return fmt.Errorf("%q holds a line break or another control character", text)
	}
	return nil
}

// A slot is where a value goes.
type slot struct {
	place    Place
	raw      bool // as it is
	first    bool // nothing precedes it
	inString bool // of JSON
}

// check says what is wrong with a value.
func (s slot) check(value string) error {
	switch {
	case s.place == Header && strings.ContainsFunc(value, isControl):
		return errors.New("holds a line break or another control character, which no header may hold")
	case s.place == JSON && !s.raw && !s.inString && !json.Valid([]byte(value)):
		return fmt.Errorf("is %.40q, which is not JSON: put the placeholder in quotes", value)
	case s.place == URL && s.raw && strings.ContainsFunc(value, notInURL):
		return errors.New("holds a space, a # or what is not ASCII, which no URL may hold")
	case s.place == URL && s.first && !strings.HasPrefix(value, "/"):
		return errors.New("does not begin with a slash, as a path does")
	}
	return nil
}

// escape returns a value as it is written in the slot.
func (s slot) escape(value string) string {
	switch {
	case s.raw:
		return value
	case s.place == URL || s.place == Form:
		return percentEncoded(value)
	case s.place == JSON && s.inString:
		return jsonEscaped(value)
	}
	return value
}

func percentEncoded(value string) string {
	const digits = "0123456789ABCDEF"
	if strings.IndexFunc(value, isReserved) < 0 {
		return value
	}
	b := make([]byte, 0, 3*len(value))
	for i := range len(value) {
		if c := value[i]; isReserved(rune(c)) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

func jsonEscaped(value string) string {
	if !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' }) {
		return value
	}
	var b strings.Builder
	for _, c := range value {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func isReserved(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return c >= utf8.RuneSelf || !strings.ContainsRune("-._~", c)
}

func notInURL(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }

// isControl excludes the tab, which a header may hold.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// A jsonText follows text of JSON to know what is within a string.
type jsonText struct{ inString, escaped bool }

func (j *jsonText) read(text string) {
	for i := range len(text) {
		switch b := text[i]; {
		case j.escaped:
			j.escaped = false
		case j.inString && b == '\\':
			j.escaped = true
		case b == '"':
			j.inString = !j.inString
		}
	}
}
