package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/loop"
	"contend/protocol/wire"
	"contend/protocol/wire/wiretest"
	"contend/setting"
)

// A setting that several schemes know is one flag: it is described once, and has
// one form.
func TestSettingsAreDescribedOnce(t *testing.T) {
	type place struct{ words, form string }
	found := map[string]place{}
	for _, f := range families {
		for _, s := range setting.Of(f.config()) {
			known, again := found[s.Path]
			switch {
			case !again:
				found[s.Path] = place{s.Words, s.Flag}
			case known.words != "" && s.Words != "" && known.words != s.Words:
				t.Errorf("%s is described twice: %q and %q", s.Path, known.words, s.Words)
			case s.Flag != known.form:
				t.Errorf("%s has the flags %q and %q", s.Path, known.form, s.Flag)
			}
		}
	}
	for _, s := range Settings() {
		if s.Words == "" && s.Flag != "" {
			t.Errorf("%s is not described", s.Path)
		}
		if strings.HasSuffix(s.Words, "("+s.Argument+")") {
			t.Errorf("%s: %q names the value outside of the sentence", s.Path, s.Words)
		}
	}
}

// The manual says of every field which targets know it.
func TestManualSaysWhatAFieldIsFor(t *testing.T) {
	manual, err := os.ReadFile("../docs/experiment-file.md")
	testenv.Must(t, err)
	_, section, _ := strings.Cut(string(manual), "\n## target\n")
	section, _, _ = strings.Cut(section, "\n## ")
	said := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+?)` \\| (.+?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], "`, `") {
			said[name] = row[2]
		}
	}
	called := map[string]string{"http": "HTTP", "grpc": "gRPC", "ws": "WebSocket", "tcp": "TCP"}
	for _, s := range Settings() {
		var knowing []string
		for _, f := range families {
			if slices.ContainsFunc(setting.Of(f.config()), func(own setting.Setting) bool { return own.Path == s.Path }) {
				knowing = append(knowing, cmp.Or(called[f.words()[0]], f.words()[0]))
			}
		}
		want := strings.Join(knowing, ", ")
		if len(knowing) == len(families) {
			want = "all"
		}
		if said[s.Path] != want {
			t.Errorf("%s is for %q, want %q", s.Path, said[s.Path], want)
		}
		delete(said, s.Path)
	}
	if len(said) > 0 {
		t.Errorf("no target knows %v", said)
	}
}

func TestAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://localhost/x": "localhost:80", "https://h/": "h:443", "ws://h/": "h:80", "wss://h": "h:443",
		"http://127.0.0.1:8080/": "127.0.0.1:8080", "http://[::1]:8080/": "[::1]:8080", "grpc://h:50055/p.S/M": "h:50055", "tcp://h:7": "h:7",
		"guard:mutex": "", "pipe:spsc": "", "http+unix:///run/x.sock": "", "http://%zz/": "", "tcp://h": "",
	} {
		if got := At(url).Address(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// A command line is neither a script nor a URL, however it ends and whatever it names.
func TestWhatAWordIs(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.Must(t, os.WriteFile("my flow.js", nil, 0o600))
	for word, want := range map[string]struct{ script, url bool }{
		"flow.js":                             {script: true},
		"./flow.mjs":                          {script: true},
		"/a/b.ts":                             {script: true}, // the error then says that it is missing
		"my flow.js":                          {script: true}, // which exists
		"node a.js":                           {},
		"./my server.js":                      {},
		"deno run -A x.ts":                    {},
		"node 'my server.js'":                 {},
		"node a.js --db redis://h/ x.js":      {},
		"./server -db postgres://h/x":         {},
		"DB=redis://h ./server":               {},
		"./server.mjs --x":                    {},
		"http://h/app.js":                     {url: true},
		"grpc://h:1/a.B/C":                    {url: true},
		"http+unix:///a.sock:/":               {url: true},
		"node\ta.js":                          {},
		"npx tsx --tsconfig x.json server.ts": {},
	} {
		if script, url := IsScript(word), IsURL(word); script != want.script || url != want.url {
			t.Errorf("%q: script %v, URL %v; want %+v", word, script, url, want)
		}
	}
}

func TestTargetsOverride(t *testing.T) {
	below := At("http://a/").With("method", "PUT").With("header", "A: b")
	over := Target{}.With("url", "http://b/").With("header").Over(below)
	if over.URL() != "http://b/" || over.Get("method") != "PUT" || over.Get("header") != "" || below.Get("header") != "A: b" {
		t.Errorf("%v over %v", over, below)
	}
	testenv.Must(t, over.Validate())
}

// A mistake knows where its value was given, whichever layer gave it.
func TestMistakesHaveTheirPlace(t *testing.T) {
	at := func(line int, texts ...string) setting.Value {
		v := setting.Value{Texts: texts}
		for i := range texts {
			v.Places = append(v.Places, setting.Place{Line: line, Column: i + 1})
		}
		return v
	}
	target := Target{"http": at(3, "4"), "checks": at(5, "size > 1", "bdy exists"), "wieght": at(6, "1")}.
		Over(Target{"url": at(1, "http://h/"), "proto": at(2, "a.proto"), "requests": {Items: []setting.Values{{"nmae": at(7, "a")}}}})
	want := []string{
		`7:1 requests[0].nmae: is not known; expected name, weight, path, method, data, header, expect_status, checks (did you mean "name"?)`,
		`3:1 http: is "4"; expected 1.1, 2 or 3`,
		`2:1 proto: does not apply to http, https, http+unix; expected with grpc, grpcs`,
		`6:1 wieght: is not known`,
		`5:2 checks[1]: is "bdy exists", position 1: what is checked is "bdy"; expected`,
	}
	plain := Target{"url": at(1, "http://h/"), "insecure": at(2, "true")}
	_, opened := Opener{}.Open(t.Context(), plain)
	want = append(want, `2:1 insecure: requires an https URL`, `4:2 header[1]: key is "grpc-x", whose prefix grpc- is reserved`)
	call := Target{"url": at(3, "grpc://h:1/a.B/c"), "header": at(4, "a: b", "grpc-x: c")}
	var got []string
	for _, m := range setting.Mistakes(errors.Join(target.Validate(), opened, call.Validate())) {
		got = append(got, fmt.Sprintf("%d:%d %s: %s", m.At.Line, m.At.Column, m.Path(), m.Text()))
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A setting for which a version of HTTP has no field is refused, whoever would send it.
func TestConnectionFieldsAreRefused(t *testing.T) {
	for _, name := range []string{"Connection", "keep-alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "TE"} {
		for _, version := range []string{"2", "3"} {
			target := At("https://h/").With("http", version).With("header", "A: b", name+": x")
			for _, target := range []Target{target, target.With("engine", "goroutines")} {
				want := "header " + name + " is not possible in HTTP/2 and HTTP/3, where connections have no fields"
				if found := setting.Mistakes(target.Validate()); len(found) != 1 || found[0].Error() != want || found[0].Index != 1 {
					t.Errorf("%v: got %v, want %s", target, found, want)
				}
			}
		}
	}
	allowed := At("https://h/").With("http", "2").With("header", "TE: trailers", "Content-Length: 1").With("data", "x")
	testenv.Must(t, allowed.Validate())
}

func TestOpen(t *testing.T) {
	function := load.Func(func(context.Context) (load.Outcome, error) { return load.Outcome{}, nil })
	opener := Opener{Funcs: map[string]func() (load.Target, error){
		"noop": func() (load.Target, error) { return function, nil },
	}}
	for _, url := range []string{"http://localhost:1/", "https://localhost:1/", "http+unix:///tmp/none.sock:/",
		"ws://localhost:1/", "wss://localhost:1/", "guard:mutex", "guard:inputQ?kind=add-get", "pipe:chan?buffer=10", "func:noop"} {
		opened, err := opener.Open(t.Context(), At(url))
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
		spec Target
		want []string // all in the one error
	}{
		{At("localhost"), []string{"no scheme", "grpc"}},
		{At("localhost:8080"), []string{"no scheme", `did you mean "http://localhost:8080"?`}},
		{At("10.0.0.1:80/path"), []string{`did you mean "http://10.0.0.1:80/path"?`}},
		{At("htp://localhost:8080"), []string{`the scheme "htp"`, `did you mean "http"?`}},
		{At("guards:2x"), []string{`the scheme "guards"`}},
		{At("ftp://localhost/"), []string{`"ftp"`, "http, https"}},
		{At("func:nothing"), []string{"nothing"}},
		{At("guard:mutexx"), []string{"mutexx", "mutex"}},
		{At("pipe:tube"), []string{"tube", "chan"}},
		{At("guard:mutex").With("method", "GET").With("data", "x").With("insecure", "true"), []string{"method", "data", "insecure"}},
		{At("http://localhost/").With("connections", "shared:2").With("proto", "a"), []string{"connections does not apply to HTTP/1.1", "proto does not apply to http, https, http+unix; expected with grpc, grpcs"}},
		{At("http://localhost/").With("header", "nocolon", ": empty"), []string{`"nocolon"`, `": empty"`}},
		{At("http://localhost/").With("checks", "bdy exists").With("row_order", "by-vu"), []string{"bdy", "by-vu"}},
		{At("http://localhost/").With("row_order", "per-vu"), []string{"row_order is per-vu, which needs rows"}},
		{At("http://localhost/").With("basic_auth", "env:Y").With("bearer", "env:X"), []string{"bearer cannot be combined with basic_auth", "no X", "no Y"}},
		{At("http://localhost/").With("basic_auth", "a:b"), []string{"env:NAME"}},
		{At("http://localhost/").With("engine", "loops").With("http", "4").With("cert_file", missing), []string{"engine", `"4"`, "go together", missing}},
		{At("https://localhost/").With("http", "2").With("rows", missing).With("no_keepalive", "true"), []string{"no_keepalive", missing}},
		{At("https://localhost/").With("http", "3").With("checks", "size > 1"), []string{"checks do not apply to HTTP/3 here"}},
		{At("ws://localhost/").With("checks", "status == 200"), []string{"neither status nor header"}},
		{At("ws://localhost/").With("method", "GET").With("match", "luck"), []string{"method"}},
		{At("grpc://localhost:1/s/m").With("stream", "for-ever").With("mode", "send"), []string{"for-ever", "mode"}},
		{At("http://localhost/").With("data", "x").With("data_file", "y"), []string{"data_file cannot be combined with data"}},
		{At("http://localhost/").With("data_file", missing), []string{missing}},
		{At("https://localhost/").With("ca_file", missing).With("header", "x"), []string{missing, `"x"`}},
		{At("grpc://localhost:1/s/m").With("header", "A-bin: !", "b-bin: YQ=="), []string{"A-bin is wrong", "not base64"}},
		{At("grpc://localhost:1/s/m").With("expect_status", "0", "1").With("connections", "many"), []string{"expect_status has 2 values; expected one", "many"}},
	}
	for _, tt := range tests {
		opened, err := Opener{}.Open(t.Context(), tt.spec)
		if opened != nil {
			t.Errorf("opened %v, %v", opened, err)
		}
		testenv.Says(t, err, tt.want...)
	}
}

// A gRPC server that does not respond is not a mistake in the words.
func TestUnreachableGRPC(t *testing.T) {
	opened, err := Opener{}.Open(t.Context(), At("grpc://"+testenv.HeldAddress(t)+"/s/m"))
	var reached *errkind.Error
	if !errors.As(err, &reached) || reached.Kind != errkind.Refused || opened != nil {
		t.Errorf("opened %v, error %v; want kind refused", opened, err)
	}
}

// Checking whether a server responds takes a connection and no request, whatever
// drives the target.
func TestReach(t *testing.T) {
	server := wiretest.BothVersions(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s", r.Method, r.URL)
	}))
	wiretest.Started(t, server)
	there, away := server.Listener.Addr().String(), testenv.HeldAddress(t)
	call := Target{}.With("proto", "../systems/counter/counterpb/counter.proto")
	for _, tt := range []struct {
		scheme, path string
		target       Target
	}{
		{"http", "/", Target{}},
		{"http", "/", Target{}.With("engine", "goroutines")},
		{"http", "/", Target{}.With("http", "2")},
		{"http", "/", Target{}.With("http", "2").With("engine", "goroutines")},
		{"ws", "/", Target{}},
		{"tcp", "", Target{}.With("data", "x").With("length", "1")},
		{"grpc", "/counter.incrementCounter/increment", call},
		{"grpc", "/counter.incrementCounter/increment", call.With("engine", "goroutines")},
	} {
		for _, address := range []string{there, away} {
			target := tt.target.With("url", tt.scheme+"://"+address+tt.path)
			opened, err := Opener{}.Open(t.Context(), target)
			testenv.Must(t, err)
			err = load.Reach(t.Context(), "test", opened, 0)
			if address == there && err != nil || address == away && errkind.Of(err) != errkind.Refused {
				t.Errorf("%v: %v", target, err)
			}
			if c, ok := opened.(io.Closer); ok {
				c.Close()
			}
		}
	}
}

func TestDataFile(t *testing.T) {
	file := testenv.Files(t, "body", "hello")
	if _, err := (Opener{}).Open(t.Context(), At("http://localhost/").With("data_file", file)); err != nil {
		t.Error(err)
	}
}

// No form of an error shows a secret.
func TestSecretsAreNotShown(t *testing.T) {
	file := testenv.Files(t, "secret", "do-not-show")
	env := func(name string) (string, bool) { return "do-not-show", name == "SECRET" }
	for _, s := range []Target{
		At("http://localhost/").With("basic_auth", "file:"+file), // no user:password
		At("http://localhost/").With("basic_auth", "env:SECRET"),
		At("http://localhost/").With("bearer", "do-not-show"),
		At("http://localhost/").With("basic_auth", "do-not-show:password"),
		At("grpc://localhost:1/s/m").With("header", "key-bin: do-not-show"),
	} {
		_, err := Opener{Surroundings: wire.Surroundings{Env: env}}.Open(t.Context(), s)
		if err == nil || strings.Contains(err.Error(), "do-not-show") {
			t.Errorf("%v", err)
		}
	}
	if _, err := (Opener{Surroundings: wire.Surroundings{Env: env}}).Open(t.Context(), At("http://localhost/").With("bearer", "env:SECRET")); err != nil {
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
	text := func(s string) setting.Value { return setting.Value{Texts: []string{s}} }
	target := At(server.URL+"/").With("method", "POST").With("data", "common")
	target["requests"] = setting.Value{Items: []setting.Values{{"name": text("a")}, {"name": text("b"), "data": text("own")}}}
	opened, err := Opener{}.Open(t.Context(), target)
	testenv.Must(t, err)
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
	wiretest.Needs(t, loop.Supported)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for own, want := range map[bool]int{false: 2, true: 4} {
		opened, err := Opener{Surroundings: wire.Surroundings{OwnCores: own}}.Open(t.Context(), At("http://127.0.0.1:1/"))
		testenv.Must(t, err)
		if got, why := opened.(load.LoopTarget).Loops(100); got != want {
			t.Errorf("own cores %v: %d loops (%s), want %d", own, got, why, want)
		}
	}
}
