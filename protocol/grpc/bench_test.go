package grpc

import (
	"fmt"
	"testing"

	"contend/protocol/wire"
)

// BenchmarkDo is one call after the other, server included. The target itself
// allocates nothing for a call over a connection that is there; what is
// reported is grpc-go's, on both sides.
func BenchmarkDo(b *testing.B) {
	for _, mode := range modes() {
		b.Run(wire.Connections{Sharing: mode}.String(), func(b *testing.B) {
			address, _ := newCounterServer(b).start(b, "127.0.0.1:0", noReflection)
			benchmarkDo(b, config(address, mode))
		})
	}
}

// BenchmarkStream is one iteration after the other of 100 messages each; a
// held stream's is one message and its answer.
func BenchmarkStream(b *testing.B) {
	const messages = 100
	for _, test := range []struct {
		name, method, data string
		messages           int
		held               bool
	}{
		{"client", "Collect", `{"value": 1}`, messages, false},
		{"server", "List", fmt.Sprintf(`{"value": %d}`, messages), 0, false},
		{"bidirectional", "Talk", `{"value": 1}`, messages, false},
		{"held", "Talk", `{"value": 1}`, 0, true},
	} {
		b.Run(test.name, func(b *testing.B) {
			address, _ := newChatServer(b).start(b, "127.0.0.1:0", noReflection)
			cfg := chat(address, test.method, test.data)
			cfg.Messages, cfg.Stream = test.messages, streamFor(test.held)
			benchmarkDo(b, cfg)
		})
	}
}

func benchmarkDo(b *testing.B, cfg Config) {
	vu := newVU(b, open(b, cfg), 0)
	b.ReportAllocs()
	for b.Loop() {
		if outcome, err := vu.Do(b.Context()); err != nil || outcome.Failed {
			b.Fatalf("%+v, %v", outcome, err)
		}
	}
}
