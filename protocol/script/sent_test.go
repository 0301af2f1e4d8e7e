package script

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/coding"
	"contend/protocol/wire/wiretest"
)

// raw is a server that answers each request with its method and the sorted lines of its header.
func raw(t testing.TB) string {
	return "http://" + wiretest.Listen(t, func(conn net.Conn) {
		for r := bufio.NewReader(conn); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			var lines []string
			length := 0
			for field, _ := r.ReadString('\n'); strings.TrimSpace(field) != ""; field, _ = r.ReadString('\n') {
				lines = append(lines, strings.TrimSpace(field))
				_, _ = fmt.Sscanf(strings.ToLower(field), "content-length: %d", &length)
			}
			slices.Sort(lines)
			body := make([]byte, length)
			if _, err := io.ReadFull(r, body); err != nil {
				return
			}
			method, _, _ := strings.Cut(line, " ")
			answer := method + "|" + strings.Join(lines, "|") + "|" + string(body)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
		}
	})
}

// Fields that follow from the body are those of the body, each is sent once, and methods are those of HTTP.
func TestHeadersThatAreSent(t *testing.T) { engines(t, testHeaders) }

func testHeaders(t *testing.T, drive func(Config, int64) *load.Result) {
	url := raw(t)
	host := strings.TrimPrefix(url, "http://")
	const agent = "User-Agent: contend|"
	for _, c := range []struct{ call, want string }{
		{`post(u, 'hello', { headers: { 'content-length': '99', 'Content-Length': '7' } })`, "POST|Content-Length: 5|Host: " + host + "|" + agent + "hello"},
		{`post(u, 'hello', { headers: { 'transfer-encoding': 'chunked', Trailer: 'X' } })`, "POST|Content-Length: 5|Host: " + host + "|" + agent + "hello"},
		{`post(u, null, { headers: { 'Content-Length': '4' } })`, "POST|Content-Length: 0|Host: " + host + "|" + agent},
		{`get(u, { headers: { 'Content-Length': '0' } })`, "GET|Host: " + host + "|" + agent},
		{`get(u, { headers: { host: 'one', HOST: 'two' } })`, "GET|Host: two|" + agent},
		{`get(u, { headers: { 'x-a': '1', 'X-A': '2', 'user-agent': 'me' } })`, "GET|Host: " + host + "|User-Agent: me|X-A: 2|"},
		{`get(u, { headers: { 'a b': '1' } })`, `!header name "a b" is not a token`},
		{`get(u, { headers: { ':authority': 'x' } })`, `!header name ":authority" is not a token`},
		{`get(u, { headers: { A: 'b\r\nC: d' } })`, `!header A holds a line break`},
		{`request('', u)`, "GET|Host: " + host + "|" + agent},
		{`request('GE T', u)`, `!method "GE T" is not a method of HTTP`},
		{`batch([['post', u, 'x']])[0]`, "POST|Content-Length: 1|Host: " + host + "|" + agent + "x"},
		{`batch({ a: { method: 'Put', url: u, body: 'x' } }).a`, "PUT|Content-Length: 1|Host: " + host + "|" + agent + "x"},
	} {
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
			const u = __ENV.BASE_URL;
			export default function () { for (let i = 0; i < 2; i++) { const r = http.`+c.call+`; check(r, { [r.body]: () => true }); } }`)
		r := drive(Config{Script: path, URL: url}, 1)
		shows(t, r, c.call, c.want, 2)
	}
}

// A connection whose end a request asks for carries no other, whether or not the server says so.
func TestConnectionClose(t *testing.T) { engines(t, testConnectionClose) }

func testConnectionClose(t *testing.T, drive func(Config, int64) *load.Result) {
	address := wiretest.Listen(t, func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err == nil && request.Close {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") // and closes
		}
	})
	path := testenv.Files(t, "flow.js", `import http from 'k6/http';
		export default function () { http.get(__ENV.BASE_URL, { headers: { connection: 'Close, TE' } }); }`)
	if r := drive(Config{Script: path, URL: "http://" + address}, 5); r.Completed != 5 {
		t.Errorf("%d of 5 completed: %v %v", r.Completed, r.Errored, r.Examples)
	}
}

// encoder is a server that answers in the codings that the path names, and says of a body what it is encoded with.
func encoder(t testing.TB) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		encoding := strings.TrimPrefix(r.URL.Path, "/")
		for name := range strings.SplitSeq(encoding, "+") { // several lines are one list
			w.Header().Add("Content-Encoding", name)
		}
		if body, _ := io.ReadAll(r.Body); r.Method == "POST" {
			sent := r.Header.Get("Content-Encoding")
			content, whole, err := coding.Decode(sent, body, 1<<20)
			w.Header().Del("Content-Encoding")
			fmt.Fprintf(w, "%s %s %v %v", sent, content, whole, err)
			return
		}
		switch r.URL.RawQuery {
		case "204", "304":
			var status int
			_, _ = fmt.Sscan(r.URL.RawQuery, &status)
			w.WriteHeader(status)
			return
		case "empty":
			return
		case "damaged":
			_, _ = io.WriteString(w, "no such thing")
			return
		}
		content := `{"a": 1}`
		if r.URL.RawQuery == "bomb" {
			content = strings.Repeat(" ", maxBody+1)
		}
		body, err := coding.Encode(strings.ReplaceAll(encoding, "+", ","), []byte(content))
		if err != nil {
			body = []byte(content) // of a coding that nobody has
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server
}

// Bodies are decoded, and those that cannot be are named.
func TestContentEncodings(t *testing.T) {
	t.Parallel()
	engines(t, testContentEncodings)
}

func testContentEncodings(t *testing.T, drive func(Config, int64) *load.Result) {
	server := encoder(t)
	for _, c := range []struct{ call, want string }{
		{`get(u + '/gzip').json('a')`, "1"},
		{`get(u + '/deflate').json('a')`, "1"},
		{`get(u + '/br').json('a')`, "1"},
		{`get(u + '/zstd').json('a')`, "1"},
		{`get(u + '/GZIP').body`, `{"a": 1}`},
		{`get(u + '/gzip,%20br').body`, `{"a": 1}`},
		{`get(u + '/zstd+deflate').body`, `{"a": 1}`},
		{`get(u + '/identity').body`, `{"a": 1}`},
		{`get(u + '/br', { responseType: 'binary' }).body.byteLength`, "8"},
		{`get(u + '/br', { responseType: 'none' }).body`, "null"},
		{`get(u + '/gzip?204').body`, "null"},
		{`get(u + '/gzip?304').body`, "null"},
		{`get(u + '/gzip?empty').body`, ""},
		{`head(u + '/gzip').status`, "200"},
		{`get(u + '/lzma').body`, `{"a": 1}`},
		{`get(u + '/lzma').error`, ""},
		{`get(u + '/lzma').json('b')`, "undefined"},
		{`get(u + '/lzma?damaged').json('a')`, `!content encoding "lzma" is unknown`},
		{`get(u + '/gzip?damaged').error`, `~content encoding gzip: gzip: invalid header`},
		{`get(u + '/br?damaged').error`, `~content encoding br: brotli: `},
		{`get(u + '/zstd?bomb').error`, `~a decoded body of more than 67108864 bytes`},
		{`post(u, 'some text', { compression: 'gzip' }).body`, "gzip some text true <nil>"},
		{`post(u, 'some text', { compression: 'br, zstd', headers: {} }).body`, "br, zstd some text true <nil>"},
		{`post(u, 'some text', { compression: 'deflate', headers: { 'content-encoding': 'deflate' } }).body`, "deflate some text true <nil>"},
		{`post(u, { a: 'b' }, { compression: 'zstd' }).body`, "zstd a=b true <nil>"},
		{`post(u, null, { compression: 'gzip' }).body`, "  true <nil>"},
		{`post(u, 'x', { compression: '' }).body`, " x true <nil>"},
		{`post(u, 'x', { compression: 'lzma' })`, `!params.compression: content encoding "lzma" is unknown; expected gzip, deflate, br, zstd`},
	} {
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
			const u = __ENV.BASE_URL;
			export default function () { const got = String(http.`+c.call+`); check(0, { [got]: () => true }); }`)
		r := drive(Config{Script: path, URL: server.URL}, 1)
		shows(t, r, c.call, c.want, 1)
	}
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
		export default function () { check(http.get(__ENV.BASE_URL + '/lzma'), { b: (r) => r.body.includes('b') }); }`)
	if r := drive(Config{Script: path, URL: server.URL}, 1); len(r.Faults) != 1 || !strings.Contains(r.Faults[0].Example, `content encoding "lzma" is unknown`) {
		t.Errorf("the example of a failed check does not name what was not decoded: %+v", r.Faults)
	}
}

// Redirects that lead to no answer are wrong ones; where none is followed, they are the answer.
func TestRedirectsWithoutEnd(t *testing.T) { engines(t, testRedirects) }

func testRedirects(t *testing.T, drive func(Config, int64) *load.Result) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		switch _, _ = fmt.Sscanf(r.URL.Path, "/down/%d", &n); {
		case n > 0:
			w.Header().Set("Location", fmt.Sprintf("/down/%d", n-1))
		case r.URL.Path == "/loop":
			w.Header().Set("Location", "/loop")
		case r.URL.Path == "/bad":
			w.Header().Set("Location", "http://%zz/")
		case r.URL.Path == "/app":
			w.Header().Set("Location", "app://callback")
		case r.URL.Path != "/none":
			return
		}
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	const most = "status 302, where the end of redirects after at most %d was expected"
	for _, c := range []struct{ options, call, cause string }{
		{``, `get(u + '/loop')`, fmt.Sprintf(most, 10)},
		{``, `get(u + '/loop', { redirects: 3 })`, fmt.Sprintf(most, 3)},
		{``, `get(u + '/loop', { redirects: 0 })`, ""},
		{``, `get(u + '/loop', { responseCallback: null })`, ""},
		{``, `get(u + '/down/10')`, ""},
		{``, `get(u + '/down/11')`, fmt.Sprintf(most, 10)},
		{``, `get(u + '/down/11', { redirects: 11 })`, ""},
		{``, `get(u + '/down/11', { redirects: 1 })`, ""}, // what the script wants to see
		{`maxRedirects: 2`, `get(u + '/down/3')`, fmt.Sprintf(most, 2)},
		{`maxRedirects: 0`, `get(u + '/loop')`, ""},
		{``, `batch([u + '/loop'])[0]`, fmt.Sprintf(most, 10)},
		{``, `get(u + '/bad')`, "status 302, where a Location that is a URL was expected"},
		{``, `get(u + '/app')`, ""},
		{``, `get(u + '/none')`, ""},
	} {
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
			const u = __ENV.BASE_URL;
			export const options = { `+c.options+` };
			export default function () { check(http.`+c.call+`, { seen: (r) => r.status === 302 || r.url.endsWith('/down/0') }); }`)
		r := drive(Config{Script: path, URL: server.URL}, 1)
		if len(r.Checks) != 1 || r.Checks[0].Passed != 1 {
			t.Errorf("%s: the script saw %+v", c.call, r.Checks)
		}
		if cause := strings.Join(causes(r), ", "); cause != c.cause {
			t.Errorf("%s: %q, want %q", c.call, cause, c.cause)
		}
	}
}

func causes(r *load.Result) []string {
	var all []string
	for _, f := range r.Faults {
		all = append(all, f.Cause())
	}
	return all
}
