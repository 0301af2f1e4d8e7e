package wire

import (
	"fmt"
	"strings"
	"testing"

	"contend/setting"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]Origin{
		"http://h":       {Hostname: "h", Address: "h:80"},
		"https://h/x?y":  {Hostname: "h", Address: "h:443", Secure: true},
		"ws://[::1]:9/":  {Hostname: "::1", Address: "[::1]:9"},
		"wss://h.local/": {Hostname: "h.local", Address: "h.local:443", Secure: true},
	} {
		got, err := ParseURL(text, "http", "https", "ws", "wss")
		if err != nil || got.URL.String() != text {
			t.Errorf("%s: %v, %v", text, got.URL, err)
		}
		if got.URL = nil; got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// What can be sent as it is written is sent so, whatever else has to be escaped.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"http://h/a%2Fb":                      "/a%2Fb",
		"http://h/a%2fb|c":                    "/a%2fb%7Cc",
		"http://h/a%2Fü":                      "/a%2F%C3%BC",
		"http://h/a%2Fb c":                    "/a%2Fb%20c",
		"http://h/a%252Fb{c}":                 "/a%252Fb%7Bc%7D",
		"http://h//a/./b/../c;d=[1]&e=a+b,~'": "//a/./b/../c;d=[1]&e=a+b,~'",
		"http://h/%41%7e|":                    "/%41%7e%7C",
		"http://h?q=a%2fb|{c}[]\"ü d":         "/?q=a%2fb|{c}[]\"%C3%BC%20d",
		"http://h/a?b=/c?d#e f?g":             "/a?b=/c?d",
		"http://h/a?":                         "/a?",
		"http://h#/a|b":                       "/",
		"http://[::1%25lo]:9/a|%2F":           "/a%7C%2F",
		"//h/a|%2F":                           "/a%7C%2F",
		"/a//b|%2F":                           "/a//b%7C%2F",
		"/a:/b|":                              "/a:/b%7C",
	} {
		u, err := Parse(text)
		if err != nil || u.RequestURI() != want {
			t.Errorf("%s: %v, %v; want %s", text, u.RequestURI(), err, want)
		}
	}
	for _, text := range []string{"http://h/a\nb", "http://h/\x7f", "http://h/%", "http://h/%2", "http://a b/"} {
		if u, err := Parse(text); err == nil {
			t.Errorf("%q: %v, want an error", text, u)
		}
	}
}

// Each byte of a path is sent as it is or as its escape, so nothing is taken for another resource.
func TestParseKeepsEachByte(t *testing.T) {
	for c := range 256 {
		text := "/%2f" + string([]byte{byte(c)}) + "%2F"
		u, err := Parse("http://h" + text)
		if c < ' ' || c == 0x7f || c == '%' {
			if err == nil {
				t.Errorf("%q: %v, want an error", text, u)
			}
			continue
		}
		want := map[byte]string{'?': "/%2f?%2F", '#': "/%2f"}[byte(c)]
		escaped := fmt.Sprintf("/%%2f%%%02X%%2F", c)
		if got := u.RequestURI(); err != nil || got != text && got != escaped && got != want {
			t.Errorf("%q: %q, %v; want %q or %q", text, got, err, text, escaped)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `target is "", whose scheme is ""; expected http, https, ws`,
		"ftp://h/":              `target is "ftp://h/", whose scheme is "ftp"; expected http, https, ws`,
		"ws:///x":               "no host",
		"http://h/%zz":          `target is "http://h/%zz": invalid URL escape`,
		"http://me:secret@h/":   "user information",
		"http://me:secret@h:x/": `target is "http://…@h:x/", which is not a URL`,
	} {
		_, err := ParseURL(text, "http", "https", "ws")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
		if found := setting.Mistakes(err); len(found) != 1 || found[0].Path() != "url" {
			t.Errorf("%s: %v is no mistake of the field url", text, err)
		}
	}
}

func TestLoops(t *testing.T) {
	for address, near := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "a.localhost:1": true,
		"10.0.0.1:1": false, "localhost.example:1": false, "": false,
	} {
		if got := IsNear("tcp", address); got != near {
			t.Errorf("%q is near: %v", address, got)
		}
	}
	if !IsNear("unix", "/s") {
		t.Error("a socket is not near")
	}
	for _, near := range []bool{false, true} {
		// Never more than VUs or shared connections.
		if one, shared := Loops(near, 1, 0), Loops(near, 100, 1); one != 1 || shared != 1 {
			t.Errorf("near %v: %d loops for one VU, %d for one connection", near, one, shared)
		}
	}
	if near, far := Loops(true, 1000, 0), Loops(false, 1000, 0); near != max(1, far/2) {
		t.Errorf("%d loops for this machine, %d for another", near, far)
	}
}
