package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
)

func TestOpen(t *testing.T) {
	function := load.Func(func(context.Context) (load.Outcome, error) { return load.Outcome{}, nil })
	opener := Opener{Funcs: map[string]func() (load.Target, error){
		"noop": func() (load.Target, error) { return function, nil },
	}}
	for _, url := range []string{"http://localhost:1/", "https://localhost:1/", "http+unix:///tmp/none.sock:/",
		"ws://localhost:1/", "wss://localhost:1/", "guard:mutex", "guard:inputQ?kind=add-get", "pipe:chan?buffer=10", "func:noop"} {
		opened, err := opener.Open(t.Context(), Spec{URL: url})
		if err != nil || opened == nil {
			t.Errorf("%s: %v, %v", url, opened, err)
		}
		if c, ok := opened.(io.Closer); ok {
			c.Close()
		}
	}
}

func TestOpenMistakes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	tests := []struct {
		spec Spec
		want []string // all in the one error
	}{
		{Spec{URL: "localhost"}, []string{"no scheme", "grpc"}},
		{Spec{URL: "ftp://localhost/"}, []string{`"ftp"`, "http, https"}},
		{Spec{URL: "func:nothing"}, []string{"nothing"}},
		{Spec{URL: "guard:mutexx"}, []string{"mutexx", "mutex"}},
		{Spec{URL: "pipe:tube"}, []string{"tube", "chan"}},
		{Spec{URL: "guard:mutex", Method: "GET", Data: "x", Insecure: true}, []string{"method", "data", "insecure"}},
		{Spec{URL: "http://localhost/", Connections: "per-vu", Proto: []string{"a"}}, []string{"connections", "proto"}},
		{Spec{URL: "http://localhost/", Header: []string{"nocolon", ": empty"}}, []string{`"nocolon"`, `": empty"`}},
		{Spec{URL: "http://localhost/", Checks: []string{"bdy exists"}, RowOrder: "by-vu"}, []string{"bdy", "by-vu", "row_order needs rows"}},
		{Spec{URL: "http://localhost/", BasicAuth: "a:b", Bearer: "env:X"}, []string{"both basic_auth and bearer", "env:NAME", "no X"}},
		{Spec{URL: "http://localhost/", Engine: "loops", HTTP: "4", CertFile: missing}, []string{"engine", `"4"`, "go together", missing}},
		{Spec{URL: "https://localhost/", HTTP: "2", Rows: missing, NoKeepAlive: true}, []string{"no_keepalive", missing}},
		{Spec{URL: "https://localhost/", HTTP: "3", Checks: []string{"size > 1"}}, []string{"checks do not apply to HTTP/3 here"}},
		{Spec{URL: "ws://localhost/", Checks: []string{"status == 200"}}, []string{"neither status nor header"}},
		{Spec{URL: "ws://localhost/", Method: "GET", Match: "luck"}, []string{"method"}},
		{Spec{URL: "grpc://localhost:1/s/m", Stream: "for-ever", Mode: "send"}, []string{"for-ever", "mode"}},
		{Spec{URL: "http://localhost/", Data: "x", DataFile: "y"}, []string{"both data and data_file"}},
		{Spec{URL: "http://localhost/", DataFile: missing}, []string{missing}},
		{Spec{URL: "https://localhost/", CAFile: missing, Header: []string{"x"}}, []string{missing, `"x"`}},
		{Spec{URL: "grpc://localhost:1/s/m", Header: []string{"A-bin: !", "b-bin: YQ=="}}, []string{"header A-bin", "not base64"}},
		{Spec{URL: "grpc://localhost:1/s/m", ExpectStatus: []int{0, 1}, Connections: "many"}, []string{"one expected status", "many"}},
	}
	for _, tt := range tests {
		opened, err := Opener{}.Open(t.Context(), tt.spec)
		if err == nil || opened != nil {
			t.Errorf("%+v: opened %v, error %v", tt.spec, opened, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: error %q does not mention %q", tt.spec, err, want)
			}
		}
	}
}

func TestBinaryMetadata(t *testing.T) {
	got, err := Spec{Header: []string{"X: YQ==", "K-Bin: /wA=", "k-bin: /wA", "e-bin:"}}.metadata()
	want := map[string][]string{"x": {"YQ=="}, "k-bin": {"\xff\x00", "\xff\x00"}, "e-bin": {""}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// A gRPC server that is not there is not a mistake in the words.
func TestUnreachableGRPC(t *testing.T) {
	opened, err := Opener{}.Open(t.Context(), Spec{URL: "grpc://" + testenv.HeldAddress(t) + "/s/m"})
	var reached *load.Error
	if !errors.As(err, &reached) || reached.Kind != load.Refused || opened != nil {
		t.Errorf("opened %v, error %v; want kind refused", opened, err)
	}
}

func TestDataFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Opener{}).Open(t.Context(), Spec{URL: "http://localhost/", DataFile: file}); err != nil {
		t.Error(err)
	}
}

// No form of an error shows a secret.
func TestSecretsAreNotShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("do-not-show"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) { return "do-not-show", name == "SECRET" }
	for _, s := range []Spec{
		{URL: "http://localhost/", BasicAuth: "file:" + file}, // no user:password
		{URL: "http://localhost/", BasicAuth: "env:SECRET"},
		{URL: "http://localhost/", Bearer: "do-not-show"},
		{URL: "http://localhost/", BasicAuth: "do-not-show:password"},
		{URL: "grpc://localhost:1/s/m", Header: []string{"key-bin: do-not-show"}},
	} {
		_, err := Opener{Env: env}.Open(t.Context(), s)
		if err == nil || strings.Contains(err.Error(), "do-not-show") {
			t.Errorf("%v", err)
		}
	}
	if _, err := (Opener{Env: env}).Open(t.Context(), Spec{URL: "http://localhost/", Bearer: "env:SECRET"}); err != nil {
		t.Error(err)
	}
}

// A request without data sends the body of the spec.
func TestRequestsInheritTheBody(t *testing.T) {
	bodies := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.Method + " " + string(body)
	}))
	defer server.Close()
	opened, err := Opener{}.Open(t.Context(), Spec{URL: server.URL + "/", Method: "POST", Data: "common",
		Requests: []Request{{Name: "a"}, {Name: "b", Data: "own"}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := load.Run(t.Context(), "test", opened, load.Plan{VUs: 1, Iterations: 2})
	if err != nil || r.Completed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	got := []string{<-bodies, <-bodies}
	slices.Sort(got)
	if want := []string{"POST common", "POST own"}; !slices.Equal(got, want) {
		t.Errorf("bodies %q, want %q", got, want)
	}
}

// Event loops leave half of the cores to a server on this machine, unless it has
// others.
func TestOwnCores(t *testing.T) {
	if ok, why := loop.Supported(); !ok {
		t.Skip(why)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for own, want := range map[bool]int{false: 2, true: 4} {
		opened, err := Opener{OwnCores: own}.Open(t.Context(), Spec{URL: "http://127.0.0.1:1/"})
		if err != nil {
			t.Fatal(err)
		}
		if got, why := opened.(load.LoopTarget).Loops(100); got != want {
			t.Errorf("own cores %v: %d loops (%s), want %d", own, got, why, want)
		}
	}
}
