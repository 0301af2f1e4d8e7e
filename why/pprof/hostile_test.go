package pprof

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"contend/internal/testenv"
)

func zipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// plain is what zipped has packed.
func plain(t testing.TB, zipped []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// with is ofCPU, followed by so many times more fields.
func with(t *testing.T, n int, number protowire.Number, body []byte) []byte {
	t.Helper()
	field := protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), body)
	return zipped(t, append(plain(t, packed(t, ofCPU())), bytes.Repeat(field, n)...))
}

// labelled is a sample in main.step with so many labels, whose keys are one long text.
func labelled(t *testing.T, n int) []byte {
	p := changed(t, func(p *profile.Profile) { p.Sample[0].Label = map[string][]string{strings.Repeat("x", 1<<20): {"y"}} })
	body := plain(t, p)
	const label = 3
	for at := body; ; {
		number, kind, length := protowire.ConsumeField(at)
		if number != fieldSample {
			at = at[length:]
			continue
		}
		_, _, tag := protowire.ConsumeTag(at)
		sample, _ := protowire.ConsumeBytes(at[tag:])
		labels, err := filtered(sample, []protowire.Number{label}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sample = append(bytes.Clone(sample), bytes.Repeat(labels, n)...)
		return zipped(t, append(body, protowire.AppendBytes(protowire.AppendTag(nil, number, kind), sample)...))
	}
}

// changed is ofCPU after a change of it.
func changed(t *testing.T, change func(p *profile.Profile)) []byte {
	p := ofCPU()
	change(p)
	return packed(t, p)
}

// deep has the inlined functions of a place so many times, and stacks of that place so many.
func deep(t *testing.T, inlined, samples int) []byte {
	return changed(t, func(p *profile.Profile) {
		at := p.Location[0]
		for len(at.Line) < inlined {
			at.Line = append(at.Line, at.Line[0])
		}
		for len(p.Sample) < samples {
			p.Sample = append(p.Sample, p.Sample[0])
		}
	})
}

// named is ofCPU with functions whose names are so long.
func named(t *testing.T, functions, length int) []byte {
	return changed(t, func(p *profile.Profile) {
		p.Function[0].Name = "main." + strings.Repeat("x", length)
		for i := range functions {
			p.Function = append(p.Function, &profile.Function{ID: uint64(100 + i), Name: p.Function[0].Name})
		}
	})
}

// hostile are CPU profiles that are small and would become large, with the error of each; "": they are read.
func hostile(t *testing.T) map[string]struct {
	body []byte
	want string
} {
	type profiles = map[string]struct {
		body []byte
		want string
	}
	const memory = "it would take more than 256 MiB of memory"
	return profiles{
		"zeros":            {zipped(t, make([]byte, mostBytes+1)), "it has more than 64 MiB"},
		"samples":          {with(t, 1<<20, fieldSample, nil), memory}, // 2^20 · (512 + 2·32) > 2^28
		"places":           {with(t, 1<<20, 4, nil), memory},
		"functions":        {with(t, 1<<20, 5, nil), memory},
		"texts":            {with(t, 1<<20, fieldText, nil), memory}, // 2^20 · 512
		"types of values":  {with(t, 1<<20, 1, nil), memory},
		"periods":          {with(t, 1<<20, 11, nil), memory},
		"places of one":    {with(t, 1, fieldSample, protowire.AppendBytes([]byte{1<<3 | 2}, make([]byte, 1<<24))), memory}, // 2^24 · 32
		"values of one":    {with(t, 1, fieldSample, protowire.AppendBytes([]byte{2<<3 | 2}, make([]byte, 1<<24))), memory},
		"lines of one":     {with(t, 1, 4, bytes.Repeat([]byte{4<<3 | 2, 0}, 1<<23)), memory}, // 2^23 · 64
		"mappings":         {with(t, 1<<20, 3, nil), ""},
		"comments":         {with(t, 1, 13, make([]byte, 1<<24)), ""},
		"long labels":      {labelled(t, 1<<18), ""},
		"a long name":      {named(t, 0, 8<<20), ""},
		"a shared name":    {named(t, 64, 1<<20), "its functions have names of more than 64 MiB"},
		"a deep stack":     {deep(t, deepest+1, 0), "one of its stacks has more than 1024 functions"},
		"deep stacks":      {deep(t, deepest, 978), "its stacks have more than 1000000 functions together"}, // 977 · 1024
		"a long time":      {changed(t, func(p *profile.Profile) { p.DurationNanos = 1 << 62 }), "the CPU profile is of more than 1h0m0s"},
		"much time":        {changed(t, func(p *profile.Profile) { p.Sample[0].Value[1] = 1 << 62; p.Sample[1].Value[1] = 1 << 62 }), "the CPU profile has the time of more than 10000 processors"},
		"a cut message":    {zipped(t, []byte{fieldSample<<3 | 2, 100}), "unexpected EOF"},
		"a cut in another": {zipped(t, []byte{fieldSample<<3 | 2, 2, 1<<3 | 2, 100}), "unexpected EOF"},
	}
}

// bounded calls what reads profiles, and sees how much memory it took on the way.
func bounded(t *testing.T, read func()) {
	t.Helper()
	if took := testenv.Allocated(read); took > 4*mostMemory {
		t.Errorf("it took %d MiB", took>>20)
	}
}

// A profile takes memory by its size, not by what it says of itself, and a part that is too large is named.
func TestReadCPUIsBounded(t *testing.T) {
	for name, c := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			bounded(t, func() {
				cpu, err := ReadCPU(c.body)
				if (err == nil) != (c.want == "") || err != nil && (cpu != nil || !strings.HasSuffix(err.Error(), c.want)) {
					t.Errorf("%v, %v; want %q", cpu != nil, err, c.want)
				}
			})
		})
	}
}

