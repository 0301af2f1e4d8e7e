package static

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// newExchange is one without a connection.
func newExchange(t testing.TB, dir string) (*exchange, *writer) {
	t.Helper()
	site, err := openSite(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.close)
	s := &Server{start: time.Now(), site: site}
	w := s.newWriter()
	return &exchange{site: site}, &w
}

const request1 = "GET /a.txt HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: test\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n\r\n"

func ask(t testing.TB, x *exchange, w *writer, in []byte) {
	var out output
	if n := x.next(w, in, &out); n != len(in) || len(out.bytes) == 0 {
		t.Fatalf("%d of %d bytes, answer %q", n, len(in), out.bytes)
	}
	if out.file != nil {
		out.file.release()
	}
}

// The same request again costs no allocation; another one that of its path.
func TestAllocations(t *testing.T) {
	x, w := newExchange(t, testSite(t))
	same, other := []byte(request1), []byte(strings.Replace(request1, "a.txt", "big.bin", 1))
	ask(t, x, w, other)
	ask(t, x, w, same)
	if n := testing.AllocsPerRun(100, func() { ask(t, x, w, same) }); n != 0 {
		t.Errorf("%v allocations for the same request", n)
	}
	if n := testing.AllocsPerRun(100, func() { ask(t, x, w, same); ask(t, x, w, other) }); n > 2 {
		t.Errorf("%v allocations for two requests", n)
	}
}

func BenchmarkExchange(b *testing.B) {
	x, w := newExchange(b, testSite(b))
	requests := make([][]byte, 2)
	for i := range requests {
		requests[i] = []byte(strings.Replace(request1, "test", fmt.Sprint("test", i), 1))
	}
	for different := range len(requests) {
		b.Run([]string{"same", "another"}[different], func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				ask(b, x, w, requests[i%len(requests)*different])
			}
		})
	}
}
