package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"contend/internal/testenv"
	"contend/report"
)

// marker is a secret that is not found by its form.
const marker = "m4rker+of/a secret?"

// A witness is a server that repeats each request in a response of status 403, and remembers it.
type witness struct {
	*httptest.Server
	mu  sync.Mutex
	got string
}

func newWitness(t *testing.T) *witness {
	w := &witness{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := fmt.Sprint(r.URL, r.URL.Query(), r.Header, string(body))
		w.mu.Lock()
		w.got += said
		w.mu.Unlock()
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			to.Header().Set("Content-Type", "application/grpc")
			to.Header().Set("Grpc-Status", "7")
			to.Header().Set("Grpc-Message", said)
			return
		}
		to.WriteHeader(http.StatusForbidden)
		io.WriteString(to, said)
	}))
	w.Config.Protocols = new(http.Protocols)
	w.Config.Protocols.SetHTTP1(true)
	w.Config.Protocols.SetUnencryptedHTTP2(true)
	w.Start()
	t.Cleanup(w.Close)
	return w
}

// heard returns the requests since the last call.
func (w *witness) heard() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.got
	w.got = ""
	return got
}

// writeFiles writes files into a new folder.
func writeFiles(t *testing.T, files map[string]string) (folder string) {
	folder = t.TempDir()
	for name, content := range files {
		testenv.Write(t, filepath.Join(folder, name), content)
	}
	return folder
}

// waysIn are command lines with the marker. %s is host and port of the witness.
var waysIn = map[string][]string{
	"authorization": {"run", "-H", "Authorization: Bearer " + marker, "http://%s/"},
	"attached":      {"run", "--header=authorization: " + marker, "http://%s/"},
	"cookie":        {"run", "-H", "Cookie: id=" + marker, "http://%s/"},
	"key":           {"run", "-H", "X-Api-Key: " + marker, "http://%s/"},
	"token":         {"run", "-H", "token: " + marker, "http://%s/"},
	"json":          {"run", "-X", "POST", "--data", `{"password": "` + marker + `"}`, "http://%s/"},
	"escaped":       {"run", "-X", "POST", "--data", `{"password": "m4rker+of\/a secret?"}`, "http://%s/"},
	"form":          {"run", "-X", "POST", "--data", "a=b&client_secret=m4rker%%2Bof%%2Fa%%20secret%%3F", "http://%s/"},
	"query":         {"run", "http://%s/?a=b&access_token=m4rker%%2Bof%%2Fa%%20secret%%3F&c=d"},
	"http2":         {"run", "--http", "2", "-H", "Authorization: Bearer " + marker, "http://%s/"},
	"goroutines":    {"run", "--engine", "goroutines", "-H", "Authorization: Bearer " + marker, "http://%s/"},
	"no colon":      {"run", "-H", "X-Api-Key " + marker, "http://%s/"},
	"body":          {"run", "-X", "POST", "--data-file", "body.json", "http://%s/"},
	"requests":      {"run", "--requests", "requests.json", "http://%s/"},
	"rows":          {"run", "--rows", "rows.csv", "-H", "A: {{password}}", "http://%s/"},
	"lines":         {"run", "--rows", "rows.jsonl", "-H", "A: {{pass}}", "http://%s/"},
	"basic":         {"run", "--basic-auth", "env:MARKED_PAIR", "http://%s/"},
	"bearer":        {"run", "--bearer", "file:bearer", "http://%s/"},
	"variable":      {"run", "-e", "API_TOKEN=" + marker, "variable.js"},
	"script":        {"run", "script.js"},
	"assembled":     {"run", "assembled.js"},
	"metadata":      {"run", "-H", "authorization: " + marker, "--data", "{}", "--proto", "s.proto", "grpc://%s/p.S/M"},
	"websocket":     {"run", "-H", "Authorization: Bearer " + marker, "ws://%s/"},
	"ab":            {"ab", "-H", "Authorization: Bearer " + marker, "http://%s/"},
	"ab's pair":     {"ab", "-A", "user:" + marker, "http://%s/"},
	"ab's cookie":   {"ab", "-C", "id=" + marker, "http://%s/"},
	"ab's query":    {"ab", "http://%s/?token=m4rker%%2Bof%%2Fa%%20secret%%3F"},
	"experiment":    {"lab", "experiment.yaml"},
	"level":         {"sweep", "--levels", "1,2", "-d", "3s", "--think", "5ms", "-H", "Authorization: Bearer " + marker, "http://%s/"},
	"command":       {"run", "--command", "sh server.sh --password '" + marker + "'", "http://{{addr}}/"},
	"before":        {"compare", "-d", "1h", "--url", "http://{{addr}}/", "--", "PASSWORD='" + marker + "' sh server.sh", "sh server.sh"},
	"environment":   {"compare", "-d", "1h", "--env", "A:PASSWORD=" + marker, "--url", "http://{{addr}}/", "--", "sh server.sh", "sh server.sh"},
}

