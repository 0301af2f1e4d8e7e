package faults_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"contend/guard/guardtest"
	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/counter/counterpb"
)

// serveOnce starts a server that takes one request on every connection, answers with
// text and ends the connection.
func serveOnce(t *testing.T, text string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = c.Write([]byte(text))
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}

func response(code int, header, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s", code, header, len(body), body)
}

func TestHTTPAnswers(t *testing.T) {
	good := fmt.Sprintf(`{"counter":7,"status":true,"lastChanged":%q}`, time.Now().UTC().Format(time.RFC3339))
	for name, test := range map[string]struct {
		text string
		want kind
	}{
		"good":                     {response(200, "", good), acknowledged},
		"flag of another change":   {response(200, "", strings.Replace(good, "true", "false", 1)), wrong},
		"time of another day":      {response(200, "", `{"counter":7,"status":true,"lastChanged":"2023-12-11T04:45:08Z"}`), wrong},
		"no status":                {response(200, "", `{"counter":7.5}`), wrong},
		"cut off":                  {response(200, "", good)[:60], indeterminate},
		"nothing":                  {"", indeterminate},
		"unavailable":              {response(503, "Retry-After: 1\r\n", `{"error":"no Redis"}`), refused},
		"unavailable for how long": {response(503, "", `{"error":"no Redis"}`), wrong},
		"indeterminate":            {response(504, "", `{"error":"no answer","indeterminate":true}`), indeterminate},
		"a gateway's timeout":      {response(504, "", `{"error":"no answer"}`), wrong},
		"internal fault":           {response(500, "", `{"error":"internal fault"}`), wrong},
		"not HTTP":                 {"hello\r\n\r\n", indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			d := &httpDoor{addr: serveOnce(t, test.text), path: "/status"}
			defer d.close()
			said := d.increment(t.Context(), 1, "an-id")
			if said.kind != test.want || said.kind == acknowledged && said.value != 7 || (said.err == nil) != (said.kind == acknowledged) {
				t.Errorf("got %+v: want kind %d", said, test.want)
			}
		})
	}
	d := &httpDoor{addr: testenv.HeldAddress(t), path: "/status"}
	if said := d.increment(t.Context(), 1, ""); said.kind != refused {
		t.Errorf("nobody there: got %+v, want a refusal", said)
	}
}

// A scripted service answers with a text or an error.
type scripted struct {
	counterpb.UnimplementedIncrementCounterServer
	message string
	err     error
	stop    func() // before the answer
}

func (s *scripted) Increment(context.Context, *counterpb.IncrementBy) (*counterpb.Status, error) {
	if s.stop != nil {
		s.stop()
	}
	return &counterpb.Status{Message: s.message}, s.err
}

func callOnce(t *testing.T, addr string) answer {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(witness{}), grpc.WithDisableRetry())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return newRPCDoor(c).increment(t.Context(), 3, "an-id")
}

func TestRPCAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		service scripted
		broken  bool
		want    kind
	}{
		"good":            {service: scripted{message: "Incremented value is 7"}, want: acknowledged},
		"another message": {service: scripted{message: "7"}, want: wrong},
		"no number":       {service: scripted{message: "Incremented value is x"}, want: wrong},
		"unavailable":     {service: scripted{err: status.Error(codes.Unavailable, "no Redis")}, want: refused},
		"indeterminate":   {service: scripted{err: status.Error(codes.DeadlineExceeded, "no answer")}, want: indeterminate},
		"internal fault":  {service: scripted{err: status.Error(codes.Internal, "fault")}, want: wrong},
		"broken":          {broken: true, want: indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			if test.broken {
				p := redistest.StartProxy(t, func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) })
				test.service.stop = func() { p.Sever(true) }
				counterpb.RegisterIncrementCounterServer(server, &test.service)
				go func() { _ = server.Serve(ln) }()
				defer server.Stop()
				if said := callOnce(t, p.Addr()); said.kind != test.want {
					t.Errorf("got %+v: want kind %d", said, test.want)
				}
				return
			}
			counterpb.RegisterIncrementCounterServer(server, &test.service)
			go func() { _ = server.Serve(ln) }()
			defer server.Stop()
			said := callOnce(t, ln.Addr().String())
			if said.kind != test.want || said.kind == acknowledged && said.value != 7 {
				t.Errorf("got %+v: want kind %d", said, test.want)
			}
		})
	}
	if said := callOnce(t, testenv.HeldAddress(t)); said.kind != refused {
		t.Errorf("nobody there: got %+v, want a refusal", said)
	}
}

// The judge sees each way of a shared counter to be wrong.
func TestJudge(t *testing.T) {
	did := func(caller int, value int64, start, end time.Duration) guardtest.Call {
		return guardtest.Call{Caller: caller, N: 1, Value: value, Start: start, End: end}
	}
	lost := guardtest.Call{Caller: 9, N: 1, End: 1, Err: errors.New("no answer")}
	for name, test := range map[string]struct {
		h     guardtest.History
		after int64
		right bool
	}{
		"right":                           {guardtest.History{did(0, 11, 0, 1), did(0, 12, 2, 3)}, 12, true},
		"one lost, which happened":        {guardtest.History{did(0, 11, 0, 1), lost}, 12, true},
		"one lost, which did not":         {guardtest.History{did(0, 11, 0, 1), lost}, 11, true},
		"a refusal that happened":         {guardtest.History{did(0, 11, 0, 1)}, 12, false},
		"an acknowledgement that did not": {guardtest.History{did(0, 11, 0, 1), did(0, 12, 2, 3)}, 11, false},
		"a value twice":                   {guardtest.History{did(0, 11, 0, 9), did(1, 11, 0, 9)}, 12, false},
		"a value left out":                {guardtest.History{did(0, 11, 0, 1), did(0, 13, 2, 3)}, 12, false},
		"values of the past":              {guardtest.History{did(0, 12, 0, 1), did(1, 11, 2, 3)}, 12, false},
		"a caller's past":                 {guardtest.History{did(0, 12, 0, 1), did(0, 11, 2, 3)}, 12, false},
	} {
		if err := judge(test.h, 10, test.after); (err == nil) != test.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}
