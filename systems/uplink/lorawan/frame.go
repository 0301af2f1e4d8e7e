// Package lorawan reads frames of LoRaWAN 1.0 and 1.1, and builds uplinks of 1.0 with
// their message integrity codes and their encryption. A MIC as a number is its
// four bytes in the order of transmission, most significant first.
//
// The layouts are those of the LoRaWAN 1.1 specification, chapters 4 and 6.
package lorawan

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A Type is what a frame is for: bits 7 to 5 of its first byte.
type Type uint8

// The types.
const (
	JoinRequest Type = iota
	JoinAccept
	UnconfirmedUp
	UnconfirmedDown
	ConfirmedUp
	ConfirmedDown
	RejoinRequest
	Proprietary
)

func (t Type) String() string {
	return [...]string{"join request", "join accept", "unconfirmed uplink", "unconfirmed downlink",
		"confirmed uplink", "confirmed downlink", "rejoin request", "proprietary"}[t&7]
}

// The kinds of errors of Parse.
var (
	ErrSize       = errors.New("lorawan: size")
	ErrVersion    = errors.New("lorawan: major version")
	ErrOptions    = errors.New("lorawan: options longer than the frame")
	ErrRejoinType = errors.New("lorawan: rejoin type")
)

// The bits of FCtrl in an uplink.
const (
	ADR       = 0x80 // adaptive data rate
	ADRACKReq = 0x40 // a downlink is asked for
	ACK       = 0x20 // acknowledges a confirmed downlink
	ClassB    = 0x10
)

const (
	minFrame = 12
	// maxFrame is the longest payload of the physical layers of LoRa and FSK; a B
	// block also holds the length in a byte.
	maxFrame = 255
	micSize  = 4
	// fCtrlOptions is the part of FCtrl that holds the length of FOpts.
	fCtrlOptions = 0x0f
	dataHeader   = 8 // MHDR, DevAddr, FCtrl, FCnt
)

// A Frame is a PHYPayload taken apart. Its slices are parts of what was parsed.
type Frame struct {
	Type Type
	MIC  uint32
	// For data frames. FCnt is the low half of the counter; FPort is -1 if absent.
	DevAddr DevAddr
	FCtrl   byte
	FCnt    uint16
	FOpts   []byte
	FPort   int
	// Payload is FRMPayload, encrypted. For a join accept, which is encrypted with
	// its MIC, and for a proprietary frame it is everything from MHDR to MIC.
	Payload []byte
	// For join requests, and for rejoin requests, where Nonce is RJcount; types 0
	// and 2 have no JoinEUI.
	JoinEUI, DevEUI EUI
	Nonce           uint16
	RejoinType      byte

	message []byte
}

// Message returns all before the MIC.
func (f *Frame) Message() []byte { return f.message }

// MICOf returns the MIC of a frame, 0 if it is too short to have one.
func MICOf(phy []byte) uint32 {
	if len(phy) < micSize {
		return 0
	}
	return binary.BigEndian.Uint32(phy[len(phy)-micSize:])
}

// AddrOf returns the address in a frame, if it is a data uplink: anybody's device may
// have the same.
func AddrOf(phy []byte) (DevAddr, bool) {
	if len(phy) < minFrame {
		return 0, false
	}
	t := Type(phy[0] >> 5)
	return DevAddr(binary.LittleEndian.Uint32(phy[1:])), t == UnconfirmedUp || t == ConfirmedUp
}

// Parse takes a PHYPayload apart: 12 to 255 bytes, MIC included, which it does not
// check. An error is one of ErrSize, ErrVersion, ErrOptions and ErrRejoinType in the
// sense of errors.Is.
func Parse(phy []byte) (Frame, error) {
	if len(phy) < minFrame || len(phy) > maxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes; expected %d to %d", ErrSize, len(phy), minFrame, maxFrame)
	}
	f := Frame{Type: Type(phy[0] >> 5), FPort: -1, MIC: MICOf(phy), message: phy[:len(phy)-micSize]}
	if major := phy[0] & 3; major != 0 && f.Type != Proprietary {
		return Frame{}, fmt.Errorf("%w: %d in %s; expected 0", ErrVersion, major, f.Type)
	}
	var err error
	switch f.Type {
	case JoinRequest:
		err = f.parseJoin()
	case RejoinRequest:
		err = f.parseRejoin()
	case JoinAccept:
		f.Payload = f.message[1:]
		err = f.checkSize(17, 33)
	case Proprietary:
		f.Payload = f.message[1:]
	default:
		err = f.parseData()
	}
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

