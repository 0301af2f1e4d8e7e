package lorawan

import (
	"bytes"
	"testing"
)

func TestSender(t *testing.T) {
	frame := make([]byte, 24) // each byte is its place, except for what the test sets
	for i := range frame {
		frame[i] = byte(i)
	}
	for _, tt := range []struct {
		name     string
		first    byte
		second   byte
		size     int
		from, to int
	}{
		{"unconfirmed", 0x40, 1, 13, 1, 5},
		{"confirmed", 0x80, 1, 12, 1, 5},
		{"join request", 0x00, 1, 23, 9, 17},
		{"rejoin request 0", 0xc0, 0, 19, 5, 13},
		{"rejoin request 2", 0xc0, 2, 19, 5, 13},
		{"rejoin request 1", 0xc0, 1, 24, 10, 18},
		{"downlink", 0x60, 1, 13, 0, 13},
		{"proprietary", 0xe0, 1, 13, 0, 13},
		{"short", 0x40, 1, 11, 0, 11},
		{"short join request", 0x00, 1, 16, 0, 16},
		{"nothing", 0, 0, 0, 0, 0},
	} {
		phy := bytes.Clone(frame[:tt.size])
		copy(phy, []byte{tt.first, tt.second})
		if got := Sender(phy); !bytes.Equal(got, phy[tt.from:tt.to]) {
			t.Errorf("%s: % x of % x, want bytes %d to %d", tt.name, got, phy, tt.from, tt.to-1)
		}
	}
}
