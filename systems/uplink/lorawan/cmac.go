package lorawan

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"sync"
)

// A CMAC is a key prepared for AES-CMAC (RFC 4493). It takes half a kilobyte and may
// be used concurrently.
type CMAC struct {
	block  cipher.Block
	k1, k2 aesBlock
}

type aesBlock [aes.BlockSize]byte

// What is given to a cipher.Block escapes to the heap, so blocks are used again.
var blocks = sync.Pool{New: func() any { return new(aesBlock) }}

// NewCMAC prepares a key.
func NewCMAC(key Key) *CMAC {
	c := &CMAC{block: newBlock(key)}
	c.block.Encrypt(c.k1[:], c.k1[:])
	c.k1.double()
	c.k2 = c.k1
	c.k2.double()
	return c
}

// newBlock prepares a key.
func newBlock(key Key) cipher.Block {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("lorawan: " + err.Error()) // only a length that no Key has
	}
	return block
}

// double multiplies by x in GF(2^128), modulo x^128 + x^7 + x^2 + x + 1.
func (b *aesBlock) double() {
	high, low := binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
	carry := high >> 63
	binary.BigEndian.PutUint64(b[:], high<<1|low>>63)
	binary.BigEndian.PutUint64(b[8:], low<<1^carry*0x87)
}

// Sum returns the CMAC of a message.
func (c *CMAC) Sum(msg []byte) [16]byte {
	x := blocks.Get().(*aesBlock)
	*x = aesBlock{}
	c.finish(x, msg)
	sum := *x
	blocks.Put(x)
	return sum
}

// finish chains a message, and its end, to x.
func (c *CMAC) finish(x *aesBlock, msg []byte) {
	for len(msg) > len(x) {
		subtle.XORBytes(x[:], x[:], msg)
		c.block.Encrypt(x[:], x[:])
		msg = msg[len(x):]
	}
	last := &c.k1
	if len(msg) < len(x) {
		x[len(msg)] ^= 0x80
		last = &c.k2
	}
	subtle.XORBytes(x[:], x[:], msg)
	subtle.XORBytes(x[:], x[:], last[:])
	c.block.Encrypt(x[:], x[:])
}

// UplinkMIC returns the MIC of a data uplink of LoRaWAN 1.0, where the key is
// NwkSKey. msg is the frame without its MIC, 8 to 251 bytes; fcnt the full counter.
func (c *CMAC) UplinkMIC(addr DevAddr, fcnt uint32, msg []byte) uint32 {
	x := blocks.Get().(*aesBlock)
	x.fill(0x49, 0, addr, fcnt)
	x[15] = byte(len(msg))
	c.block.Encrypt(x[:], x[:])
	c.finish(x, msg)
	mic := binary.BigEndian.Uint32(x[:])
	blocks.Put(x)
	return mic
}

// fill writes what the blocks A and B0 have in common; the last byte is left 0.
func (b *aesBlock) fill(kind, direction byte, addr DevAddr, fcnt uint32) {
	*b = aesBlock{0: kind, 5: direction}
	binary.LittleEndian.PutUint32(b[6:], uint32(addr))
	binary.LittleEndian.PutUint32(b[10:], fcnt)
}

// JoinMIC returns the MIC of a join or rejoin request. msg is the request without its
// MIC. The key is AppKey (1.0) or NwkKey (1.1) for a join, SNwkSIntKey for a rejoin of
// type 0 or 2, JSIntKey for one of type 1.
func (c *CMAC) JoinMIC(msg []byte) uint32 {
	sum := c.Sum(msg)
	return binary.BigEndian.Uint32(sum[:])
}

// A Cipher is a key prepared for FRMPayload: AppSKey, or NwkSKey on port 0. It takes half
// a kilobyte and may be used concurrently.
type Cipher struct{ block cipher.Block }

// NewCipher prepares a key.
func NewCipher(appSKey Key) *Cipher { return &Cipher{newBlock(appSKey)} }

// Crypt encrypts a plain payload, or decrypts an encrypted one, and appends the result to
// dst; payload[:0] as dst does it in place. down is the direction, fcnt the full counter.
// A payload has at most 242 bytes; the key stream repeats itself after 4080.
func (c *Cipher) Crypt(dst, payload []byte, down bool, addr DevAddr, fcnt uint32) []byte {
	a, s := blocks.Get().(*aesBlock), blocks.Get().(*aesBlock)
	var direction byte
	if down {
		direction = 1
	}
	a.fill(1, direction, addr, fcnt)
	for len(payload) > 0 {
		a[15]++
		c.block.Encrypt(s[:], a[:])
		n := subtle.XORBytes(s[:], s[:], payload)
		dst = append(dst, s[:n]...)
		payload = payload[n:]
	}
	blocks.Put(a)
	blocks.Put(s)
	return dst
}
