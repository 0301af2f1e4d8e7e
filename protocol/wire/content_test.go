package wire

import (
	"strings"
	"testing"
)

func TestMediaType(t *testing.T) {
	for given, want := range map[string]string{
		" Text/HTML ; charset=utf-8": "text/html",
		"application/json":           "application/json",
		"":                           "",
		";":                          "",
		"text/\x1b[1m\xff":           "text/?[1m?",
		strings.Repeat("a", 200):     strings.Repeat("a", maxMediaType),
	} {
		if got := string(AppendMediaType([]byte("x"), given)); got != "x"+want {
			t.Errorf("%q is %q, want %q behind x", given, got, want)
		}
		if got := string(AppendMediaType(nil, []byte(given))); got != want {
			t.Errorf("%q as bytes is %q, want %q", given, got, want)
		}
	}
}

func TestLocation(t *testing.T) {
	for given, want := range map[string]string{
		"https://h/a;b?c": "https://h/a;b?c", "/\n\xff": "/??", strings.Repeat("a", 600): strings.Repeat("a", maxLocation),
	} {
		if got := string(AppendLocation(nil, given)); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}
