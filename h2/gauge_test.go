package h2

import (
	"slices"
	"testing"
)

// Frames of requests and answers count whole, others not at all, in whichever pieces they come.
func TestGauge(t *testing.T) {
	frame := func(kind byte, length int) []byte {
		return append([]byte{0, byte(length >> 8), byte(length), kind, 0, 0, 0, 0, 1}, make([]byte, length)...)
	}
	all := slices.Concat(frame(frameSettings, 12), frame(frameHeaders, 30), frame(frameContinuation, 5), frame(frameWindow, 4),
		[]byte{0, 0, 6, frameHeaders, 0, 0, 0, 0, 3, 0x20, 0x3f, 0xe1, 0x1f, 0x82, 0x20}, frame(frameData, 1000), frame(frameSettings, 0), frame(frameData, 0), frame(framePing, 8), frame(frameGoAway, 8))
	const want = 9 + 30 + 9 + 5 + (9 + 6 - 1 - 3) + 9 + 1000 + 9 // two changes of the table, of 1 and 3 bytes
	for _, side := range []struct {
		name  string
		gauge Gauge
		bytes []byte
	}{{"server", Gauge{}, all}, {"client", ClientGauge(), slices.Concat([]byte(preface), all)}} {
		for _, size := range []int{1, 2, 7, 9, 10, 64, len(side.bytes)} {
			gauge, got := side.gauge, int64(0)
			for piece := range slices.Chunk(side.bytes, size) {
				got += gauge.Count(piece)
			}
			if got != want {
				t.Errorf("%s, pieces of %d bytes: %d, want %d", side.name, size, got, want)
			}
		}
	}
}
