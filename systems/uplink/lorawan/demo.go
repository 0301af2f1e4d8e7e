package lorawan

import (
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// A Device is what generator, routing table and sink must agree on to talk about
// the same device of LoRaWAN 1.0.
type Device struct {
	DevEUI, JoinEUI  EUI
	DevAddr          DevAddr
	NwkSKey, AppSKey Key
}

const (
	// demoDevEUI and demoJoinEUI are the first bytes of EUIs that are nobody's:
	// locally administered and individual in the sense of IEEE 802.
	demoDevEUI, demoJoinEUI EUI = 0xa6 << 56, 0xb6 << 56
	// demoNetBits is the length of an address within a network of type 0.
	demoNetBits = 25
	// demoNet is network 1, which with 0 is for experiments (LoRa Alliance, NetID
	// assignments): addresses 02000000 to 03ffffff.
	demoNet DevAddr = 1 << demoNetBits
	// demoStride scatters the numbers, as a table meets them in life. It is odd and
	// so permutes them.
	demoStride = 0x9e3779b1
)

// DemoDevice is the device number i of a load that its seed tells from others:
// the same for whoever asks. Those with i below 2^24 have distinct DevEUIs
// and distinct addresses; all of a seed have one JoinEUI.
//
// With root and tag the first 16 and the next 8 bytes of HMAC-SHA-256 with the
// key "contend demo device" over the seed, the session keys are AES(root, n ‖ i)
// with n = 1 for NwkSKey and n = 2 for AppSKey, as LoRaWAN 1.0.2, section 6.2.5,
// derives them from an AppKey. Numbers are little-endian.
func DemoDevice(seed uint64, i int) Device {
	mac := hmac.New(sha256.New, []byte("contend demo device"))
	mac.Write(binary.LittleEndian.AppendUint64(nil, seed))
	sum := mac.Sum(nil)
	root := newBlock(Key(sum[:16]))
	tag := binary.LittleEndian.Uint64(sum[16:])
	load := EUI(tag & 0x00ffffff_00000000)
	number := uint32(tag) + uint32(i)*demoStride
	return Device{
		DevEUI:  demoDevEUI | load | EUI(number),
		JoinEUI: demoJoinEUI | load,
		DevAddr: demoNet | DevAddr(number)%(1<<demoNetBits),
		NwkSKey: demoKey(root, 1, i),
		AppSKey: demoKey(root, 2, i),
	}
}

func demoKey(root cipher.Block, n byte, i int) (key Key) {
	key[0] = n
	binary.LittleEndian.PutUint64(key[1:], uint64(i))
	root.Encrypt(key[:], key[:])
	return key
}

// maxPrepared bounds the devices whose keys DemoDevices keeps, at 1 kB each.
const maxPrepared = 1 << 14

// DemoDevices prepares the keys of the devices of one seed and keeps those of up
// to 16384. It is not safe for concurrent use.
type DemoDevices struct {
	seed uint64
	kept []PreparedDevice // indexed by the device's number modulo its length
}

// A PreparedDevice is a device with its keys ready for use.
type PreparedDevice struct {
	number int
	Device
	MIC     *CMAC // of NwkSKey; nil in a place that nobody has taken
	Payload *Cipher
}

// NewDemoDevices returns DemoDevices for numbers below n, which is 1 to
// 2^24: see DemoDevice.
func NewDemoDevices(seed uint64, n int) *DemoDevices {
	return &DemoDevices{seed: seed, kept: make([]PreparedDevice, min(n, maxPrepared))}
}

// Device returns device number i. It is valid until the next call.
func (p *DemoDevices) Device(i int) *PreparedDevice {
	d := &p.kept[i%len(p.kept)]
	if d.MIC == nil || d.number != i {
		device := DemoDevice(p.seed, i)
		*d = PreparedDevice{i, device, NewCMAC(device.NwkSKey), NewCipher(device.AppSKey)}
	}
	return d
}
