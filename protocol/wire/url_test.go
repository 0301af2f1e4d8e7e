package wire

import (
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

func TestParseURLRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `target is "", whose scheme is ""; allowed: http, https, ws`,
		"ftp://h/":              `target is "ftp://h/", whose scheme is "ftp"; allowed: http, https, ws`,
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
