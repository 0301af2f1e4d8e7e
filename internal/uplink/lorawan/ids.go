package lorawan

import (
	"fmt"
	"strconv"
)

// An EUI is a 64-bit identifier of a device, a join server or a gateway. Its text
// is 16 hexadecimal digits in lower case; upper case is read, too.
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

func parseHex(text string, digits int) (uint64, error) {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != digits {
		return 0, fmt.Errorf("lorawan: %.40q is not %d hexadecimal digits", text, digits)
	}
	return n, nil
}

func (e EUI) String() string     { return fmt.Sprintf("%016x", uint64(e)) }
func (a DevAddr) String() string { return fmt.Sprintf("%08x", uint32(a)) }

// MarshalText returns the text.
func (e EUI) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// MarshalText returns the text.
func (a DevAddr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

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
