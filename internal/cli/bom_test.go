package cli

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"contend/internal/testenv"
	"contend/protocol/wire/wiretest"
)

// The byte-order mark that editors put before a text is ignored in any file that a command reads;
// UTF-16 text is reported as such.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	secured := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		io.WriteString(w, "ok")
	}))
	secured.TLS = &tls.Config{Certificates: []tls.Certificate{wiretest.Certificate()}}
	secured.StartTLS()
	defer secured.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw}))
	const experiment = "id: x\ntitle: t\narms:\n  a: {target: {url: 'guard:mutex'}}\n  b: {target: {url: 'guard:atomic'}}\ncompare: {baseline: a, rounds: 1, pairs: 1, block: 20ms}\nload: {vus: 1, warmup: 0s}\n"
	for _, tt := range []struct {
		what, file, text string
		args             []string // FILE stands for its path
		none             bool     // UTF-16 is not told there
	}{
		{"an experiment", "x.yaml", experiment, []string{"lab", "--list", "FILE"}, false},
		{"rows", "x.csv", "id\n1\n", []string{"run", "-n", "3", "--rows", "FILE", secured.URL + "/{{id}}"}, false},
		{"lines", "x.jsonl", `{"id": 1}` + "\n", []string{"run", "-n", "3", "--rows", "FILE", secured.URL + "/{{id}}"}, false},
		{"requests", "x.json", `[{"name": "x", "path": "/"}]`, []string{"run", "-n", "3", "--requests", "FILE", secured.URL}, false},
		{"a script", "x.js", "export default function () {}\n", []string{"run", "-n", "3", "FILE"}, true},
		{"a script in TypeScript", "x.ts", "const x: number = 1; export default function () { x }\n", []string{"run", "-n", "3", "FILE"}, true},
		{"a token", "token", "token", []string{"run", "-n", "3", "--bearer", "file:FILE", secured.URL}, true},
		{"an authority", "ca.pem", authority, []string{"run", "-n", "3", "--ca-file", "FILE", secured.URL}, true},
	} {
		dir := t.TempDir()
		path, token, ca := filepath.Join(dir, tt.file), filepath.Join(dir, "a-token"), filepath.Join(dir, "an-authority")
		run := func(content []byte) (int, string) {
			for name, text := range map[string][]byte{token: []byte("token"), ca: []byte(authority), path: content} {
				testenv.Write(t, name, text)
			}
			args := []string{}
			for _, arg := range tt.args {
				args = append(args, strings.ReplaceAll(arg, "FILE", path))
			}
			if joined := strings.Join(args, " "); strings.Contains(joined, secured.URL) {
				if !strings.Contains(joined, "--bearer") {
					args = append(args, "--bearer", "file:"+token)
				}
				if !strings.Contains(joined, "--ca-file") {
					args = append(args, "--ca-file", ca)
				}
			}
			var out, errs strings.Builder
			code := Main(t.Context(), args, Streams{&out, &errs})
			return code, out.String() + errs.String()
		}
		if code, out := run([]byte("\ufeff" + tt.text)); code != exitDone && code != exitUndecided {
			t.Errorf("%s with a mark: exit code %d: %s", tt.what, code, out)
		}
		wide := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(tt.text)) {
			wide = append(wide, byte(unit), byte(unit>>8))
		}
		if code, out := run(wide); !tt.none && (code != exitUsage || !strings.Contains(out, "UTF-16")) {
			t.Errorf("%s in UTF-16: exit code %d: %s", tt.what, code, out)
		}
	}
}
