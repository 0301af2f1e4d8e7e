package grpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// A request is an encoded message that is sent again and again.
type request struct {
	buffers mem.BufferSlice
	size    int64
}

func newRequest(encoded []byte) *request {
	return &request{buffers: mem.BufferSlice{mem.SliceBuffer(encoded)}, size: int64(len(encoded))}
}

// A reply takes the size of an answer's message.
type reply struct{ size int64 }

// rawCodec sends a *request as it is and measures a *reply. Its empty name
// leaves the content type at application/grpc.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) { return v.(*request).buffers, nil }

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*reply).size = int64(data.Len())
	return nil
}

func (rawCodec) Name() string { return "" }
