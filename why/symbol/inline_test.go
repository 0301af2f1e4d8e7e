package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// inlines writes the description of one function of 0x40 bytes at 0x1000: values, a list of
// calls by their names and where they are in it, and where that list and the values are.
func inlines(values []byte, at, list uint32, calls ...any) *inlined {
	little := binary.LittleEndian
	var names, trees, table bytes.Buffer
	names.WriteByte(0)
	for i := 0; i < len(calls); i += 2 {
		_ = binary.Write(&trees, little, []uint32{0, uint32(names.Len()), uint32(calls[i+1].(int)), 0})
		fmt.Fprintf(&names, "%s\x00", calls[i])
	}
	table.Write([]byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8})
	table.Write(names.Bytes())
	h := goHeader{order: little, isGo120: true}
	h.words[0], h.words[3] = 1, 8
	h.words[6] = uint64(table.Len())
	table.Write(append([]byte{0}, values...))
	h.words[7] = uint64(table.Len())
	// The function's start and record, and its end; the record has 3 tables of values and 4 of data.
	_ = binary.Write(&table, little, []uint32{0, 12, 0x40, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4 << 24, 0, 0, at, 0, 0, 0, list})
	return &inlined{h, table.Bytes(), 0x1000, trees.Bytes(), maxValues}
}

// For 0x10 bytes nothing (0 more than -1, 16); for 0x10 call 1 (2 more, 4 as a varint); for 0x10 call 0
// (1 less, 1); and nothing about the rest.
var someValues = []byte{0, 0x10, 4, 0x10, 1, 0x10, 0}

func TestInlined(t *testing.T) {
	// Call 1 is one of inner at 0x28, where call 0 is, one of outer at 5, where none is.
	trees := func() *inlined { return inlines(someValues, 1, 0, "outer", 5, "inner", 0x28) }
	for addr, want := range map[uint64]string{
		0x1000: "", 0x100f: "", 0x1010: "inner 1028 outer 1005 ", 0x101f: "inner 1028 outer 1005 ", 0x1020: "outer 1005 ", 0x1030: "", 0x103f: "",
	} {
		if got := told(trees(), addr, 0x1000); got != want {
			t.Errorf("at %#x: %q, want %q", addr, got, want)
		}
	}
	cut := trees()
	cut.calls = cut.calls[:callSize+4]
	record := trees()
	record.table = record.table[:len(record.table)-20]
	few := trees()
	few.left = 3
	for what, tree := range map[string]*inlined{
		"no tree":       nil,
		"no values":     inlines(someValues, 0, 0, "outer", 5, "inner", 0x28),
		"no list":       inlines(someValues, 1, 1<<32-1, "outer", 5, "inner", 0x28),
		"a list beyond": inlines(someValues, 1, 1<<20, "outer", 5, "inner", 0x28),
		"values beyond": inlines(someValues, 1<<20, 0, "outer", 5, "inner", 0x28),
		"values cut":    inlines(someValues[:3], 1, 0, "outer", 5, "inner", 0x28),
		"in itself":     inlines(someValues, 1, 0, "outer", 5, "inner", 0x18),
		"no name":       inlines(someValues, 1, 0, "outer", 5, "", 0x28),
		"a list cut":    cut, "a record cut": record, "read enough": few,
	} {
		if got := told(tree, 0x1018, 0x1000); got != "" {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := told(trees(), 0x1018, 0x1008); got != "" {
		t.Errorf("of a function that starts elsewhere: %q", got)
	}
}

func told(t *inlined, addr, entry uint64) (all string) {
	for _, c := range t.at(addr, entry) {
		all += fmt.Sprintf("%s %x ", c.function.Name, c.at)
	}
	return all
}
