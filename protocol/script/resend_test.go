package script

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"

	"contend/errkind"
	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire/wiretest"
)

// 12 requests of one caller: see package http, whose test of that name has the arithmetic.
func TestSendsAgainWhatAnIdleConnectionLost(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		for _, secure := range []bool{false, true} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			testenv.Must(t, err)
			url := "http://" + l.Addr().String()
			if secure {
				l, url = tls.NewListener(l, wiretest.TLS()), "https://"+l.Addr().String()
			}
			t.Cleanup(wiretest.Serve(l, wiretest.Forgetful(1, func(net.Conn) {})))
			for call, want := range map[string][3]int64{"http.get(__ENV.BASE_URL)": {12, 11, 0}, "http.post(__ENV.BASE_URL, 'x')": {6, 0, 6}} {
				script := testenv.Files(t, "flow.js", fmt.Sprintf(`import http from 'k6/http'; export const options = { vus: 1, insecureSkipTLSVerify: true }; export default function () { %s; }`, call))
				r := drive(Config{Script: script, URL: url}, 12)
				if got := [3]int64{r.Completed, r.Resent, r.Errored[errkind.Stale]}; got != want {
					t.Errorf("%s of %s: completed, sent again, stale: %v, want %v: %v %v", call, url, got, want, r.Errored, r.Examples)
				}
			}
		}
	})
}

// Bytes that belong to no answer harm neither the answer before nor the one after.
func TestPassesOverWhatBelongsToNoAnswer(t *testing.T) {
	engines(t, func(t *testing.T, drive func(Config, int64) *load.Result) {
		if strings.HasSuffix(t.Name(), "goroutines") {
			t.Skip("net/http may take such bytes for the next answer, if it is asked soon enough")
		}
		for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n", "HTTP/1.1 204 No Content\r\n\r\nbody"} {
			url := "http://" + wiretest.Listen(t, wiretest.Answering(answer))
			script := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6'; export const options = { vus: 1 };
				export default function () { for (let i = 0; i < 3; i++) check(http.get(__ENV.BASE_URL), { 'right': (r) => r.status === 204 || r.body === 'ok' }); }`)
			if r := drive(Config{Script: script, URL: url}, 5); r.Completed != 5 {
				t.Errorf("%q: completed %d, %v %v %v", answer, r.Completed, r.Faults, r.Errored, r.Examples)
			}
		}
	})
}
