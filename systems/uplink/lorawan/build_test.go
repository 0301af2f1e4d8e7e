package lorawan_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"contend/systems/uplink/lorawan"

	"pgregory.net/rapid"
)

func TestAppendUplink(t *testing.T) {
	stamp := unhex("00002a36fe9c9717")
	for want, u := range map[string]lorawan.Uplink{
		"40da1b012600010001aac56bab96a29468de1a1801": {DevAddr: ownAddr, FCnt: 1, FPort: 1, Payload: stamp},
		"40da1b0126000100016728f482c7980382b044daa9": {DevAddr: ownAddr, FCnt: 65537, FPort: 1, Payload: stamp},
		"40da1b012600020004245032":                   {DevAddr: ownAddr, FCnt: 2, FPort: -1},
	} {
		if got := lorawan.AppendUplink(nil, u, fNwk, apps); hex.EncodeToString(got) != want {
			t.Errorf("%+v: %x, want %s", u, got, want)
		}
	}
}

func TestAppendJoinRequest(t *testing.T) {
	got := lorawan.AppendJoinRequest([]byte("x"), 0x70b3d57ed0001234, 0x0011223344556677, 0xabcd, fNwk)
	if want := "7800341200d07ed5b3707766554433221100cdab7b19a55d"; hex.EncodeToString(got) != want {
		t.Errorf("%x, want %s", got, want)
	}
}

// What was built is parsed to what it was built from, and its MIC is that of its message.
func TestUplinkRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		options := rapid.SliceOfN(rapid.Byte(), 0, 17).Draw(t, "FOpts")
		u := lorawan.Uplink{
			DevAddr: lorawan.DevAddr(rapid.Uint32().Draw(t, "addr")), FCnt: rapid.Uint32().Draw(t, "fcnt"),
			Confirmed: rapid.Bool().Draw(t, "confirmed"), FCtrl: rapid.Byte().Draw(t, "FCtrl"),
			FOpts: options, FPort: rapid.IntRange(-1, 255).Draw(t, "FPort"),
		}
		if u.FPort >= 0 {
			u.Payload = rapid.SliceOfN(rapid.Byte(), 0, 242-15).Draw(t, "payload")
		}
		before := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "before")
		phy := lorawan.AppendUplink(bytes.Clone(before), u, fNwk, apps)
		if !bytes.HasPrefix(phy, before) {
			t.Fatalf("%x does not start with %x", phy, before)
		}
		f, err := lorawan.Parse(phy[len(before):])
		if err != nil {
			t.Fatal(err)
		}
		if f.DevAddr != u.DevAddr || f.FCnt != uint16(u.FCnt) || f.FPort != u.FPort || f.FCtrl&0xf0 != u.FCtrl&0xf0 ||
			(f.Type == lorawan.ConfirmedUp) != u.Confirmed || !bytes.Equal(f.FOpts, options[:min(len(options), 15)]) {
			t.Fatalf("%+v became %+v", u, f)
		}
		if mic := fNwk.UplinkMIC(u.DevAddr, u.FCnt, f.Message()); mic != f.MIC {
			t.Fatalf("MIC %08x of a message with %08x", f.MIC, mic)
		}
		if plain := apps.Crypt(nil, f.Payload, false, u.DevAddr, u.FCnt); !bytes.Equal(plain, u.Payload) {
			t.Fatalf("payload %x became %x", u.Payload, plain)
		}
	})
}
