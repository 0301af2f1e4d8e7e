package outbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"

	"contend/systems/uplink/lorawan"
)

// A Secret is what challenges are drawn with. Outboxes whose customers may get the same
// frame have the same one: see challenger.draw.
type Secret [32]byte

// NewSecret returns a random one.
func NewSecret() (s Secret) {
	rand.Read(s[:]) // never fails
	return s
}

// A challengeKey makes challenges: the entries are an AES keystream (counter mode) that
// belongs to the frame. They are as unpredictable as with a stored list, and a
// redelivery finds the same ones again, although nothing is kept but the length: a list
// would take 16 kB for each message of a fresh device.
type challengeKey struct {
	seeds *lorawan.CMAC
	block cipher.Block
	order [seedLen]byte // of this outbox alone
}

func newChallengeKey(s Secret) challengeKey {
	block, err := aes.NewCipher(s[16:])
	if err != nil {
		panic(err) // only of a key of another length
	}
	key := challengeKey{seeds: lorawan.NewCMAC(lorawan.Key(s[:16])), block: block}
	rand.Read(key.order[:])
	return key
}

// A challenger draws challenges. It is used by one goroutine at a time.
type challenger struct {
	key     challengeKey
	counter [aes.BlockSize]byte // seedLen bytes of a frame's own, streamLen, and the block's number
	block   [aes.BlockSize]byte
	stream  cipher.Stream // of a challenge with many entries
	chunk   []byte        // of the stream
	left    []byte        // of the keystream, in block or chunk
	// taken has a bit for each value of the highest bits of an entry.
	taken []uint64
}

const (
	seedLen, streamLen = 12, 2
	// fewEntries are compared one by one. manyEntries is from how many on a cipher.Stream
	// is worth its allocation.
	fewEntries, manyEntries = 16, 128
	// apart is in how many of their highest bits entries differ: among 32 times as many
	// values as there are entries, one in 32 at most is drawn again.
	apart = 17
)

// draw appends the challenge of a frame: n different entries with the true MIC among
// them, in an order that tells nothing.
//
// The same frame has the same other entries, and a longer challenge has more of them. Whoever
// gets it twice, as the device repeated it, or as a second customer, would otherwise find
// the MIC as what both challenges have in common. The order is another one for each
// customer and length.
//
// Entries that agree in their highest bits with another, or with the MIC, are drawn
// again, which is cheaper than to compare all bits. It gives nothing away: all lists of
// entries that differ in those bits are equally likely, whichever of them is the MIC, as
// long as MICs are evenly distributed.
func (c *challenger) draw(dst []uint32, n int, phy []byte) []uint32 {
	seed := c.key.seeds.Sum(phy) // the MIC included: frames that differ in it alone share nothing
	return c.drawSeeded(dst, n, lorawan.MICOf(phy), seed[:seedLen])
}

func (c *challenger) drawSeeded(dst []uint32, n int, mic uint32, seed []byte) []uint32 {
	copy(c.counter[:], seed)
	c.begin(0, n)
	first := len(dst)
	if n > fewEntries {
		c.prepare()
		c.take(mic)
	}
	for dst = append(dst, mic); len(dst) < first+n; {
		if v := c.next(); n > fewEntries && c.take(v) || n <= fewEntries && differs(v, dst[first:]) {
			dst = append(dst, v)
		}
	}
	subtle.XORBytes(c.counter[:], seed, c.key.order[:])
	c.begin(n, n)
	for i := n - 1; i > 0; i-- {
		j := int(uint64(c.next()) * uint64(i+1) >> 32)
		dst[first+i], dst[first+j] = dst[first+j], dst[first+i]
	}
	return dst
}

// begin goes to the start of one of the frame's keystreams, to read for n entries.
func (c *challenger) begin(stream, n int) {
	binary.BigEndian.PutUint16(c.counter[seedLen:], uint16(stream))
	clear(c.counter[seedLen+streamLen:])
	c.stream, c.left = nil, nil
	if n >= manyEntries {
		c.stream = cipher.NewCTR(c.key.block, c.counter[:])
	}
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

// differs reports whether v differs from all entries in the highest bits.
func differs(v uint32, entries []uint32) bool {
	for _, e := range entries {
		if (e^v)>>(32-apart) == 0 {
			return false
		}
	}
	return true
}

// prepare forgets what was taken.
func (c *challenger) prepare() {
	if c.taken == nil {
		c.taken = make([]uint64, 1<<apart/64)
	}
	clear(c.taken)
}

// take reports whether v differs from all that was taken in the highest bits, and takes it.
func (c *challenger) take(v uint32) bool {
	place := v >> (32 - apart)
	word, bit := &c.taken[place/64], uint64(1)<<(place%64)
	free := *word&bit == 0
	*word |= bit
	return free
}
