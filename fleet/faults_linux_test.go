package fleet

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol"
)

// A worker whose machine has been up for a day longer begins when the others do.
func TestFaultsOfClocks(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "unshare")
	under := []string{"unshare", "--time", "--monotonic", "86400", "--boottime", "86400"}
	if err := exec.Command(under[0], append(under[1:], "true")...).Run(); err != nil {
		testenv.Hardware(t, err) // a kernel without time namespaces, or whoever may not make them
	}
	fault{under: append(under, "--fork", "--kill-child")}.test(t)
}

// A worker whose cable is pulled for 3 s, which is all that it has for its load, too, ends it a little later.
func TestFaultsOfCables(t *testing.T) {
	t.Parallel()
	fault{}.pull(t, 3*time.Second)
}

// The run of one whose cable stays out for longer than silence is refused.
func TestFaultsOfCablesForLong(t *testing.T) {
	t.Parallel()
	fault{lost: "gone"}.pull(t, pulledSilence+5*beat)
}

// pulledSilence is how long a coordinator is silent until a worker gives it up whose cable is out. As long as it is not,
// the worker waits as in all tests: on a full machine it may hear nothing for seconds.
const pulledSilence = 2 * beat

// pull pulls the cable of b for a while.
func (f fault) pull(t *testing.T, out time.Duration) {
	t.Helper()
	host, machines := testenv.Namespaces(t, 1)
	e, at, err := Serve(net.JoinHostPort(host, "0"), token, false) // with TLS
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s := &scenario{at: at, server: &counter{rows: map[string]int{}}}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.server.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(s.server.answer)}}
	s.server.Start()
	t.Cleanup(s.server.Close)
	work(t, at, Host{Name: "a"})
	_, tell := role{Play: "worker", Name: "b", At: at, Silence: pulledSilence}.run(t, machines[0].Command(os.Args[0]))
	var workers []Worker
	s.fleet, workers = gather(t, at, 2)
	session := open(t, s.fleet, workers, protocol.At(s.server.URL), 2)
	pulled := make(chan struct{})
	go func() {
		defer close(pulled)
		s.driven(t, iterations/10)
		machines[0].Link(false)
		if f.lost != "" {
			tell()
			age(s.fleet, "b")
		}
		select {
		case <-time.After(out):
		case <-t.Context().Done():
		}
		machines[0].Link(true)
	}()
	r, err := session.Run(t.Context(), load.Plan{VUs: 2, Iterations: iterations, Think: 10 * time.Millisecond, Grace: testenv.Patience})
	if err != nil {
		t.Fatal(err)
	}
	f.judge(t, s, r)
	<-pulled
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	if _, err := s.fleet.Wait(ctx, 2); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
