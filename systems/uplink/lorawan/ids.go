package lorawan

import (
	"fmt"
	"strconv"
	"strings"
)

// An EUI is a 64-bit identifier of a device, a join server or a gateway. Its text
// is 16 hexadecimal digits in lower case; upper case can be read as well.
type EUI uint64

// A DevAddr is the 32-bit address of a session, which several devices may share.
// Its text is 8 hexadecimal digits, as those of an EUI.
type DevAddr uint32

// A Key is an AES-128 key.
type Key [16]byte

// ParseEUI reads the text of an EUI.
func ParseEUI(text string) (EUI, error) {
	n, err := parseHex(text, 16)
	return EUI(n), err
}

// ParseDevAddr reads the text of a DevAddr.
func ParseDevAddr(text string) (DevAddr, error) {
	n, err := parseHex(text, 8)
	return DevAddr(n), err
}

// parseHex keeps no part of the text, so that the conversion of a short slice to it
// does not allocate.
func parseHex(text string, digits int) (uint64, error) {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != digits {
		return 0, fmt.Errorf("lorawan: %.40q is not %d hexadecimal digits", strings.Clone(text), digits)
	}
	return n, nil
}

func (e EUI) String() string     { return string(appendHex(nil, uint64(e), 16)) }
func (a DevAddr) String() string { return string(appendHex(nil, uint64(a), 8)) }

// AppendText appends the text.
func (e EUI) AppendText(dst []byte) ([]byte, error) { return appendHex(dst, uint64(e), 16), nil }

// AppendText appends the text.
func (a DevAddr) AppendText(dst []byte) ([]byte, error) { return appendHex(dst, uint64(a), 8), nil }

func appendHex(dst []byte, n uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[n>>shift&0xf])
	}
	return dst
}

func (e EUI) MarshalText() ([]byte, error) { return e.AppendText(nil) }

func (a DevAddr) MarshalText() ([]byte, error) { return a.AppendText(nil) }

// UnmarshalText reads what MarshalText writes.
func (e *EUI) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEUI(string(text))
	return err
}

// UnmarshalText reads what MarshalText writes.
func (a *DevAddr) UnmarshalText(text []byte) (err error) {
	*a, err = ParseDevAddr(string(text))
	return err
}
