package outbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// A challengeKey makes the challenges of an outbox: the entries are the AES
// keystream (counter mode) that belongs to the transaction under a random key.
// They are as unpredictable as with a stored list, and a redelivery finds the
// same ones again, although nothing but the transaction and the length is kept:
// a list would take 16 kB for each message of a fresh device.
type challengeKey struct{ block cipher.Block }

func newChallengeKey() challengeKey {
	var key [16]byte
	rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // only of a key of another length
	}
	return challengeKey{block}
}

// A challenger draws challenges. It is used by one goroutine at a time.
type challenger struct {
	key     challengeKey
	counter [aes.BlockSize]byte
	block   [aes.BlockSize]byte
	stream  cipher.Stream // of a challenge with many entries
	chunk   []byte        // of the stream
	left    []byte        // of the keystream, in block or chunk
	// taken has a bit for each value of the highest bits of an entry.
	taken []uint64
	shift int // to those bits
}

// manyEntries is from how many on a cipher.Stream is worth its allocation.
const manyEntries = 128

// draw appends the challenge of a transaction: n different entries with the true
// MIC among them, at any place with the same probability.
//
// Entries that agree in their highest bits with another, or with the MIC, are
// drawn again, which is cheaper than to compare all bits. It gives nothing away:
// all lists of entries that differ in those bits are equally likely, whichever of
// them is the MIC, as long as MICs are evenly distributed.
func (c *challenger) draw(dst []uint32, n int, mic uint32, transaction uint64) []uint32 {
	c.begin(transaction, n)
	c.take(mic)
	first := len(dst)
	place := first + int(uint64(c.next())*uint64(n)>>32)
	for len(dst) < first+n-1 {
		if v := c.next(); c.take(v) {
			dst = append(dst, v)
		}
	}
	dst = append(dst, mic)
	last := len(dst) - 1
	dst[place], dst[last] = dst[last], dst[place]
	return dst
}

// begin goes to the start of a transaction's keystream and prepares for n
// entries: with 16 times as many values of their highest bits at least, so that
// one in 16 is drawn again at most.
func (c *challenger) begin(transaction uint64, n int) {
	binary.BigEndian.PutUint64(c.counter[:8], transaction)
	binary.BigEndian.PutUint64(c.counter[8:], 0)
	c.stream, c.left = nil, nil
	if n >= manyEntries {
		c.stream = cipher.NewCTR(c.key.block, c.counter[:])
	}
	words := 1 << bits.Len(uint(n/4))
	c.shift = 32 - bits.Len(uint(64*words-1))
	if len(c.taken) < words {
		c.taken = make([]uint64, words)
	}
	clear(c.taken[:words])
}

// next returns the next 32 bits of the keystream.
func (c *challenger) next() uint32 {
	if len(c.left) == 0 {
		c.refill()
	}
	v := binary.BigEndian.Uint32(c.left)
	c.left = c.left[4:]
	return v
}

func (c *challenger) refill() {
	if c.stream == nil {
		c.key.block.Encrypt(c.block[:], c.counter[:])
		c.left = c.block[:]
		c.counter[aes.BlockSize-1]++ // few entries: far from an overflow
		return
	}
	if c.chunk == nil {
		c.chunk = make([]byte, 512)
	}
	clear(c.chunk)
	c.stream.XORKeyStream(c.chunk, c.chunk)
	c.left = c.chunk
}

// take says whether the highest bits of v are not taken, and takes them.
func (c *challenger) take(v uint32) bool {
	place := v >> c.shift
	word, bit := &c.taken[place/64], uint64(1)<<(place%64)
	free := *word&bit == 0
	*word |= bit
	return free
}
