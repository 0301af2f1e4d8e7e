package http

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"contend/finding"
	"contend/load"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
)

// wantStarved fails unless so many of the callers got no response, and the result says so.
func wantStarved(t *testing.T, r *load.Result, starved int, what string) {
	t.Helper()
	if r.Starved != starved || r.Shares == nil || r.Shares.Unheard != starved {
		t.Fatalf("%d starved, shares %+v; want %d", r.Starved, r.Shares, starved)
	}
	for _, w := range r.Warnings {
		if w.Is(finding.Starved) && strings.Contains(w.Text, what) {
			return
		}
	}
	t.Errorf("no warning says %q: %v", what, r.Warnings)
}

// untilOthersRespond drives ten callers of a new server for as long as it takes until all but the starved ones have responses enough.
func untilOthersRespond(t *testing.T, starved int, server func() Config) *load.Result {
	t.Helper()
	for length := time.Second / 4; ; length *= 4 {
		if r := runLoop(t, server(), load.Plan{VUs: 10, Duration: length}); r.Shares.Answered > 100 && r.Shares.Unheard <= starved || length > time.Minute {
			return r
		}
	}
}

func TestConnectionsThatAreNotServed(t *testing.T) {
	t.Parallel()
	r := untilOthersRespond(t, 9, func() Config { return Config{URL: "http://" + wiretest.Listen(t, wiretest.OneByOne(time.Millisecond))} })
	wantStarved(t, r, 9, "9 of 10 connections got no response")
	if r.Shares.Jain != 0.1 { // one has all
		t.Errorf("Jain's index is %v", r.Shares.Jain)
	}
}

// Seven requests are never answered: each of the streams of the one connection has one request at a time.
func TestStreamsThatAreNotServed(t *testing.T) {
	t.Parallel()
	r := untilOthersRespond(t, 7, func() Config {
		var asked atomic.Int64
		url := wiretest.Started(t, wiretest.BothVersions(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
			if asked.Add(1) <= 7 {
				<-r.Context().Done()
			}
		})))
		return Config{URL: url, HTTP2: true, Connections: 1}
	})
	wantStarved(t, r, 7, "7 of 10 streams got no response")
}

// A server that takes three requests over each connection, and one that sends 100 Continue after 20 ms, are named by both engines.
func TestLimitsAndLateContinues(t *testing.T) {
	t.Parallel()
	type served struct{}
	server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if n := r.Context().Value(served{}).(*atomic.Int64).Add(1); r.URL.Path == "/limited" && n == 3 {
			w.Header().Set("Connection", "close")
		}
		if r.Header.Get("Expect") != "" {
			time.Sleep(20 * time.Millisecond)
		}
		_, _ = io.Copy(io.Discard, r.Body) // for which net/http sends 100 Continue
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, served{}, new(atomic.Int64))
	}
	server.Start()
	t.Cleanup(server.Close)
	overBothEngines(t, func(t *testing.T, run runner) {
		drive := func(c Config, iterations int64) *load.Result {
			return run(t, c, load.Plan{VUs: 2, Iterations: iterations})
		}
		limited := drive(Config{URL: server.URL + "/limited"}, 60)
		if limited.PartedLeast != 3 || limited.PartedMost != 3 || !finding.KeepaliveLimit.In(limited.Warnings) || finding.Closes.In(limited.Warnings) {
			t.Errorf("%s: %d connections ended after %d to %d answers: %v", limited.Engine, limited.Parted, limited.PartedLeast, limited.PartedMost, limited.Warnings)
		}
		for _, expect := range []string{"", "100-continue"} {
			c, asked := Config{URL: server.URL, Body: []byte("body")}, int64(0)
			if expect != "" {
				c.Header, asked = []wire.Field{{Name: "Expect", Value: expect}}, 20
			}
			r := drive(c, 20)
			if r.Continued != asked || r.ContinueWait < time.Duration(asked)*20*time.Millisecond || finding.ContinueLate.In(r.Warnings) != (expect != "") {
				t.Errorf("%s, Expect %q: %d after 100 Continue, which came after %v in all: %v", r.Engine, expect, r.Continued, r.ContinueWait, r.Warnings)
			}
		}
	})
}

// net/http without keep-alive closes after each response, which costs a connection each; with it, and where nobody asks to keep them, none of
// that is said.
func TestConnectionsThatAreClosedAfterEachResponse(t *testing.T) {
	t.Parallel()
	for _, closes := range []bool{true, false} {
		server := httptest.NewUnstartedServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
		server.Config.SetKeepAlivesEnabled(!closes)
		url := wiretest.Started(t, server)
		for _, keeps := range []bool{true, false} {
			overBothEngines(t, func(t *testing.T, run runner) {
				r := run(t, Config{URL: url, DisableKeepAlive: !keeps}, load.Plan{VUs: 2, Iterations: 40})
				if said := finding.Closes.In(r.Warnings); said != (closes && keeps) {
					t.Errorf("closes %v, is to keep %v: %v", closes, keeps, r.Warnings)
				}
			})
		}
	}
}
