package http

import (
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/h2"
	"contend/load"
	"contend/loop"
	"contend/protocol/data"
	"contend/protocol/wire"
)

// bothVersions is a server of HTTP/1.1 and HTTP/2, by what is spoken to it.
func bothVersions(t *testing.T, handler nethttp.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(nethttp.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// bothVersionsSecured is the same over TLS, by what the client asks for.
func bothVersionsSecured(t *testing.T, handler nethttp.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// Whatever is asked and answered, it counts alike in either version.
func TestStreamsAgainstHTTP1(t *testing.T) {
	if ok, why := loop.Supported(); !ok {
		t.Skip(why)
	}
	handler := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/small":
			io.WriteString(w, "small")
		case "/large":
			w.Write(make([]byte, 300_000))
		case "/chunked":
			w.WriteHeader(200)
			w.(nethttp.Flusher).Flush()
			io.WriteString(w, "chunked")
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.WriteHeader(304)
		case "/503":
			w.Header().Set("server", "test")
			w.WriteHeader(503)
			io.WriteString(w, "busy")
		case "/echo":
			fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.Host, r.URL.RawQuery, r.Header.Get("X-Own"), body)
		case "/short":
			w.Header().Set("content-length", "10")
			io.WriteString(w, "short")
			panic(nethttp.ErrAbortHandler)
		}
	})
	t.Run("plain", func(t *testing.T) { compareVersions(t, bothVersions(t, handler), wire.TLS{}) })
	t.Run("TLS", func(t *testing.T) { compareVersions(t, bothVersionsSecured(t, handler), anyTLS) })
}

func compareVersions(t *testing.T, url string, secure wire.TLS) {
	ten := &data.Source{}
	for name, c := range map[string]Config{
		"small":    {URL: url + "/small"},
		"large":    {URL: url + "/large"},
		"chunked":  {URL: url + "/chunked"},
		"head":     {URL: url + "/large", Method: "HEAD"},
		"204":      {URL: url + "/204"},
		"304":      {URL: url + "/304"},
		"503":      {URL: url + "/503"},
		"echo":     {URL: url + "/echo?a=b", Method: "PUT", Body: []byte("body"), Header: []wire.Field{{Name: "X-Own", Value: "own"}, {Name: "Host", Value: "other"}, {Name: "Connection", Value: "x"}}},
		"upload":   {URL: url + "/small", Method: "POST", Body: make([]byte, 200_000)},
		"check":    {URL: url + "/small", Checks: []string{"body contains small"}},
		"no check": {URL: url + "/small", Checks: []string{"body contains large"}},
		"requests": {URL: url, Requests: []Request{{Name: "a", Path: "/small", Weight: 2}, {Name: "b", Path: "/503"}}},
		"data":     {URL: url + "/echo?i={{vu}}", Method: "POST", Body: []byte("{{vu}}"), Data: ten},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := load.Plan{VUs: 6, Iterations: 30, Duration: 20 * time.Second, Timeout: 10 * time.Second}
			c.TLS = secure
			one := accountOf(runLoop(t, c, plan))
			for _, connections := range []int{1, 3, 6} {
				c.HTTP2, c.Connections = true, connections
				two := accountOf(runLoop(t, c, plan))
				if two.BytesIn == 0 || two.BytesOut == 0 {
					t.Errorf("%d bytes in, %d out", two.BytesIn, two.BytesOut)
				}
				two.BytesIn, two.BytesOut = one.BytesIn, one.BytesOut // headers are shorter
				if fmt.Sprint(one) != fmt.Sprint(two) {
					t.Errorf("HTTP/1.1: %+v\nHTTP/2:   %+v", one, two)
				}
			}
		})
	}
	t.Run("short", func(t *testing.T) {
		plan := load.Plan{VUs: 2, Iterations: 6, Duration: 20 * time.Second, Timeout: 10 * time.Second}
		result := runLoop(t, Config{URL: url + "/short", HTTP2: true, Connections: 1, TLS: secure}, plan)
		if result.Errored[load.Reset]+result.Errored[load.Protocol] != 6 {
			t.Errorf("errored %v, completed %d", result.Errored, result.Completed)
		}
	})
}

// The example of a wrong answer names the version.
func TestStreamsDetail(t *testing.T) {
	if ok, why := loop.Supported(); !ok {
		t.Skip(why)
	}
	url := bothVersions(t, nethttp.NotFoundHandler())
	var once sync.Once
	plan := load.Plan{VUs: 1, Iterations: 3, Duration: 20 * time.Second}
	plan.Sample = func(s load.Sample) {
		once.Do(func() {
			if got := string(s.Outcome.Detail); got != "HTTP/2 404\r\n\r\n404 page not found\n" {
				t.Errorf("detail %q", got)
			}
		})
	}
	runLoop(t, Config{URL: url, HTTP2: true}, plan)
}

func TestTranslate(t *testing.T) {
	raw := "POST /a b?c HTTP/1.1\r\nX-A: 1\r\nHost: h:1\r\nTE: x\r\nConnection: close\r\nX-B:  2 \r\nContent-Length: 2\r\n\r\n\r\n"
	fields, body := translate(nil, []byte(raw), "http")
	want := []h2.Field{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/a b?c"},
		{Name: ":authority", Value: "h:1"}, {Name: "x-a", Value: "1"}, {Name: "x-b", Value: "2"}, {Name: "content-length", Value: "2"}}
	if !reflect.DeepEqual(fields, want) || string(body) != "\r\n" {
		t.Errorf("%q, %q", fields, body)
	}
	if fields, body := translate(nil, []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), "http"); len(fields) != 4 || len(body) > 0 || strings.Contains(fmt.Sprint(fields), "HTTP") {
		t.Errorf("%q, %q", fields, body)
	}
}
