package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"contend/failure"
	"contend/load"
	"contend/report/former"
	"contend/trial"
)

// The advice about a server that does not answer follows from the system's error.
func TestToReach(t *testing.T) {
	for _, tt := range []struct{ at, before, want string }{
		{"http://h:1/", "connection refused", "start the server"},
		{"http://h:1/", "lookup h on 10.0.0.1:53: no such host", "correct the name"},
		{"http://h:1/", "lookup h: i/o timeout", "correct the name"},
		{"http://h:1/", "no connection within 10s", "allow more time (--timeout)"},
		{"http://h:1/", "cannot assign requested address", "local ports of this machine are in use"},
		{"http://[::1]:1/", "cannot assign requested address", "no IPv6 address"},
		{"http://[fe80::1]:1/", "invalid argument", "zone"},
		{"http+unix:///x.sock:/", "no such file or directory", "makes this socket"},
		{"http+unix:///x.sock:/", "permission denied", "as a user who may"},
		{"http://[2001:db8::1]:1/", "network is unreachable", "a way to that network"},
		{"http://h:1/", "no route to host", "a way to that host"},
		{"http://h:1/", "too many open files", "ulimit -n"},
		{"https://h:1/", "transport closed: read udp 127.0.0.1:2: recvmmsg: connection refused", "speaks HTTP/3"},
		{"https://h:1/", "TLS handshake: remote error: tls: internal error", "says of the handshake"},
		{"https://h:1/", "the proxy http://p:1: dial tcp 127.0.0.1:1: connect: connection refused", "NO_PROXY"},
	} {
		f := former.Failures("cannot reach "+tt.at+": "+tt.before, nil)[0]
		if got := toReach(f); f.Address != tt.at || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %q, want %q in it", tt.at, tt.before, got, tt.want)
		}
	}
}

// A method that is not allowed is the one to change.
func TestAdviceOnAMethodThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	r := &load.Result{Target: "http://h/", Counts: load.Counts{Planned: 9, Failed: 9, Statuses: map[int]int64{405: 5, 500: 4}}}
	if got := (&Document{Command: "run"}).toFix(trial.Cell{Result: r}).Purpose; !strings.Contains(got, "(-X)") {
		t.Errorf("%q", got)
	}
}

// A WebSocket has no status that could be declared right.
func TestAdviceNamesWhatAppliesToTheProtocol(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{"ws://h/": "(--check)", "http://h/": "(--expect-status, --check)"} {
		r := &load.Result{Target: target, Counts: load.Counts{Planned: 1, Failed: 1}}
		if got := (&Document{Command: "run"}).toFix(trial.Cell{Result: r}).Purpose; !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q at its end", target, got, want)
		}
	}
}

// A failure is in the document as text and as values.
func TestFail(t *testing.T) {
	err := fmt.Errorf("start: %w", failure.With(errors.New("not ready"), failure.Failure{Kind: failure.NotReady}))
	var d Document
	var e Experiment
	d.Fail(err)
	e.Fail(err)
	if d.Failure != err.Error() || len(d.Failures) != 1 || e.Error != err.Error() || e.Status != "failed" || len(e.Failures) != 1 {
		t.Errorf("%q %+v; %+v", d.Failure, d.Failures, e)
	}
}
