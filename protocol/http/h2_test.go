package http

import (
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/data"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// bothVersionsSecured is a server of HTTP/1.1 and HTTP/2 over TLS, by what the client asks for.
func bothVersionsSecured(t *testing.T, handler nethttp.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = wiretest.TLS()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// Whatever is asked and answered, either version counts the same.
func TestStreamsAgainstHTTP1(t *testing.T) {
	t.Parallel()
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
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		compareVersions(t, wiretest.Started(t, wiretest.BothVersions(handler)), wire.TLS{})
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		compareVersions(t, bothVersionsSecured(t, handler), anyTLS)
	})
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
		"echo":     {URL: url + "/echo?a=b", Method: "PUT", Body: []byte("body"), Header: []wire.Field{{Name: "X-Own", Value: "own"}, {Name: "Host", Value: "other"}}},
		"upload":   {URL: url + "/small", Method: "POST", Body: make([]byte, 200_000)},
		"check":    {URL: url + "/small", Checks: []string{"body contains small"}},
		"no check": {URL: url + "/small", Checks: []string{"body contains large"}},
		"requests": {URL: url, Requests: []Request{{Name: "a", Path: "/small", Weight: 2}, {Name: "b", Path: "/503"}}},
		"data":     {URL: url + "/echo?i={{vu}}", Method: "POST", Body: []byte("{{vu}}"), Data: ten},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := load.Plan{VUs: 6, Iterations: 12, Duration: testenv.Patience, Timeout: testenv.Patience}
			c.TLS = secure
			one := wiretest.AccountOf(runLoop(t, c, plan))
			for _, connections := range []int{1, 3, 6} {
				c.HTTP2, c.Connections = true, connections
				two := wiretest.AccountOf(runLoop(t, c, plan))
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
		plan := load.Plan{VUs: 2, Iterations: 6, Duration: testenv.Patience, Timeout: testenv.Patience}
		result := runLoop(t, Config{URL: url + "/short", HTTP2: true, Connections: 1, TLS: secure}, plan)
		if result.Errored[errkind.Reset]+result.Errored[errkind.Protocol] != 6 {
			t.Errorf("errored %v, completed %d", result.Errored, result.Completed)
		}
	})
}

// The example of a wrong answer names the version.
func TestStreamsDetail(t *testing.T) {
	url := wiretest.Started(t, wiretest.BothVersions(nethttp.NotFoundHandler()))
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

// A request has its HTTP/2 form.
func TestStreamRequest(t *testing.T) {
	wiretest.Needs(t, loop.Supported)
	header := func(fields ...string) (all []wire.Field) {
		for i := 0; i < len(fields); i += 2 {
			all = append(all, wire.Field{Name: fields[i], Value: fields[i+1]})
		}
		return all
	}
	for _, test := range []struct {
		config Config
		want   string // names and values
		body   string
	}{
		{Config{URL: "http://h/"}, ":method GET, :scheme http, :path /, :authority h, user-agent contend", ""},
		{Config{URL: "https://h:1/a?b", Method: "POST", Body: []byte("\r\n"), Header: header(
			"X-A", "1", "Host", "other", "TE", "trailers",
			"X-B", "a: b", "User-Agent", "")},
			":method POST, :scheme https, :path /a?b, :authority other, x-a 1, te trailers, x-b a: b, user-agent , content-length 2", "\r\n"},
		{Config{URL: "http://h/", Method: "PUT", DisableKeepAlive: true},
			":method PUT, :scheme http, :path /, :authority h, user-agent contend, content-length 0", ""},
		{Config{URL: "http://h/{{vu}}", Header: header("Host", "{{vu}}", "X-A", "<{{vu}}>"), Body: []byte("{{vu}}{{vu}}"), Data: &data.Source{}},
			":method POST, :scheme http, :path /12, :authority 12, user-agent contend, x-a <12>, content-length 4", "1212"},
		{Config{URL: "http://h/{{\"x\"}}", Data: &data.Source{}}, ":method GET, :scheme http, :path /x, :authority h, user-agent contend", ""},
	} {
		test.config.HTTP2 = true
		target := targetOf(t, test.config)
		sender, err := target.newSender(12)
		testenv.Must(t, err)
		s := stream{sender: sender}
		sender.next(&s.parser)
		s.fill(sender.request.streams)
		var got []string
		for _, f := range s.fields {
			got = append(got, f.Name+" "+f.Value)
		}
		if got := strings.Join(got, ", "); got != test.want || string(sender.body) != test.body {
			t.Errorf("%+v:\n%s, body %q\nwant\n%s, body %q", test.config, got, sender.body, test.want, test.body)
		}
		if varies := strings.Contains(test.config.URL, "{{vu"); (sender.request.streams.fixed == nil) != varies {
			t.Errorf("%s: built anew in every iteration: %v", test.config.URL, !varies)
		}
	}
}
