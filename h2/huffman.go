package h2

import "math/bits"

// huffmanLengths are the lengths in bits of the codes of RFC 7541, appendix B,
// for the bytes 0 to 255. The code is canonical, so that they say all of it.
var huffmanLengths = [256]uint8{
	13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
	28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
	6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
	5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
	13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
	15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
	6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
	20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
	24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
	22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
	21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
	26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
	19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
	20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
	26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
}

const minCode, maxCode = 5, 30 // bits

// huffman decodes: of the codes of one length the first belongs to
// symbols[start], and all are below limit, aligned to the left of 32 bits. It
// encodes: a byte has the code at its place.
var huffman = func() (t struct {
	limit   [maxCode + 1]uint64
	first   [maxCode + 1]uint32
	start   [maxCode + 1]int
	symbols []byte
	codes   [256]uint32
}) {
	code := uint32(0)
	for length := minCode; length <= maxCode; length++ {
		code <<= 1
		t.first[length], t.start[length] = code, len(t.symbols)
		for symbol, l := range huffmanLengths {
			if int(l) == length {
				t.symbols = append(t.symbols, byte(symbol))
				t.codes[symbol] = code
				code++
			}
		}
		t.limit[length] = uint64(code) << (32 - length)
	}
	return t
}()

// appendHuffman appends what p encodes. Padding is the beginning of the code of
// EOS, all ones and at most 7 bits long; EOS itself is a mistake (RFC 7541,
// section 5.2).
func appendHuffman(dst, p []byte) ([]byte, bool) {
	var window uint64 // its upper bits are not decoded yet
	pending := 0      // how many
	for {
		for pending <= 56 && len(p) > 0 {
			window |= uint64(p[0]) << (56 - pending)
			pending += 8
			p = p[1:]
		}
		aligned := window >> 32
		length := minCode
		for length <= maxCode && aligned >= huffman.limit[length] {
			length++
		}
		if length > maxCode || length > pending {
			padding := bits.LeadingZeros64(^window)
			return dst, pending <= 7 && padding == pending
		}
		code := uint32(aligned >> (32 - length))
		dst = append(dst, huffman.symbols[huffman.start[length]+int(code-huffman.first[length])])
		window <<= length
		pending -= length
	}
}

// huffmanBytes is how long the code of a text is.
func huffmanBytes(text string) int {
	n := 0
	for i := range len(text) {
		n += int(huffmanLengths[text[i]])
	}
	return (n + 7) / 8
}

// encodeHuffman appends the code of a text.
func encodeHuffman(dst []byte, text string) []byte {
	var window uint64 // its lower bits are not written yet
	pending := 0      // how many
	for i := range len(text) {
		window = window<<huffmanLengths[text[i]] | uint64(huffman.codes[text[i]])
		for pending += int(huffmanLengths[text[i]]); pending >= 8; pending -= 8 {
			dst = append(dst, byte(window>>(pending-8)))
		}
	}
	if pending > 0 {
		dst = append(dst, byte(window<<(8-pending))|byte(1<<(8-pending)-1))
	}
	return dst
}
