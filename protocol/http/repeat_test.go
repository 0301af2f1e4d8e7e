package http

import (
	"errors"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"contend/errkind"
	"contend/finding"
	"contend/h2"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire/wiretest"
)

// leaving is a server of HTTP/2 that takes so many requests on a connection and
// then refuses the others: by GOAWAY, or else stream by stream.
func leaving(requests int, goAway bool) func(net.Conn) {
	end := uint32(2 * requests) // streams have odd numbers
	return wiretest.Streams(func(s wiretest.Stream) {
		switch {
		case s.ID < end:
			_ = s.Headers(true, ":status", "200")
		case !goAway:
			_ = s.WriteRSTStream(s.ID, http2.ErrCodeRefusedStream)
		}
		if goAway && s.ID == end-1 {
			_ = s.WriteGoAway(end-1, http2.ErrCodeNo, nil)
		}
	})
}

// A request that a server says it did not process is sent again, and nobody
// loses by it.
func TestAServerThatLeavesCostsNoRequest(t *testing.T) {
	t.Parallel()
	url := "http://" + wiretest.Listen(t, leaving(40, true))
	for _, requests := range [][]Request{nil, {{Name: "a", Weight: 2}, {Name: "b"}}} {
		for _, connections := range []int{0, 1, 4} {
			c := Config{URL: url, HTTP2: true, Connections: connections, Requests: requests}
			r := runLoop(t, c, load.Plan{VUs: 20, Iterations: 900, Timeout: testenv.Patience})
			if r.Completed != 900 || r.Planned != 900 {
				t.Errorf("%d connections: completed %d of %d, errors %v %v", connections, r.Completed, r.Planned, r.Errored, r.Examples)
			}
			if r.Parted == 0 && connections == 1 || r.Parted > 0 && (r.PartedLeast != 40 || r.PartedMost != 40) {
				t.Errorf("%d connections: %d ended after %d to %d requests, want 40", connections, r.Parted, r.PartedLeast, r.PartedMost)
			}
			if connections == 1 && !finding.KeepaliveLimit.In(r.Warnings) {
				t.Errorf("no warning names the limit: %v", r.Warnings)
			}
			if a := r.Requests["a"]; requests != nil && a.Service.Count() != 600 {
				t.Errorf("%d connections: %d times request a, want 600", connections, a.Service.Count())
			}
		}
	}
}

// A server that never processes anything gets the request so often, and not more.
func TestARequestIsRepeatedTwice(t *testing.T) {
	url := "http://" + wiretest.Listen(t, leaving(0, false))
	r := runLoop(t, Config{URL: url, HTTP2: true}, load.Plan{VUs: 2, Iterations: 10, Timeout: testenv.Patience})
	if r.Errored[errkind.Closed] != 10 || !strings.Contains(r.Examples[errkind.Closed], "REFUSED_STREAM") {
		t.Errorf("completed %d, errors %v %v", r.Completed, r.Errored, r.Examples)
	}
}

func TestAnUnprocessedErrorKeepsItsKind(t *testing.T) {
	err := error(&loop.Unprocessed{Err: h2.ErrUnprocessed})
	if errkind.Of(err) != errkind.Closed || !errors.Is(err, h2.ErrUnprocessed) || err.Error() != h2.ErrUnprocessed.Error() {
		t.Errorf("%v is of kind %v", err, errkind.Of(err))
	}
}
