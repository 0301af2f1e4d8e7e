//go:build !unix

package queue

import "testing"

func reportCPU(b *testing.B, _ *Redis, f func()) {
	b.ResetTimer()
	f()
}
