package static

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const page = "<p>hello</p>\n" // 13 bytes

func testSite(t testing.TB) string {
	return files(t, map[string]string{
		"index.html": page, "a.txt": "0123456789", "empty": "", "sub/index.html": "sub", "bare/x.txt": "x",
		"app.mjs": "m", "app.js": "j", "m.wasm": "w", "i.svg": "s", "d.json": "{}", "space d.txt": "sp", "ü.txt": "u",
		"z.html": "plain text", "z.html.br": "BR", "z.html.gz": "GZIP!", "z.html.zst": "ZS",
		"big.bin": strings.Repeat("0123456789abcdef", 10_000), // 160000 bytes: sent as a file
		".secret": "no", ".git/config": "no", ".well-known/x": "acme",
	})
}

const (
	date = "Wed, 01 May 2024 10:00:00 GMT"
	tagA = `"17cb550d96f24000-a"` // 1714557600·10⁹ ns in hexadecimal, 10 bytes
)

// The fields of an answer are all there, each once.
func TestExactAnswer(t *testing.T) {
	t.Parallel()
	if got := tagOf(mark{modified * 1e9, 10}, ""); got != tagA {
		t.Fatal(got)
	}
	got := get(t, start(t, Config{Dir: testSite(t)}), "GET /a.txt", "Connection: close")
	at, err := http.ParseTime(got.Header.Get("Date"))
	if err != nil || time.Since(at) > time.Minute {
		t.Errorf("Date: %v, %v", got.Header["Date"], err)
	}
	got.Header.Del("Date")
	want := http.Header{"Server": {"contend"}, "Content-Length": {"10"}, "Accept-Ranges": {"bytes"}, "Content-Type": {"text/plain; charset=utf-8"},
		"Etag": {tagA}, "Last-Modified": {date}}
	if !reflect.DeepEqual(got.Header, want) || got.Status != "200 OK" || !got.Close || got.body != "0123456789" {
		t.Errorf("%s %v %q, want %v", got.Status, got.Header, got.body, want)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tag := tagA
	tests := []struct {
		line, header string
		code         int
		body         string
		field, value string
	}{
		{"GET /", "", 200, page, "Content-Type", "text/html; charset=utf-8"},
		{"GET /index.html?x=1", "", 200, page, "Content-Length", "13"},
		{"GET http://other/a.txt", "", 200, "0123456789", "", ""},
		{"GET http://other", "", 200, page, "", ""},
		{"HEAD /a.txt", "", 200, "", "Content-Length", "10"},
		{"HEAD /nothing", "", 404, "", "Content-Length", "14"}, // 404 Not Found\n
		{"GET /empty", "", 200, "", "Content-Type", "application/octet-stream"},
		{"GET /app.mjs", "", 200, "m", "Content-Type", "text/javascript; charset=utf-8"},
		{"GET /app.js", "", 200, "j", "Content-Type", "text/javascript; charset=utf-8"},
		{"GET /m.wasm", "", 200, "w", "Content-Type", "application/wasm"},
		{"GET /i.svg", "", 200, "s", "Content-Type", "image/svg+xml"},
		{"GET /d.json", "", 200, "{}", "Content-Type", "application/json"},
		{"GET /space%20d.txt", "", 200, "sp", "", ""},
		{"GET /%C3%BC.txt", "", 200, "u", "", ""},
		{"GET /sub/", "", 200, "sub", "", ""},
		{"GET /sub", "", 301, "301 Moved Permanently\n", "Location", "/sub/"},
		{"GET /sub?a=/b", "", 301, "301 Moved Permanently\n", "Location", "/sub/?a=/b"},
		{"GET /bare/", "", 404, "404 Not Found\n", "", ""},
		{"GET /a.txt/", "", 404, "404 Not Found\n", "", ""},
		{"GET /nothing", "", 404, "404 Not Found\n", "", ""},
		{"GET /.well-known/x", "", 200, "acme", "", ""},
		{"POST /a.txt", "", 405, "405 Method Not Allowed\n", "Allow", "GET, HEAD"},
		{"OPTIONS *", "", 405, "405 Method Not Allowed\n", "Allow", "GET, HEAD"},
		{"GET *", "", 400, "400 Bad Request\n", "", ""},
		// Conditions.
		{"GET /a.txt", "If-None-Match: " + tag, 304, "", "ETag", tag},
		{"GET /a.txt", "If-None-Match: W/" + tag, 304, "", "", ""},
		{"GET /a.txt", `If-None-Match: "x", ` + tag, 304, "", "", ""},
		{"GET /a.txt", "If-None-Match: *", 304, "", "", ""},
		{"GET /a.txt", `If-None-Match: "x"`, 200, "0123456789", "", ""},
		{"GET /a.txt", "If-None-Match: \"x\"\r\nIf-Modified-Since: " + date, 200, "0123456789", "", ""},
		{"GET /a.txt", "If-Modified-Since: " + date, 304, "", "Last-Modified", date},
		{"GET /a.txt", "If-Modified-Since: Wed, 01 May 2024 09:59:59 GMT", 200, "0123456789", "", ""},
		{"GET /a.txt", "If-Modified-Since: yesterday", 200, "0123456789", "", ""},
		{"GET /a.txt", `If-Match: "x"`, 412, "412 Precondition Failed\n", "", ""},
		{"GET /a.txt", "If-Match: W/" + tag, 412, "412 Precondition Failed\n", "", ""},
		{"GET /a.txt", "If-Match: " + tag, 200, "0123456789", "", ""},
		{"GET /a.txt", "If-Unmodified-Since: Wed, 01 May 2024 09:59:59 GMT", 412, "412 Precondition Failed\n", "", ""},
		{"HEAD /a.txt", "If-None-Match: " + tag, 304, "", "", ""},
		// Ranges.
		{"GET /a.txt", "Range: bytes=0-0", 206, "0", "Content-Range", "bytes 0-0/10"},
		{"GET /a.txt", "Range: bytes=3-", 206, "3456789", "Content-Range", "bytes 3-9/10"},
		{"GET /a.txt", "Range: bytes=-3", 206, "789", "Content-Range", "bytes 7-9/10"},
		{"GET /a.txt", "Range: bytes=-99", 206, "0123456789", "Content-Range", "bytes 0-9/10"},
		{"GET /a.txt", "Range: Bytes=8-99999999999999999999", 206, "89", "Content-Length", "2"},
		{"GET /a.txt", "Range: bytes=10-", 416, "416 Requested Range Not Satisfiable\n", "Content-Range", "bytes */10"},
		{"GET /a.txt", "Range: bytes=-0", 416, "416 Requested Range Not Satisfiable\n", "", ""},
		{"GET /empty", "Range: bytes=0-", 416, "416 Requested Range Not Satisfiable\n", "Content-Range", "bytes */0"},
		{"GET /a.txt", "Range: bytes=0-1,3-4", 200, "0123456789", "", ""},
		{"GET /a.txt", "Range: bytes=0-1\r\nRange: bytes=3-4", 200, "0123456789", "", ""},
		{"GET /a.txt", "Range: bytes=4-3", 200, "0123456789", "", ""},
		{"GET /a.txt", "Range: bytes=-", 200, "0123456789", "", ""},
		{"GET /a.txt", "Range: bytes=a-b", 200, "0123456789", "", ""},
		{"GET /a.txt", "Range: lines=1-2", 200, "0123456789", "", ""},
		{"HEAD /a.txt", "Range: bytes=0-0", 200, "", "Content-Length", "10"},
		{"GET /a.txt", "Range: bytes=0-0\r\nIf-Range: " + tag, 206, "0", "", ""},
		{"GET /a.txt", "Range: bytes=0-0\r\nIf-Range: W/" + tag, 200, "0123456789", "", ""},
		{"GET /a.txt", "Range: bytes=0-0\r\nIf-Range: " + date, 206, "0", "", ""},
		{"GET /a.txt", "Range: bytes=0-0\r\nIf-Range: Wed, 01 May 2024 10:00:01 GMT", 200, "0123456789", "", ""},
		// Compressed forms.
		{"GET /z.html", "", 200, "plain text", "Vary", "Accept-Encoding"},
		{"GET /z.html", "Accept-Encoding: gzip", 200, "GZIP!", "Content-Encoding", "gzip"},
		{"GET /z.html", "Accept-Encoding: x-gzip", 200, "GZIP!", "Content-Encoding", "gzip"},
		{"GET /z.html", "Accept-Encoding: gzip, deflate, br, zstd", 200, "BR", "Content-Encoding", "br"},
		{"GET /z.html", "Accept-Encoding: gzip;q=1.0, br;q=0.5", 200, "GZIP!", "", ""},
		{"GET /z.html", "Accept-Encoding: br;q=0, *;q=0.3", 200, "ZS", "Content-Encoding", "zstd"},
		{"GET /z.html", "Accept-Encoding: gzip;q=0.2, identity;q=0.8", 200, "plain text", "Content-Encoding", ""},
		{"GET /z.html", "Accept-Encoding: *;q=0", 200, "plain text", "", ""},
		{"GET /z.html", "Accept-Encoding: br;q=2, GZIP;Q=0.001", 200, "GZIP!", "Content-Type", "text/html; charset=utf-8"},
		{"GET /z.html", "Accept-Encoding: br\r\nRange: bytes=1-1", 206, "R", "Content-Range", "bytes 1-1/2"},
		{"GET /z.html.gz", "", 200, "GZIP!", "Content-Type", "application/gzip"},
		{"GET /a.txt", "Accept-Encoding: gzip", 200, "0123456789", "Vary", ""},
	}
	s := start(t, Config{Dir: testSite(t)})
	for _, tt := range tests {
		var headers []string
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		got := get(t, s, tt.line, headers...)
		if got.StatusCode != tt.code || got.body != tt.body {
			t.Errorf("%s, %s: %d %q; want %d %q", tt.line, tt.header, got.StatusCode, got.body, tt.code, tt.body)
		}
		if v := got.Header.Get(tt.field); tt.field != "" && v != tt.value {
			t.Errorf("%s, %s: %s is %q; want %q", tt.line, tt.header, tt.field, v, tt.value)
		}
	}
}

func TestNothingOutsideIsServed(t *testing.T) {
	t.Parallel()
	dir := testSite(t)
	outside := files(t, map[string]string{"passwd": "root"})
	if os.Symlink(outside, filepath.Join(dir, "out")) != nil ||
		os.Symlink(filepath.Join(outside, "passwd"), filepath.Join(dir, "pw")) != nil ||
		os.Symlink("a.txt", filepath.Join(dir, "in")) != nil {
		t.Skip("no symbolic links")
	}
	up := "/../" + filepath.Base(outside) + "/passwd"
	s := start(t, Config{Dir: dir})
	for target, want := range map[string]int{
		"/out/passwd": 404, "/pw": 404, "/in": 200,
		up: 404, "/sub/.." + up: 404, "/%2e%2e" + up[3:]: 404, "/..%2f" + up[4:]: 404, "/sub/..": 404,
		`/..\` + up[4:]: 404, "/%5c..%5cpasswd": 404, "/C:/passwd": 404, "//etc/passwd": 404, "/./a.txt": 404,
		"/a.txt%00.html": 400, "/%zz": 400, "/%": 400, "/.secret": 404, "/%2esecret": 404, "/.git/config": 404,
		"//evil.example": 404, "/" + strings.Repeat("a/", 2000): 404, "/" + strings.Repeat("a", 4000): 404,
	} {
		if got := get(t, s, "GET "+target); got.StatusCode != want || strings.Contains(got.body, "root") {
			t.Errorf("%.60s: %d, want %d", target, got.StatusCode, want)
		}
	}
}

func TestEveryRangeIsTheSlice(t *testing.T) {
	t.Parallel()
	small, big := strings.Repeat("abcdefghij", 100), strings.Repeat("0123456789abcdef", 10_000)
	s := start(t, Config{Dir: files(t, map[string]string{"small": small, "big": big})})
	c := dial(t, s.Addr())
	rapid.Check(t, func(rt *rapid.T) {
		name, content := "small", small
		if rapid.Bool().Draw(rt, "big") {
			name, content = "big", big
		}
		from := rapid.IntRange(0, len(content)-1).Draw(rt, "from")
		to := rapid.IntRange(from, len(content)+10).Draw(rt, "to")
		c.send(t, fmt.Sprintf("GET /%s HTTP/1.1\r\nHost: x\r\nRange: bytes=%d-%d\r\n\r\n", name, from, to))
		got := c.receive(t, "GET")
		if want := content[from:min(to+1, len(content))]; got.StatusCode != 206 || got.body != want {
			rt.Fatalf("%s %d-%d: %d, %d bytes, want %d", name, from, to, got.StatusCode, len(got.body), len(want))
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 1, 61, 83, 84, 500, 130_000} {
		for _, text := range []bool{false, true} {
			p, err := NewPage(size, text)
			if err != nil || int64(len(p.body)) != size {
				t.Fatalf("%d, %v: %d bytes, %v", size, text, len(p.body), err)
			}
			again, _ := NewPage(size, text)
			if string(again.body) != string(p.body) {
				t.Errorf("%d, %v: not the same twice", size, text)
			}
			if text && size > 100 && !(strings.HasPrefix(string(p.body), "<!DOCTYPE html>") && strings.HasSuffix(string(p.body), "</html>\n")) {
				t.Errorf("%d: no document", size)
			}
			s := start(t, Config{Page: p})
			got := get(t, s, "GET /")
			if got.StatusCode != 200 || got.body != string(p.body) || get(t, s, "GET /other").StatusCode != 404 {
				t.Errorf("%d, %v: %d, %d bytes", size, text, got.StatusCode, len(got.body))
			}
		}
	}
	for _, size := range []int64{-1, maxPage + 1} {
		if _, err := NewPage(size, true); err == nil {
			t.Errorf("a page of %d bytes", size)
		}
	}
}
