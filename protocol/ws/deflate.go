package ws

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"

	"github.com/gobwas/httphead"
	"github.com/gobwas/ws/wsflate"
)

// offer is permessage-deflate with each message compressed on its own: a window
// would cost each connection 40 kB and more.
func offer() []httphead.Option {
	return []httphead.Option{wsflate.DefaultParameters.Option()}
}

// accepted reports whether the server agreed on what was offered, and false, nil
// if it declined all of it.
func accepted(answer []httphead.Option) (bool, error) {
	if len(answer) == 0 {
		return false, nil
	}
	var p wsflate.Parameters
	if err := p.Parse(answer[0]); err != nil || len(answer) > 1 || !p.ServerNoContextTakeover || p.ClientMaxWindowBits.Defined() {
		return false, protocolError("handshake: the server's extensions are not what was offered")
	}
	return true, nil
}

// tail ends what a flush has written. It is not sent (RFC 7692, section 7.2.1),
// and added again to what is received, here with an empty last block, so that
// the reader finds its end.
const (
	tail     = "\x00\x00\xff\xff"
	lastTail = tail + "\x01\x00\x00\xff\xff"
)

var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // a valid level
	return w
}}

// deflate appends the compressed data to dst.
func deflate(dst, data []byte) []byte {
	out := bytes.NewBuffer(dst)
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(out)
	_, _ = w.Write(data) // a bytes.Buffer takes everything
	_ = w.Flush()
	return bytes.TrimSuffix(out.Bytes(), []byte(tail))
}

var readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflate appends the decompressed data to dst, which may then have limit bytes.
func inflate(dst, data []byte, limit int) ([]byte, error) {
	r := readers.Get().(io.ReadCloser)
	defer readers.Put(r)
	source := io.MultiReader(bytes.NewReader(data), bytes.NewReader([]byte(lastTail)))
	_ = r.(flate.Resetter).Reset(source, nil)
	out := bytes.NewBuffer(dst)
	n, err := out.ReadFrom(io.LimitReader(r, int64(limit-len(dst))+1))
	if err != nil {
		return nil, protocolError("compressed message: %v", err)
	}
	if int64(len(dst))+n > int64(limit) {
		return nil, tooLong(limit)
	}
	return out.Bytes(), nil
}
