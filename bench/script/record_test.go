package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestNewRequest(t *testing.T) {
	const address = "127.0.0.1:4321"
	parts := "--x\r\nContent-Disposition: form-data; name=\"b\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n"
	for _, test := range []struct {
		method, url, body string
		header            http.Header
		want              string
	}{
		{"GET", "/a?b=c", "", http.Header{"User-Agent": {"Grafana k6/1.0"}, "Accept-Encoding": {"gzip"}}, "GET /a?b=c"}, // no tool's own headers
		{"POST", "/", "x", http.Header{"User-Agent": {"mine"}, "Content-Type": {"text/plain"}}, "POST / | Content-Type: text/plain; User-Agent: mine | x"},
		{"GET", "/", "", http.Header{"Cookie": {"b=2; a=1"}}, "GET / | Cookie: a=1; b=2"}, // by name
		{"GET", "/", "", http.Header{"Referer": {"http://" + address + "/x"}}, "GET / | Referer: http://127.0.0.1:PORT/x"},
		{"GET", "http://localhost:4321/", "", nil, "GET / | Host: localhost:PORT"},
		{"POST", "/", parts, http.Header{"Content-Type": {"multipart/form-data; boundary=x"}}, // the boundary is random
			`POST / | Content-Type: multipart/form-data | a file "" type "": 1, b file "f.txt" type "text/plain": text`},
	} {
		r, err := http.NewRequest(test.method, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL.Host == "" {
			r.Host = address
		}
		if r.URL.Scheme, r.URL.Host = "", ""; test.header != nil { // as a server sees it
			r.Header = test.header
		}
		if got := newRequest(r, []byte(test.body), address).String(); got != test.want {
			t.Errorf("%s %s: got  %s\nwant %s", test.method, test.url, got, test.want)
		}
	}
}

func TestRecorder(t *testing.T) {
	address, rec, stop, err := startServer(service())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, one := range []struct{ path, vu, anyOrder string }{
		{"/echo?c", "1", ""}, {"/echo?b", "1", "yes"}, {"/echo?a", "1", "yes"}, {"/echo?z", "2", ""}, {"/echo?0", "1", ""},
	} {
		r, err := http.NewRequest("GET", "http://"+address+one.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(vuHeader, one.vu)
		if one.anyOrder != "" {
			r.Header.Set(anyHeader, one.anyOrder)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
			t.Fatal(answer, err)
		}
	}
	var got []string
	for _, r := range rec.byVU()["1"] {
		got = append(got, strings.TrimPrefix(r.Line, "GET /echo?"))
	}
	if want := []string{"c", "a", "b", "0"}; !slices.Equal(got, want) { // a and b may be in any order, 0 comes after them
		t.Errorf("the first asked for %v, want %v", got, want)
	}
	if n := len(rec.byVU()["2"]); n != 1 {
		t.Errorf("the second has %d requests", n)
	}
}
