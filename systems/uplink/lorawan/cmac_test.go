package lorawan_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"contend/systems/uplink/lorawan"

	"pgregory.net/rapid"
)

func unhex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func key(text string) lorawan.Key { return lorawan.Key(unhex(text)) }

// RFC 4493, section 4.
func TestSum(t *testing.T) {
	mac := lorawan.NewCMAC(key("2b7e151628aed2a6abf7158809cf4f3c"))
	message := unhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51" +
		"30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	for n, want := range map[int]string{
		0:  "bb1d6929e95937287fa37d129b756746",
		16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827",
		64: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		if got := mac.Sum(message[:n]); hex.EncodeToString(got[:]) != want {
			t.Errorf("CMAC of %d bytes is %x, want %s", n, got, want)
		}
	}
}

// Session keys of our own vectors.
var (
	fNwk = lorawan.NewCMAC(key("000102030405060708090a0b0c0d0e0f"))
	apps = lorawan.NewCipher(key("f0e0d0c0b0a090807060504030201000"))
)

const ownAddr lorawan.DevAddr = 0x26011bda

func TestUplinkMIC(t *testing.T) {
	public := lorawan.NewCMAC(key("44024241ed4ce9a68c6a8bc055233fd3"))
	for name, tt := range map[string]struct {
		mac  *lorawan.CMAC
		addr lorawan.DevAddr
		fcnt uint32
		msg  string
		want uint32
	}{
		"public, port and payload": {public, 0x49be7df1, 2, "40f17dbe490002000195437876", 0x2b11ff0d},
		"public, port only":        {public, 0x49be7df1, 3, "40f17dbe4900030001", 0x2a3518af},
		"own, port and payload":    {fNwk, ownAddr, 1, "40da1b012600010001aac56bab96a29468", 3726252033},
		"own, high half is 1":      {fNwk, ownAddr, 65537, "40da1b0126000100016728f482c7980382", 2957302441},
		"own, no port":             {fNwk, ownAddr, 2, "40da1b0126000200", 69488690},
	} {
		if got := tt.mac.UplinkMIC(tt.addr, tt.fcnt, unhex(tt.msg)); got != tt.want {
			t.Errorf("%s: %08x, want %08x", name, got, tt.want)
		}
	}
}

func TestJoinMIC(t *testing.T) {
	for _, tt := range []struct {
		mac  *lorawan.CMAC
		msg  string
		want uint32
	}{
		{lorawan.NewCMAC(key("b6b53f4a168a7a88bdf7ea135ce9cfca")), "00dc0000d07ed5b3701e6fedf57ceeaf00c886", 0x030af2c9},
		{fNwk, "00341200d07ed5b3707766554433221100cdab", 2065278301},
	} {
		if got := tt.mac.JoinMIC(unhex(tt.msg)); got != tt.want {
			t.Errorf("%s: %08x, want %08x", tt.msg, got, tt.want)
		}
	}
}

// The public vector sends "test", our own 1 700 000 000 000 000 000 ns.
func TestCrypt(t *testing.T) {
	public := lorawan.NewCipher(key("ec925802ae430ca77fd3dd73cb2cc588"))
	if got := public.Crypt(nil, unhex("95437876"), false, 0x49be7df1, 2); string(got) != "test" {
		t.Errorf("%q, want test", got)
	}
	stamp := binary.LittleEndian.AppendUint64(nil, 1_700_000_000_000_000_000)
	for fcnt, want := range map[uint32]string{1: "aac56bab96a29468", 65537: "6728f482c7980382"} {
		if got := apps.Crypt(nil, stamp, false, ownAddr, fcnt); hex.EncodeToString(got) != want {
			t.Errorf("counter %d: %x, want %s", fcnt, got, want)
		}
	}
}

func bBlock(addr lorawan.DevAddr, fcnt uint32, msg []byte) []byte {
	b := []byte{0x49, 0, 0, 0, 0, 0}
	b = binary.LittleEndian.AppendUint32(b, uint32(addr))
	b = binary.LittleEndian.AppendUint32(b, fcnt)
	return append(append(b, 0, byte(len(msg))), msg...)
}

// The MICs are what Sum says of the blocks and the message written one after another.
func TestMICsAreSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msg := rapid.SliceOfN(rapid.Byte(), 1, 251).Draw(t, "msg")
		addr, fcnt := lorawan.DevAddr(rapid.Uint32().Draw(t, "addr")), rapid.Uint32().Draw(t, "fcnt")
		f := fNwk.Sum(bBlock(addr, fcnt, msg))
		if got := fNwk.UplinkMIC(addr, fcnt, msg); got != binary.BigEndian.Uint32(f[:]) {
			t.Fatalf("%08x, want %x", got, f[:4])
		}
	})
}

// What was encrypted is decrypted by the same call, in place as well, and by none with
// another direction, address or counter.
func TestCryptIsItsOwnInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOfN(rapid.Byte(), 0, 242).Draw(t, "plain")
		before := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "before")
		addr, fcnt := lorawan.DevAddr(rapid.Uint32().Draw(t, "addr")), rapid.Uint32().Draw(t, "fcnt")
		down := rapid.Bool().Draw(t, "down")
		sent := apps.Crypt(bytes.Clone(before), plain, down, addr, fcnt)
		if !bytes.HasPrefix(sent, before) || len(sent) != len(before)+len(plain) {
			t.Fatalf("%x after %x is %x", plain, before, sent)
		}
		sent = sent[len(before):]
		if len(plain) >= 8 {
			others := [][]byte{apps.Crypt(nil, sent, !down, addr, fcnt),
				apps.Crypt(nil, sent, down, addr+1, fcnt), apps.Crypt(nil, sent, down, addr, fcnt+1<<16)}
			for _, other := range others {
				if bytes.Equal(other, plain) {
					t.Fatalf("%x has two key streams", sent)
				}
			}
		}
		if got := apps.Crypt(sent[:0], sent, down, addr, fcnt); !bytes.Equal(got, plain) {
			t.Fatalf("%x came back as %x", plain, got)
		}
	})
}
