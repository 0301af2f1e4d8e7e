package lorawan_test

import (
	"encoding/binary"
	"fmt"
	"slices"

	"contend/systems/uplink/lorawan"
)

// The counter of a frame is known to 16 bits, its MIC is one of a list: the true
// counter is the one whose MIC is in the list. The message is a frame's without
// its MIC.
func ExampleFullFCnt() {
	device := lorawan.DemoDevice(1, 0)
	mic, payload := lorawan.NewCMAC(device.NwkSKey), lorawan.NewCipher(device.AppSKey)
	phy := lorawan.AppendUplink(nil, lorawan.Uplink{
		DevAddr: device.DevAddr, FCnt: 65_540, FPort: 1,
		Payload: binary.LittleEndian.AppendUint64(nil, 1_700_000_000_000_000_000),
	}, mic, payload)
	frame, err := lorawan.Parse(phy)
	if err != nil {
		fmt.Println(err)
		return
	}
	challenge := []uint32{0xdecade, frame.MIC}

	const last = 65_541 // this frame is late
	next := lorawan.FullFCnt(last, frame.FCnt)
	for _, fcnt := range []uint32{next, next + 1<<16, next - 1<<16} {
		if slices.Contains(challenge, mic.UplinkMIC(frame.DevAddr, fcnt, frame.Message())) {
			plain := payload.Crypt(nil, frame.Payload, false, frame.DevAddr, fcnt)
			fmt.Println(frame.Type, fcnt, binary.LittleEndian.Uint64(plain))
		}
	}
	// Output: unconfirmed uplink 65540 1700000000000000000
}
