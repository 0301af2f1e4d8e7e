package grpc

import (
	"testing"
)

// BenchmarkDo is one call after the other, server included. The target itself
// allocates nothing for a call over a connection that is there; what is
// reported is grpc-go's, on both sides.
func BenchmarkDo(b *testing.B) {
	for _, mode := range modes() {
		b.Run(Connections{Mode: mode}.String(), func(b *testing.B) {
			address, _ := newCounterServer(b).start(b, "127.0.0.1:0", noReflection)
			vu := newVU(b, open(b, config(address, mode)), 0)
			b.ReportAllocs()
			for b.Loop() {
				if outcome, err := vu.Do(b.Context()); err != nil || outcome.Failed {
					b.Fatalf("%+v, %v", outcome, err)
				}
			}
		})
	}
}