// The same holds if two are compared, except for the words about CPU time.
func TestSinceIsBounded(t *testing.T) {
	for name, c := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			s, before := shot(t, 5000), shot(t, 1000)
			s.Heap, before.Heap = c.body, c.body
			bounded(t, func() {
				counted, err := s.Since(before)
				if err == nil || counted != nil || c.want == "" && err.Error() != "the heap profile has no alloc_space" ||
					c.want != "" && !strings.HasPrefix(c.want, "the CPU") && err.Error() != "the heap profile is broken: "+c.want {
					t.Errorf("%v; want %q", err, c.want)
				}
			})
		})
	}
}

// endlessly is a body without end: all that is asked for, or a byte at a time.
type endlessly struct {
	ctx   context.Context
	pause time.Duration // before each byte
}

func (e endlessly) Read(p []byte) (int, error) {
	if e.pause == 0 {
		return len(p), e.ctx.Err()
	}
	select {
	case <-e.ctx.Done():
		return 0, e.ctx.Err()
	case <-time.After(e.pause):
		return copy(p, "x"), nil
	}
}

// answering answers each request with a status and a body without end.
type answering struct {
	status int
	header http.Header
	pause  time.Duration
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(endlessly{r.Context(), a.pause}), Request: r}, nil
}

// An answer ends in size and time, as told as what it would be.
func TestAnswersAreBounded(t *testing.T) {
	const url = "http://192.0.2.1/debug/pprof/profile?seconds=1"
	const slow = 700 * time.Millisecond
	told := http.Header{"X-Go-Pprof": {"1"}}
	for _, c := range []struct {
		name string
		answering
		want string
		in   time.Duration
	}{
		{"at once", answering{http.StatusOK, nil, 0}, url + " answers more than 64 MiB", 0},
		{"slowly", answering{http.StatusOK, nil, slow}, url + " has not answered in 6s", 6 * time.Second},
		{"a refusal", answering{http.StatusInternalServerError, told, 0}, url + " answers 500: " + strings.Repeat("\x00", mostRefusal), 0},
		{"a slow refusal", answering{http.StatusInternalServerError, told, slow}, url + " answers 500: xxxxxxxx", 6 * time.Second}, // 8 · 0.7 s
		{"a redirect", answering{http.StatusFound, http.Header{"Location": {"http://192.0.2.2/"}}, 0}, url + " answers 302", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := at(t, "http://192.0.2.1/debug/pprof/")
				s.client.Transport = c.answering
				began := time.Now()
				body, err := s.Profile(t.Context(), 1)
				if body != nil || err == nil || err.Error() != c.want || time.Since(began) != c.in {
					t.Errorf("%v after %v; want %s after %v", err, time.Since(began), c.want, c.in)
				}
			})
		})
	}
}

// What a server sends instead of HTTP is not repeated at length.
func TestMistakesAreShort(t *testing.T) {
	for name, answer := range map[string]string{
		"a first line": strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"a status":     "HTTP/1.1 " + strings.Repeat("2", 1<<20) + "\r\n\r\n",
		"a header":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"a length":     "HTTP/1.1 200 OK\r\nContent-Length: " + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("x", 1<<20) + "\r\n\r\n",
		"headers":      "HTTP/1.1 200 OK\r\n" + strings.Repeat("x: "+strings.Repeat("y", 1000)+"\r\n", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			s := at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, answer)
			})))
			if err := s.Find(t.Context()); err == nil || len(err.Error()) > 2*mostMistake {
				t.Errorf("%.100v… of %d bytes", err, len(err.Error()))
			}
		})
	}
}