// By every way in, the marker gets to the server, and it is in no output: not in what is printed,
// not in any file, and not in what contend report makes of these.
func TestSecretsGoOnlyToTheServer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("servers are scripts of sh")
	}
	w := newWitness(t)
	at := w.Listener.Addr().String()
	const js = `import http from 'k6/http'; import { check } from 'k6';
export default function () { const r = http.get('http://%s/', { headers: { Authorization: %s } }); check(r, { [r.body]: () => false }) }`
	files := map[string]string{
		"body.json": `{"a": {"api_key": "` + marker + `"}}`, "bearer": "m4rker+of/a_secret",
		"requests.json": `[{"name": "a", "path": "/", "header": ["X-Auth-Token: ` + marker + `"]}]`,
		"rows.csv":      "user,password\nu," + marker + "\n", "rows.jsonl": `{"user": "u", "pass": "` + marker + `"}` + "\n",
		"variable.js": fmt.Sprintf(js, at, "__ENV.API_TOKEN"), "script.js": fmt.Sprintf(js, at, "'Bearer "+marker+"'"), "assembled.js": fmt.Sprintf(js, at, "'Bearer m4' + '"+strings.TrimPrefix(marker, "m4")+"'"),
		"s.proto":         `syntax = "proto3"; package p; message N {} service S { rpc M(N) returns (N); }`,
		"experiment.yaml": "id: x\ntitle: t\narms: {a: {target: {url: 'http://" + at + "/a'}}, b: {target: {url: 'http://" + at + "/b'}}}\ntarget:\n  header: ['X-Api-Key: " + marker + "']\nload: {vus: [1], think: 20ms}\ncompare: {baseline: a, duration: 2s}\n",
		"server.sh":       "echo $2 $PASSWORD >>heard; echo refused $2 $PASSWORD >&2; exit 1\n",
	}
	for name, args := range waysIn {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MARKED_PAIR", "user:"+marker)
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			folder := writeFiles(t, files)
			t.Chdir(folder)
			t.Setenv(summaryVariable, filepath.Join(folder, "summary.md"))
			w.heard()
			code, out := hears(t, w, args)
			heard := w.heard()
			if said, err := os.ReadFile("heard"); err == nil {
				heard += string(said)
			}
			marked := base64.StdEncoding.EncodeToString([]byte("user:" + marker))
			if name != "no colon" && !strings.Contains(heard, "m4rker") && !strings.Contains(heard, marked) {
				t.Errorf("exit code %d: the server never got it, but %q:\n%s", code, heard, out["printed"])
			}
			for place, text := range out {
				for _, form := range []string{"m4rker", marked} {
					if before, after, found := strings.Cut(text, form); found {
						t.Errorf("it is in %s: …%s%s%s…", place, before[max(0, len(before)-100):], form, after[:min(len(after), 50)])
					}
				}
			}
		})
	}
}

