package http

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"contend/internal/testenv"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

func TestNewReportsEveryMistakeAtOnce(t *testing.T) {
	_, err := New(Config{
		URL:          "ftp://host/",
		Method:       "GE T",
		Header:       []wire.Field{{Name: "A b", Value: "c"}, {Name: "X", Value: "a\r\nInjected: b"}, {Name: "Transfer-Encoding", Value: "chunked"}},
		ExpectStatus: []int{200, 99, 1000},
		Proxy:        "proxy", AB: AB{LocalAddress: "localhost", SocketBuffer: -1},
	})
	testenv.Says(t, err,
		`target is "ftp://host/", whose scheme is "ftp"; expected http, https, http+unix`,
		`method is "GE T"; expected letters, digits and `,
		`header name "A b" is not a token`,
		`header X holds a line break`,
		`header Transfer-Encoding is not possible`,
		`expect_status is 99; expected 100 to 999`,
		`expect_status is 1000`,
		`Proxy is "proxy"; expected host:port`,
		`LocalAddress is "localhost"; expected an IP address`,
		`SocketBuffer is -1; expected 0 to`,
	)
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		"has no host":                        {URL: "http:///path"},
		"target is \"http://a b/\": invalid": {URL: "http://a b/"},
		"scheme is \"\"":                     {URL: "localhost/x"},
		"user information":                   {URL: "http://me:secret@host/"},
		"did you mean \"POST\"?":             {URL: "http://host/", Method: "post"},
		"Punycode":                           {URL: "http://bücher.example/"},
		"has no socket":                      {URL: "http+unix://:/path"},
		"names a socket: give it once":       {URL: "http+unix:///s:/path", UnixSocket: "/t"},
		"insecure requires an https URL":     {URL: "http://host/", TLS: wire.TLS{Insecure: true}},
		"no certificate in PEM":              {URL: "https://host/", TLS: wire.TLS{CA: []byte("no")}},
		"CONNECT":                            {URL: "http://host/", Method: "CONNECT"},
		"host is given twice":                {URL: "http://host/", Header: []wire.Field{{Name: "Host", Value: "a"}, {Name: "host", Value: "b"}}},
		"content-type is given twice":        {URL: "http://host/", Header: []wire.Field{{Name: "Content-Type", Value: "a"}, {Name: "content-type", Value: "b"}}},
		"is \"5\" but the body has 2":        {URL: "http://host/", Body: []byte("ab"), Header: []wire.Field{{Name: "content-length", Value: "5"}}},
		"another control character":          {URL: "http://host/", Header: []wire.Field{{Name: "X", Value: "a\x00"}}},
		"name \"\" is not a token":           {URL: "http://host/", Header: []wire.Field{{Name: "", Value: "a"}}},
		"tunnel to an https URL":             {URL: "https://host/", Proxy: "proxy:8080"},
		"Proxy does not apply":               {URL: "http://host/", Proxy: "proxy:8080", UnixSocket: "/s"},
		"SocketBuffer does not":              {URL: "http://host/", AB: AB{SocketBuffer: 4096}, Dial: (&slowServer{}).dial},
		"cert_file: tls: failed":             {URL: "https://host/", TLS: wire.TLS{Certificate: []byte("no")}},
		"TLS.MaxVersion is \"0x0999\"":       {URL: "https://host/", TLS: wire.TLS{MaxVersion: 0x999}},
		"TLS.MinVersion is TLS 1.3, above":   {URL: "https://host/", TLS: wire.TLS{MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS12}},
		"TLS.CipherSuites has TLS_AES":       {URL: "https://host/", TLS: wire.TLS{CipherSuites: []uint16{tls.TLS_AES_128_GCM_SHA256}}},
	} {
		_, err := New(c)
		wiretest.Mistakes(t, err, want)
	}
}

func TestOrigin(t *testing.T) {
	for _, test := range []struct {
		give Config
		want origin
	}{
		{Config{URL: "http://host"}, origin{wire.Origin{Hostname: "host"}, "tcp", "host:80", "host", "/"}},
		{Config{URL: "http://host:8080/a/b?c=d#e"}, origin{wire.Origin{Hostname: "host"}, "tcp", "host:8080", "host:8080", "/a/b?c=d"}},
		{Config{URL: "http://host/a%2Fb|c d?e=f g"}, origin{wire.Origin{Hostname: "host"}, "tcp", "host:80", "host", "/a%2Fb%7Cc%20d?e=f%20g"}},
		{Config{URL: "https://host/?q"}, origin{wire.Origin{Hostname: "host", Secure: true}, "tcp", "host:443", "host", "/?q"}},
		{Config{URL: "http://[::1]:81/"}, origin{wire.Origin{Hostname: "::1"}, "tcp", "[::1]:81", "[::1]:81", "/"}},
		{Config{URL: "http://[fe80::1%25lo]/"}, origin{wire.Origin{Hostname: "fe80::1%lo"}, "tcp", "[fe80::1%lo]:80", "[fe80::1]", "/"}},
		{Config{URL: "http+unix:///run/s.sock:/a?b"}, origin{wire.Origin{Hostname: "localhost"}, "unix", "/run/s.sock", "localhost", "/a?b"}},
		{Config{URL: "http+unix:///run/s.sock"}, origin{wire.Origin{Hostname: "localhost"}, "unix", "/run/s.sock", "localhost", "/"}},
		{Config{URL: "http://host/a", Proxy: "p:82"}, origin{wire.Origin{Hostname: "host"}, "tcp", "p:82", "host", "http://host/a"}},
		{Config{URL: "https://host/a", UnixSocket: "/run/s"}, origin{wire.Origin{Hostname: "host", Secure: true}, "unix", "/run/s", "host", "/a"}},
	} {
		got, err := test.give.origin()
		got.URL, got.Address = nil, ""
		if err != nil || got != test.want {
			t.Errorf("%+v: got %+v, %v; want %+v", test.give, got, err, test.want)
		}
	}
}

