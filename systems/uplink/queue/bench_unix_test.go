//go:build unix

package queue

import (
	"syscall"
	"testing"
	"time"
)

// reportCPU adds the CPU time of this process and of Redis to the figures.
func reportCPU(b *testing.B, r *Redis, f func()) {
	b.Helper()
	redis, own := redisCPU(b, r), ownCPU()
	b.ResetTimer()
	f()
	b.StopTimer()
	b.ReportMetric(float64(ownCPU()-own)/float64(b.N), "own-cpu-ns/op")
	b.ReportMetric(float64(redisCPU(b, r)-redis)/float64(b.N), "redis-cpu-ns/op")
}

func redisCPU(b *testing.B, r *Redis) time.Duration {
	b.Helper()
	cpu, err := r.CPU(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return cpu
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