// hears runs a command line and returns its outputs by their places.
func hears(t *testing.T, w *witness, args []string) (code int, out map[string]string) {
	var line []string
	for _, word := range args {
		if strings.Contains(word, "%") {
			word = strings.ReplaceAll(strings.Replace(word, "%s", w.Listener.Addr().String(), 1), "%%", "%")
		}
		line = append(line, word)
	}
	document := []string{"-o", "d.json"}
	if args[0] != "ab" {
		document = append(document, waysOut...)
	}
	if args[0] == "run" {
		document = append(document, "-c", "1", "-n", "2")
	}
	line = slices.Insert(line, 1, document...)
	var printed, said lines
	code = Main(t.Context(), line, Streams{&printed, &said})
	out = map[string]string{"printed": printed.String() + said.String()}
	if code == exitUsage {
		return code, out
	}
	for _, f := range report.Format("").Values() {
		var again, said lines
		if code := Main(t.Context(), []string{"report", "--format", f, "d.json"}, Streams{&again, &said}); code != exitDone {
			t.Errorf("report --format %s ends with %d:\n%s", f, code, said.String())
		}
		out["report --format "+f] = again.String() + said.String()
	}
	entries, _ := os.ReadDir(".")
	for _, e := range entries {
		if content, _ := os.ReadFile(e.Name()); strings.HasPrefix(e.Name(), "d.") || strings.HasPrefix(e.Name(), "summary") {
			out[e.Name()] = string(content)
		}
	}
	for _, file := range document {
		if _, written := out[file]; !written && strings.HasPrefix(file, "d.") {
			t.Errorf("there is no %s", file)
		}
	}
	return code, out
}

// waysOut are the files that every command writes that measures.
var waysOut = []string{"--html", "d.html", "--csv", "d.csv", "--junit", "d.xml", "--hdr", "d.hdr"}

// With --show-secrets they are shown.
func TestSecretsShown(t *testing.T) {
	w := newWitness(t)
	var out, said lines
	Main(t.Context(), []string{"run", "--show-secrets", "--json", "-c", "1", "-n", "1", "-H", "X-Api-Key: " + marker, w.URL + "/?token=abc"}, Streams{&out, &said})
	if text := out.String(); !strings.Contains(text, "-H 'X-Api-Key: "+marker+"'") || !strings.Contains(text, "/?token=abc") {
		t.Errorf("they are not in %s\n%s", text, said.String())
	}
}

// The next command has variables in place of secrets. A shell expands it to the same words.
func TestTypedExpands(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, words := range [][]string{
		{"run", "-H", "Authorization: Bearer abc", "http://h/?token=a%20b&n=1"},
		{"run", "-H", "Authorization: a", "-H", "Authorization: b", "-H", "Authorization: a"},
		{"run", "--data", `{"password": "it's \"$x\"!", "n": 1}`},
		{"run", "--command", "TOKEN=x ./server --password y -d `z`"},
		{"run", "-e", "API_KEY=a b", "x.js", "it's"},
		{"compare", "http://user:pass@h/", "redis://:pass@h/"},
	} {
		a := &app{secrets: secretsOf(words, nil)}
		typed := a.typed(words)
		if hidden := a.secrets.Hide(typed); hidden != typed {
			t.Errorf("%s is hidden again: %s", typed, hidden)
		}
		cmd := exec.Command(shell, "-c", strings.Replace(typed, "contend", `printf '%s\n'`, 1))
		for _, word := range words {
			for _, p := range a.secrets.Split(word) {
				if p.Variable != "" {
					cmd.Env = append(cmd.Env, p.Variable+"="+p.Text)
				}
			}
		}
		got, err := cmd.CombinedOutput()
		if want := strings.Join(words, "\n") + "\n"; err != nil || string(got) != want || len(cmd.Env) == 0 {
			t.Errorf("%s is\n%swant\n%s(%v)", typed, got, want, err)
		}
	}
}
