package gen

import "math/rand/v2"

// Frames that are none, each in another way; the random rest is at least as long
// as a sound frame of its kind would be, unless its length is what is wrong.
var malformed = [...]struct {
	why   string
	first []byte // MHDR first
	size  int    // in all, with a MIC
}{
	{"empty", nil, 0},
	{"one byte", nil, 1},
	{"a data frame one byte too short", []byte{0x40}, 11},
	{"longer than a radio can send", []byte{0x40}, 256},
	{"major version 1", []byte{0x41}, 21},
	{"major version 3 of a confirmed uplink", []byte{0x83}, 21},
	{"options longer than the frame", []byte{0x40, 1, 2, 3, 4, 0x0f}, 20},
	{"a join request one byte too short", []byte{0x00}, 22},
	{"a rejoin request of type 3", []byte{0xc0, 3}, 19},
	{"a rejoin request of type 1 with the size of type 0", []byte{0xc0, 1}, 19},
}

// appendMalformed appends a frame of one of the kinds.
func appendMalformed(dst []byte, kind int, random *rand.Rand) []byte {
	m := malformed[kind]
	dst = append(dst, m.first...)
	for range m.size - len(m.first) {
		dst = append(dst, byte(random.Uint32()))
	}
	return dst
}
