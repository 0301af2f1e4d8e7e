package lorawan_test

import (
	"testing"

	"contend/systems/uplink/lorawan"
)

// A 17-byte message is the published one: an 8-byte payload. The bar is 150 ns.
func BenchmarkUplinkMIC(b *testing.B) {
	msg := unhex("40da1b012600010001aac56bab96a29468")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		fNwk.UplinkMIC(ownAddr, uint32(i), msg)
	}
}

func BenchmarkCrypt(b *testing.B) {
	buf := make([]byte, 8)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		apps.Crypt(buf[:0], buf, false, ownAddr, uint32(i))
	}
}

func BenchmarkParse(b *testing.B) {
	phy := unhex("40da1b012600010001aac56bab96a29468de1a1801")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lorawan.Parse(phy); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendUplink(b *testing.B) {
	u := lorawan.Uplink{DevAddr: ownAddr, FPort: 1, Payload: make([]byte, 8)}
	buf := make([]byte, 0, 32)
	b.ReportAllocs()
	for b.Loop() {
		u.FCnt++
		lorawan.AppendUplink(buf, u, fNwk, apps)
	}
}

func BenchmarkNewCMAC(b *testing.B) {
	var k lorawan.Key
	b.ReportAllocs()
	for b.Loop() {
		lorawan.NewCMAC(k)
	}
}

func BenchmarkDemoDevice(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		lorawan.DemoDevice(1, i)
	}
}
