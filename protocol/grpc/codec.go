package grpc

import (
	"time"

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

// An outgoing message is a request under way and when grpc-go took it.
type outgoing struct {
	*request
	at time.Time
}

// A reply takes the size of an answer's message and when it was there whole.
type reply struct {
	size int64
	at   time.Time
}

// rawCodec sends an *outgoing as it is and measures a *reply. Its empty name
// leaves the content type at application/grpc.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	message := v.(*outgoing)
	message.at = time.Now()
	return message.buffers, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*reply) = reply{size: int64(data.Len()), at: time.Now()}
	return nil
}

func (rawCodec) Name() string { return "" }
