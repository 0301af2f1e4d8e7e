// Package coding decodes and encodes the codings that a Content-Encoding names (RFC 9110, section
// 8.4.1): gzip, deflate, br and zstd, alone or combined.
package coding

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// names are the codings, as errors list them.
const names = "gzip, deflate, br, zstd"

// maxCodings bounds how many codings a server may put one over the other.
const maxCodings = 5

// maxWindow bounds the memory of zstd, as clients of HTTP do (RFC 9659, section 3).
const maxWindow = 8 << 20

// An Unknown is an error about a coding that this package does not have.
type Unknown struct{ Name string }

func (u *Unknown) Error() string {
	return fmt.Sprintf("content encoding %.40q is unknown; expected %s", u.Name, names)
}

// Decode undoes what a Content-Encoding names. If the content is longer than limit, whole is
// false and the rest is missing, so that a small body cannot fill the memory. The error is an
// *Unknown, or says that the body is damaged.
func Decode(encoding string, body []byte, limit int) (content []byte, whole bool, err error) {
	names := list(encoding)
	if len(names) > maxCodings {
		return nil, false, fmt.Errorf("content encoding has %d codings; expected at most %d", len(names), maxCodings)
	}
	for _, name := range names {
		if decoders[name] == nil {
			return nil, false, &Unknown{name}
		}
	}
	for _, name := range slices.Backward(names) {
		from, err := decoders[name](bufio.NewReader(bytes.NewReader(body)))
		if err == nil {
			body, err = io.ReadAll(io.LimitReader(from, int64(limit)+1))
		}
		if err != nil {
			return nil, false, fmt.Errorf("content encoding %s: %w", name, err)
		}
		if len(body) > limit {
			return body[:limit], false, nil
		}
	}
	return body, true, nil
}

// Encode applies codings in the order of a list such as "gzip, br", which is the Content-Encoding of
// the result.
func Encode(encoding string, content []byte) ([]byte, error) {
	for _, name := range list(encoding) {
		if encoders[name] == nil {
			return nil, &Unknown{name}
		}
		w := encoders[name].Get().(encoder)
		var b bytes.Buffer
		w.Reset(&b)
		_, err := w.Write(content)
		if err = errors.Join(err, w.Close()); err != nil {
			return nil, err
		}
		encoders[name].Put(w)
		content = b.Bytes()
	}
	return content, nil
}

// list splits a Content-Encoding. Names are case-insensitive, and identity means nothing.
func list(encoding string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(encoding), ",") {
		if name = strings.TrimSpace(name); name != "" && name != "identity" {
			names = append(names, strings.TrimPrefix(name, "x-")) // x-gzip is gzip
		}
	}
	return names
}

var decoders = map[string]func(*bufio.Reader) (io.Reader, error){
	"gzip":    func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": inflate,
	"br":      func(r *bufio.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd": func(r *bufio.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	},
}

// inflate reads the zlib format, which deflate means, or the raw one, which some servers send: the
// two bytes of a zlib header are a multiple of 31 and name the method 8 (RFC 1950, section 2.2).
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// An encoder takes up to a megabyte to make, and is used again.
type encoder interface {
	io.WriteCloser
	Reset(io.Writer)
}

var encoders = map[string]*sync.Pool{
	"gzip":    {New: func() any { return gzip.NewWriter(nil) }},
	"deflate": {New: func() any { return zlib.NewWriter(nil) }},
	"br":      {New: func() any { return brotli.NewWriter(nil) }},
	"zstd": {New: func() any {
		encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // the options are valid
		return encoder
	}},
}
