package lorawan_test

import (
	"testing"

	"contend/systems/uplink/lorawan"

	"pgregory.net/rapid"
)

// Whatever was written with the devices of a seed stays readable: these values
// may not change.
func TestDemoDeviceIsStable(t *testing.T) {
	want := lorawan.Device{
		DevEUI: 0xa67c390c95a7e958, JoinEUI: 0xb67c390c00000000, DevAddr: 0x03a7e958,
		NwkSKey: key("48bdd9d84b6e68fab9a7a4879e34e287"), AppSKey: key("7f0d1b2f329e700ae22d8b57e0a830e8"),
	}
	if got := lorawan.DemoDevice(1, 2); got != want {
		t.Errorf("device 2 of seed 1 is %#v, want %#v", got, want)
	}
}

// 1<<17 neighbours, and any two of the first 1<<24.
func TestDemoDevicesAreDistinct(t *testing.T) {
	euis, addrs := map[lorawan.EUI]bool{}, map[lorawan.DevAddr]bool{}
	keys := map[lorawan.Key]bool{}
	const n = 1 << 17
	for i := range n {
		d := lorawan.DemoDevice(3, i)
		euis[d.DevEUI], addrs[d.DevAddr] = true, true
		keys[d.NwkSKey], keys[d.AppSKey] = true, true
	}
	if len(euis) != n || len(addrs) != n || len(keys) != 2*n {
		t.Errorf("%d devices have %d DevEUIs, %d addresses, %d keys", n, len(euis), len(addrs), len(keys))
	}
	rapid.Check(t, func(t *rapid.T) {
		seed, number := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1<<24-1)
		i, j := number.Draw(t, "i"), number.Draw(t, "j")
		a, b := lorawan.DemoDevice(seed, i), lorawan.DemoDevice(seed, j)
		if same := i == j; (a == b) != same || (a.DevEUI == b.DevEUI) != same || (a.DevAddr == b.DevAddr) != same {
			t.Fatalf("devices %d and %d are %v and %v", i, j, a, b)
		}
		if a.JoinEUI != b.JoinEUI || a.JoinEUI>>60 == 0 || a.DevEUI>>60 == 0 || a.DevAddr>>25 != 1 {
			t.Fatalf("devices %d and %d are %v and %v", i, j, a, b)
		}
		if other := lorawan.DemoDevice(seed+1, i); other.NwkSKey == a.NwkSKey {
			t.Fatalf("seeds %d and %d share a key", seed, seed+1)
		}
	})
}

// Devices whose keys are kept are those of DemoDevice, also if there are more than are kept.
func TestPreparedDevices(t *testing.T) {
	for _, n := range []int{1, 3, 1 << 20} {
		devices := lorawan.NewDemoDevices(5, n)
		for _, i := range []int{0, n - 1, n / 2, 0} {
			want := lorawan.DemoDevice(5, i)
			if got := devices.Device(i); got.Device != want || got.MIC == nil || got.Payload == nil {
				t.Errorf("device %d of %d is %v, want %v", i, n, got.Device, want)
			}
		}
	}
}

func TestAddrOf(t *testing.T) {
	for _, c := range []struct {
		mhdr byte
		size int
		want bool
	}{{0x40, 12, true}, {0x80, 12, true}, {0x60, 12, false}, {0x00, 23, false}, {0x40, 11, false}} {
		frame := append([]byte{c.mhdr, 4, 3, 2, 1}, make([]byte, c.size-5)...)
		if addr, ok := lorawan.AddrOf(frame); ok != c.want || ok && addr != 0x01020304 {
			t.Errorf("%d bytes that begin with %#x: %v, %v", c.size, c.mhdr, addr, ok)
		}
	}
}
