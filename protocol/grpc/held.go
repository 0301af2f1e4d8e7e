package grpc

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"contend/load"
)

// goodbye is how long a VU that closes waits for the server to end the stream.
// After a first one that did not, the others do not wait.
const goodbye = 100 * time.Millisecond

// A heldVU keeps a bidirectional stream open over its iterations.
type heldVU struct {
	vu
	link  *channel
	owns  bool         // the channel
	haste *atomic.Bool // shared by the target's VUs: do not wait for goodbye

	stream grpc.ClientStream // nil: not open
	end    context.CancelFunc
}

var (
	_ load.TimeoutSetter = (*heldVU)(nil)
	_ io.Closer          = (*heldVU)(nil)
)

func newHeldVU(v vu, l *channel, owns bool, haste *atomic.Bool) *heldVU {
	v.apart = true
	return &heldVU{vu: v, link: l, owns: owns, haste: haste}
}

// Do sends and waits for each answer in turn, on the open stream or on a new
// one. A stream that ended, or that owes an answer, is not used again.
func (v *heldVU) Do(ctx context.Context) (load.Outcome, error) {
	if v.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, v.timeout)
		defer cancel()
		ctx = limited
	}
	opening := v.stream == nil
	life := context.Background()
	if opening {
		if v.metadata != nil {
			life = metadata.NewOutgoingContext(life, v.metadata)
		}
		life, v.end = context.WithCancel(life)
	}
	stop := context.AfterFunc(ctx, v.end)
	v.reset()
	var err error
	if opening {
		v.next = 0
		v.stream, err = v.open(life, v.link)
	}
	if v.stream != nil {
		err = v.converse(v.stream)
	}
	stream := v.stream
	if !stop() || err != nil || v.short {
		v.drop()
	}
	return v.outcome(ctx, v.link, stream, err)
}

// drop ends the stream at once.
func (v *heldVU) drop() {
	if v.end != nil {
		v.end()
	}
	v.stream, v.end = nil, nil
}

// Close ends the stream, in good order if the server does its part.
func (v *heldVU) Close() error {
	if v.stream != nil && !v.haste.Load() {
		hurry := time.AfterFunc(goodbye, v.end)
		v.stream.CloseSend()
		v.drain(v.stream)
		if !hurry.Stop() {
			v.haste.Store(true)
		}
	}
	v.drop()
	if v.owns {
		v.link.close()
	}
	return nil
}