// checkSize refuses a frame that is neither a nor b bytes long, MIC included.
func (f *Frame) checkSize(a, b int) error {
	switch size := len(f.message) + micSize; {
	case size == a || size == b:
		return nil
	case a == b:
		return fmt.Errorf("%w: %s has %d bytes; expected %d", ErrSize, f.Type, size, a)
	default:
		return fmt.Errorf("%w: %s has %d bytes; expected %d, %d", ErrSize, f.Type, size, a, b)
	}
}

func (f *Frame) parseData() error {
	m := f.message
	f.DevAddr = DevAddr(binary.LittleEndian.Uint32(m[1:]))
	f.FCtrl = m[5]
	f.FCnt = binary.LittleEndian.Uint16(m[6:])
	options := dataHeader + int(f.FCtrl&fCtrlOptions)
	if options > len(m) {
		return fmt.Errorf("%w: %d bytes of %s, have %d", ErrOptions, options-dataHeader, f.Type, len(m)-dataHeader)
	}
	f.FOpts = m[dataHeader:options]
	if len(m) > options {
		f.FPort = int(m[options])
		f.Payload = m[options+1:]
	}
	return nil
}

func (f *Frame) parseJoin() error {
	if err := f.checkSize(23, 23); err != nil {
		return err
	}
	f.JoinEUI = EUI(binary.LittleEndian.Uint64(f.message[1:]))
	f.DevEUI = EUI(binary.LittleEndian.Uint64(f.message[9:]))
	f.Nonce = binary.LittleEndian.Uint16(f.message[17:])
	return nil
}

// parseRejoin reads type 0 or 2, with a NetID of three bytes before the DevEUI, or
// type 1, with a JoinEUI there.
func (f *Frame) parseRejoin() error {
	m := f.message
	f.RejoinType = m[1]
	size, devEUI := 19, 5
	switch f.RejoinType {
	case 0, 2:
	case 1:
		size, devEUI = 24, 10
	default:
		return fmt.Errorf("%w: %d; expected 0 to 2", ErrRejoinType, f.RejoinType)
	}
	if err := f.checkSize(size, size); err != nil {
		return err
	}
	if f.RejoinType == 1 {
		f.JoinEUI = EUI(binary.LittleEndian.Uint64(m[2:]))
	}
	f.DevEUI = EUI(binary.LittleEndian.Uint64(m[devEUI:]))
	f.Nonce = binary.LittleEndian.Uint16(m[devEUI+8:])
	return nil
}

// Sender returns the bytes of an uplink that identify who sent it: DevAddr of data frames, DevEUI of join and
// rejoin requests, in the order of transmission. For any other frame it is the whole frame.
func Sender(phy []byte) []byte {
	if len(phy) < minFrame {
		return phy
	}
	from, to := 0, len(phy)
	switch Type(phy[0] >> 5) {
	case UnconfirmedUp, ConfirmedUp:
		from, to = 1, 5
	case JoinRequest:
		from, to = 9, 17
	case RejoinRequest:
		if from, to = 5, 13; phy[1] == 1 {
			from, to = 10, 18
		}
	}
	if to > len(phy) {
		return phy
	}
	return phy[from:to]
}

// FullFCnt returns the smallest counter that is not below last and ends in low. If
// frames may be late or lost, the true one may also be 1<<16 more or less. Past
// 1<<32 it starts again at 0.
func FullFCnt(last uint32, low uint16) uint32 {
	full := last&^0xffff | uint32(low)
	if full < last {
		full += 1 << 16
	}
	return full
}
