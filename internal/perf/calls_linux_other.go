//go:build linux && !amd64 && !arm64

package perf

var otherNumbers map[string]uint64
