package coding

import (
	"bytes"
	"compress/flate"
	"errors"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"contend/internal/testenv"
)

const limit = 1 << 20

// What is encoded, by any codings over each other, decodes to what it was.
func TestDecodeUndoesEncode(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(rt, "content")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"gzip", "deflate", "br", "zstd", "identity", " GZip", "x-gzip", ""}), 0, maxCodings).Draw(rt, "names")
		encoding := strings.Join(names, ",")
		body, err := Encode(encoding, content)
		if err != nil {
			rt.Fatal(err)
		}
		got, whole, err := Decode(encoding, body, limit)
		if err != nil || !whole || !bytes.Equal(got, content) {
			rt.Errorf("%q: %q, %v, %v; want %q", encoding, got, whole, err, content)
		}
	})
}

// Some servers send deflate without the zlib format that its name means.
func TestRawDeflate(t *testing.T) {
	for _, content := range []string{"hello", strings.Repeat("x", 5000), "x"} {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.BestCompression)
		_, _ = w.Write([]byte(content)) // into memory
		_ = w.Close()
		if got, whole, err := Decode("deflate", b.Bytes(), limit); err != nil || !whole || string(got) != content {
			t.Errorf("%.9q: %.9q, %v, %v", content, got, whole, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, name := range []string{"gzip", "deflate", "br", "zstd"} {
		body, err := Encode(name, []byte(strings.Repeat("some text ", 50)))
		testenv.Must(t, err)
		for what, bad := range map[string][]byte{"text": []byte("hello, this is no coding"), "a part": body[:len(body)/2]} {
			if got, _, err := Decode(name, bad, limit); err == nil || !strings.HasPrefix(err.Error(), "content encoding "+name+": ") {
				t.Errorf("%s of %s: %q, %v", what, name, got, err)
			}
		}
	}
	for encoding, want := range map[string]string{
		"compress":                  `content encoding "compress" is unknown; expected gzip, deflate, br, zstd`,
		"gzip, Aws-Chunked":         `"aws-chunked" is unknown`,
		"gzip,gzip,gzip,br,br,zstd": "has 6 codings; expected at most 5",
		strings.Repeat("é", 100):    "is unknown",
	} {
		_, _, err := Decode(encoding, []byte("x"), limit)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 || !utf8.ValidString(err.Error()) {
			t.Errorf("%.20s: %v, want %s", encoding, err, want)
		}
	}
	if _, err := Encode("gzip, lzma", nil); err == nil || !errors.As(err, new(*Unknown)) {
		t.Error(err)
	}
}

// A small body that decodes to a lot is cut off at the limit, as is each layer of several.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 64*limit)
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "gzip, gzip", "zstd, br"} {
		bomb, err := Encode(encoding, zeros)
		testenv.Must(t, err)
		if len(bomb) > limit/2 {
			t.Errorf("%s: %d bytes are no bomb", encoding, len(bomb))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, whole, err := Decode(encoding, bomb, limit)
		runtime.ReadMemStats(&after)
		if err != nil || whole || len(got) != limit {
			t.Errorf("%s: %d bytes, %v, %v", encoding, len(got), whole, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64*limit {
			t.Errorf("%s: %d bytes were allocated for a limit of %d", encoding, allocated, limit)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "gzip, br"} {
		body, _ := Encode(encoding, []byte("hello hello"))
		f.Add(encoding, body)
	}
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		if got, _, err := Decode(encoding, body, 1000); err == nil && len(got) > max(1000, len(body)) {
			t.Errorf("%d bytes", len(got))
		}
	})
}
