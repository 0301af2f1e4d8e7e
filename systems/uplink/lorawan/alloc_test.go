//go:build !race

// The race detector makes sync.Pool forget at random, so this runs without it.

package lorawan_test

import (
	"testing"

	"contend/systems/uplink/lorawan"
)

func TestHotPathDoesNotAllocate(t *testing.T) {
	uplink := lorawan.Uplink{DevAddr: ownAddr, FCnt: 1, FPort: 1, Payload: unhex("00002a36fe9c9717")}
	phy := lorawan.AppendUplink(nil, uplink, fNwk, apps)
	text := []byte("70b3d57ed0001234")
	buf := make([]byte, 0, 255)
	for name, f := range map[string]func(){
		"Parse":        func() { _, _ = lorawan.Parse(phy) },
		"UplinkMIC":    func() { fNwk.UplinkMIC(ownAddr, 1, phy[:17]) },
		"JoinMIC":      func() { fNwk.JoinMIC(phy[:19]) },
		"Crypt":        func() { apps.Crypt(buf, phy[9:17], false, ownAddr, 1) },
		"AppendUplink": func() { lorawan.AppendUplink(buf, uplink, fNwk, apps) },
		"AppendText":   func() { _, _ = lorawan.EUI(1).AppendText(buf) },
		"ParseEUI":     func() { _, _ = lorawan.ParseEUI(string(text)) },
		"AppendJoinRequest": func() {
			lorawan.AppendJoinRequest(buf, 1, 2, 3, fNwk)
		},
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
