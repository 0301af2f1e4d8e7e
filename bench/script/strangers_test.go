package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
)

// Scripts are those files that import k6 and have something to run.
func TestStrangers(t *testing.T) {
	first := testenv.Files(t, "a.js", "import http from 'k6/http';\nexport default function () { http.get(__ENV.SHOP_URL); }",
		"lib/helper.js", "import http from 'k6/http';\nexport const get = http.get;",
		"more/b.ts", "import { check } from \"k6\";\nexport const options = { scenarios: {} };",
		"page.js", "export default class {}", "c.cjs", "require('k6')",
		"old.js", "const http = require('k6/http'); module.exports.default = () => {}",
		"node_modules/x.js", "import 'k6';\nexport default function () {}")
	all, err := strangers(filepath.Dir(first))
	testenv.Must(t, err)
	var seen []string
	for _, s := range all {
		name, _ := filepath.Rel(filepath.Dir(first), s.Path)
		seen = append(seen, name+" "+strings.Join(append(s.Addresses, s.Flags...), " "))
	}
	want := []string{"a.js BASE_URL SHOP_URL --vus 1 --iterations 2", "more/b.ts BASE_URL", "old.js BASE_URL --vus 1 --iterations 2"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	_, err = strangers(t.TempDir())
	testenv.Says(t, err, "has no script that imports k6")
}

// Addresses become the server's, but not those of modules, and what is imported moves along.
func TestMovedTo(t *testing.T) {
	first := testenv.Files(t, "load/a.js", "import http from 'k6/http'; import x from 'https://jslib.k6.io/x.js'; import { at } from '../lib/at.js';\n"+
		"export default function () { http.get(__ENV.SHOP_URL || \"https://shop.test:8443/a\"); http.get(`${at}/b?to=https://no.test`); }",
		"lib/at.js", "export const at = 'ws://localhost:3000/ws';")
	s := newStranger(filepath.Dir(filepath.Dir(first)), first, "")
	moved, err := s.movedTo("127.0.0.1:1")
	testenv.Must(t, err)
	defer os.RemoveAll(moved.Stranger)
	for path, want := range map[string]string{
		moved.Path: drawn + "import http from 'k6/http'; import x from 'https://jslib.k6.io/x.js'; import { at } from '../lib/at.js';\n" +
			"export default function () { http.get(__ENV.SHOP_URL || \"http://127.0.0.1:1/a\"); http.get(`${at}/b?to=https://no.test`); }",
		filepath.Join(moved.Stranger, "lib/at.js"): "export const at = 'ws://127.0.0.1:1/ws';",
	} {
		text, err := os.ReadFile(path)
		testenv.Must(t, err)
		if string(text) != want {
			t.Errorf("%s: %s, want %s", path, text, want)
		}
	}
}

// The server answers anything, in the form that is asked for.
func TestAnything(t *testing.T) {
	server := httptest.NewServer(anything())
	defer server.Close()
	for accept, want := range map[string]string{"": `"token":"token"`, "text/html,*/*": "<form action"} {
		request, err := http.NewRequest("PUT", server.URL+"/what/ever?it=is", nil)
		testenv.Must(t, err)
		request.Header.Set("Accept", accept)
		response, err := http.DefaultClient.Do(request)
		testenv.Must(t, err)
		body, err := io.ReadAll(response.Body)
		testenv.Must(t, err)
		response.Body.Close()
		if response.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("Accept: %q: %d %s", accept, response.StatusCode, body)
		}
	}
}
