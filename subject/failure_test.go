package subject

import (
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"contend/failure"
	"contend/internal/testenv"
)

// The error of a subject that does not start carries values, from which pages are made.
func TestFailuresAreValues(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer listener.Close()
	there := listener.Addr().String()
	insists, silent := role("hang"), role("hang", "{{addr}}")
	insists.At, silent.StartTimeout = there, 100*time.Millisecond
	three, none := 3, 0
	for _, tt := range []struct {
		cfg   Config
		want  failure.Failure // without last words
		words string          // the last of them
	}{
		{Config{Command: []string{"/no/such"}}, failure.Failure{Server: "such", Kind: failure.NoProgram, Program: "/no/such"}, ""},
		{Config{Command: []string{"no-such-program"}}, failure.Failure{Server: "no-such-program", Kind: failure.NoProgram, Program: "no-such-program"}, ""},
		{with(role("fail", "the reason"), Ready{Log: "never"}), failure.Failure{Server: "fail", Kind: failure.Exited, Exit: &three, Cause: "not ready: exited on its own: exit status 3", Stream: "stderr"}, "the reason"},
		{with(role("end"), Ready{Log: "x"}), failure.Failure{Server: "end", Kind: failure.Exited, Exit: &none, Cause: "not ready: exited on its own: exit status 0", More: "it wrote nothing"}, ""},
		{insists, failure.Failure{Server: "hang", Kind: failure.AddressTaken, Address: there}, ""},
		{silent, failure.Failure{Server: "hang", Kind: failure.NotReady, More: "it wrote nothing"}, ""},
	} {
		_, err := Start(t.Context(), tt.cfg)
		checkFailure(t, err, tt.want, tt.words)
	}
}

// So does the error of one that was ready and ended.
func TestDeathIsAValue(t *testing.T) {
	s := started(t, with(role("log", "stderr"), Ready{Log: "listening"}))
	testenv.Must(t, must(os.FindProcess(s.PID())).Kill())
	ended(t, s)
	if got, _ := failure.Of(s.Err()); got.Lived <= 0 || got.Lived > time.Since(s.launched) {
		t.Errorf("it lived for %v", got.Lived)
	}
	checkFailure(t, s.Err(), failure.Failure{Server: "log", Kind: failure.Exited, Cause: "exited on its own: signal: killed", Stream: "stderr"}, "listening on port 7")
}

// checkFailure compares all that is wanted, and any cause where none is.
func checkFailure(t *testing.T, err error, want failure.Failure, word string) {
	t.Helper()
	got, ok := failure.Of(err)
	same := got.Server == want.Server && got.Kind == want.Kind && got.Program == want.Program && got.Address == want.Address &&
		got.More == want.More && got.Stream == want.Stream && (want.Cause == "" || got.Cause == want.Cause)
	exits := (got.Exit == nil) == (want.Exit == nil) && (got.Exit == nil || *got.Exit == *want.Exit)
	if !ok || !same || !exits || word != "" && !slices.Contains(got.LastWords, word) {
		t.Errorf("%v carries %+v, want %+v and %q", err, got, want, word)
	}
}