func TestEncode(t *testing.T) {
	for _, test := range []struct {
		name string
		give Config
		want string
	}{
		{"plain", Config{URL: "http://h/a"},
			"GET /a HTTP/1.1\r\nHost: h\r\nUser-Agent: contend\r\n\r\n"},
		{"body", Config{URL: "http://h", Method: "POST", Body: []byte("ab")},
			"POST / HTTP/1.1\r\nHost: h\r\nUser-Agent: contend\r\nContent-Length: 2\r\n\r\nab"},
		{"no body", Config{URL: "http://h", Method: "PUT"},
			"PUT / HTTP/1.1\r\nHost: h\r\nUser-Agent: contend\r\nContent-Length: 0\r\n\r\n"},
		{"body alone", Config{URL: "http://h", Body: []byte("ab")},
			"POST / HTTP/1.1\r\nHost: h\r\nUser-Agent: contend\r\nContent-Length: 2\r\n\r\nab"},
		{"overridden, in order", Config{URL: "http://h", Method: "GET", Body: []byte("ab"), DisableKeepAlive: true, Header: []wire.Field{
			{Name: "x", Value: "1"}, {Name: "host", Value: "other"}, {Name: "user-agent", Value: ""}, {Name: "content-length", Value: "2"}, {Name: "connection", Value: "close"}, {Name: "X", Value: "2"}}},
			"GET / HTTP/1.1\r\nx: 1\r\nhost: other\r\nuser-agent: \r\ncontent-length: 2\r\nconnection: close\r\nX: 2\r\n\r\nab"},
		{"1.0", Config{URL: "http://h", AB: AB{HTTP10: true}, Header: []wire.Field{{Name: "User-Agent", Value: "ab"}}},
			"GET / HTTP/1.0\r\nHost: h\r\nUser-Agent: ab\r\nConnection: Keep-Alive\r\n\r\n"},
		{"1.0, no keep-alive", Config{URL: "http://h", AB: AB{HTTP10: true}, DisableKeepAlive: true},
			"GET / HTTP/1.0\r\nHost: h\r\nUser-Agent: contend\r\n\r\n"},
		{"proxy", Config{URL: "http://h:81/a?b", Proxy: "p:82"},
			"GET http://h:81/a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: contend\r\n\r\n"},
		{"no keep-alive", Config{URL: "http://h", DisableKeepAlive: true},
			"GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: contend\r\nConnection: close\r\n\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			target, err := New(test.give)
			testenv.Must(t, err)
			if got := string(target.requests[0].fixed); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if _, err := nethttp.ReadRequest(bufio.NewReader(bytes.NewReader(target.requests[0].fixed))); err != nil {
				t.Errorf("net/http cannot read it: %v", err)
			}
		})
	}
}

// FuzzEncode checks that what New accepts is one request, as meant.
func FuzzEncode(f *testing.F) {
	f.Add("http://h/a?b", "GET", "X", "y", "body")
	f.Add("https://[::1]:8/%20", "POST", "Host", "other", "")
	f.Fuzz(func(t *testing.T, url, method, name, value, body string) {
		target, err := New(Config{URL: url, Method: method, Header: []wire.Field{{Name: name, Value: value}}, Body: []byte(body)})
		if err != nil {
			return
		}
		r := bufio.NewReader(bytes.NewReader(target.requests[0].fixed))
		got, err := nethttp.ReadRequest(r)
		if err != nil {
			t.Skip(err) // net/http refuses more: a Host that it does not like
		}
		content, err := io.ReadAll(got.Body)
		if err != nil || string(content) != body || r.Buffered() > 0 {
			t.Fatalf("%q: body %q, %v, %d bytes left", target.requests[0].fixed, content, err, r.Buffered())
		}
	})
}

func TestTargetReachesItsServer(t *testing.T) {
	server := httptest.NewTLSServer(nethttp.HandlerFunc(echoMethod))
	defer server.Close()
	socket := filepath.Join(t.TempDir(), "s")
	serveOn(t, "unix", socket, echoMethod)
	for name, c := range map[string]Config{
		"insecure":    {URL: server.URL, TLS: wire.TLS{Insecure: true}},
		"own CA":      {URL: server.URL, TLS: wire.TLS{CA: testenv.PEM(server.Certificate().Raw)}},
		"server name": {URL: server.URL, TLS: wire.TLS{CA: testenv.PEM(server.Certificate().Raw), ServerName: "example.com"}},
		"unix":        {URL: "http+unix://" + socket + ":/x", Method: "POST"},
		"unix field":  {URL: "http://any/", UnixSocket: socket, DisableKeepAlive: true},
	} {
		t.Run(name, func(t *testing.T) { checkReached(t, c) })
	}
	t.Run("IPv6", func(t *testing.T) {
		checkReached(t, Config{URL: "http://" + serveOn(t, "tcp6", "[::1]:0", echoMethod)})
	})
}

func checkReached(t *testing.T, c Config) {
	t.Helper()
	v := newTestVU(t, c)
	for range 3 {
		out, err := v.Do(context.Background())
		if err != nil || out.Status != 200 || out.Failed {
			t.Fatalf("got %+v, %v", out, err)
		}
	}
}
