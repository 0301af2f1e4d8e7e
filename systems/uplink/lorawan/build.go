package lorawan

import "encoding/binary"

// An Uplink is a data uplink to be built.
type Uplink struct {
	DevAddr   DevAddr
	FCnt      uint32
	Confirmed bool
	FCtrl     byte   // ADR, ADRACKReq, ACK, ClassB; the other bits are not used
	FOpts     []byte // at most 15 bytes; what is beyond is not sent
	FPort     int    // 0 to 255; -1: without port and payload
	Payload   []byte // plain, at most 242 bytes without FOpts
}

// AppendUplink appends the frame of LoRaWAN 1.0 to dst. The payload's key belongs to the
// port; it may be nil without a payload. dst and the slices of u must not overlap.
func AppendUplink(dst []byte, u Uplink, mic *CMAC, payload *Cipher) []byte {
	start := len(dst)
	options := u.FOpts[:min(len(u.FOpts), fCtrlOptions)]
	kind := UnconfirmedUp
	if u.Confirmed {
		kind = ConfirmedUp
	}
	dst = append(dst, byte(kind)<<5)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(u.DevAddr))
	dst = append(dst, u.FCtrl&^fCtrlOptions|byte(len(options)))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(u.FCnt))
	dst = append(dst, options...)
	if u.FPort >= 0 {
		dst = append(dst, byte(u.FPort))
		if len(u.Payload) > 0 {
			dst = payload.Crypt(dst, u.Payload, false, u.DevAddr, u.FCnt)
		}
	}
	return binary.BigEndian.AppendUint32(dst, mic.UplinkMIC(u.DevAddr, u.FCnt, dst[start:]))
}

// AppendJoinRequest appends the frame to dst; the key is AppKey (1.0) or NwkKey (1.1).
func AppendJoinRequest(dst []byte, joinEUI, devEUI EUI, nonce uint16, mic *CMAC) []byte {
	start := len(dst)
	dst = append(dst, byte(JoinRequest)<<5)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(joinEUI))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(devEUI))
	dst = binary.LittleEndian.AppendUint16(dst, nonce)
	return binary.BigEndian.AppendUint32(dst, mic.JoinMIC(dst[start:]))
}
