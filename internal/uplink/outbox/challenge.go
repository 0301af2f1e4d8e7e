package outbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
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
	in, out [16]byte
	blocks  uint64 // of the keystream, so far
	left    []byte // of out
	table   []uint32
}

// fewEntries is how many are compared with each other one by one; more are found
// in a table.
const fewEntries = 16

// draw appends the challenge of a transaction: n different entries with the true
// MIC among them, at any place with the same probability.
func (c *challenger) draw(dst []uint32, n int, mic uint32, transaction uint64) []uint32 {
	binary.LittleEndian.PutUint64(c.in[:8], transaction)
	c.blocks, c.left = 0, nil
	place := len(dst) + int(uint64(c.next())*uint64(n)>>32)
	first := len(dst)
	if n > fewEntries {
		c.clearTable(mic)
	}
	for len(dst) < first+n-1 {
		v := c.next()
		if v == mic || n <= fewEntries && contains(dst[first:], v) || n > fewEntries && c.seen(v, mic) {
			continue
		}
		dst = append(dst, v)
	}
	dst = append(dst, mic)
	last := len(dst) - 1
	dst[place], dst[last] = dst[last], dst[place]
	return dst
}

// next returns the next 32 bits of the keystream.
func (c *challenger) next() uint32 {
	if len(c.left) == 0 {
		binary.LittleEndian.PutUint64(c.in[8:], c.blocks)
		c.blocks++
		c.key.block.Encrypt(c.out[:], c.in[:])
		c.left = c.out[:]
	}
	v := binary.LittleEndian.Uint32(c.left)
	c.left = c.left[4:]
	return v
}

func contains(entries []uint32, v uint32) bool {
	for _, e := range entries {
		if e == v {
			return true
		}
	}
	return false
}

// tableBits makes the table twice as large as the longest challenge.
const tableBits = 13

// clearTable empties the table. An empty place holds the MIC, which is never
// looked up.
func (c *challenger) clearTable(mic uint32) {
	if c.table == nil {
		c.table = make([]uint32, 1<<tableBits)
	}
	for i := range c.table {
		c.table[i] = mic
	}
}

// seen says whether v is in the table, and puts it there. The entries are random,
// so that their bits are as good as a hash of them.
func (c *challenger) seen(v, mic uint32) bool {
	for i := v >> (32 - tableBits); ; i = (i + 1) % (1 << tableBits) {
		switch c.table[i] {
		case v:
			return true
		case mic:
			c.table[i] = v
			return false
		}
	}
}
