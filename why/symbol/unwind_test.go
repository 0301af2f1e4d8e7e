package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// unwoundAddr is where the test's files have .eh_frame.
const unwoundAddr = codeAddr + 0x1000

// unwound writes .eh_frame of a function of 0x40 bytes at codeAddr: at first its caller goes on where the stack points to;
// after so many bytes (DW_CFA_advance_loc) it obeys the instructions.
func unwound(after byte, instructions ...byte) section {
	var text bytes.Buffer
	entry := func(id uint32, body []byte) {
		for len(body)%4 != 0 {
			body = append(body, frame.DW_CFA_nop)
		}
		_ = binary.Write(&text, binary.LittleEndian, []uint32{uint32(4 + len(body)), id})
		text.Write(body)
	}
	// Version 1, augmentation "zR"; units of code 1 and of data −8; returns are register 16; its data are 1 byte: addresses are
	// relative, of 4 bytes. The frame begins 8 above the stack pointer, which is where the return is.
	entry(0, []byte{1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, frame.DW_CFA_def_cfa, stackPointer, 8, frame.DW_CFA_offset | 16, 1})
	at := uint32(text.Len())
	body := binary.LittleEndian.AppendUint32(nil, uint32(0x100000000+codeAddr-(unwoundAddr+int64(at)+8)))
	body = append(binary.LittleEndian.AppendUint32(body, 0x40), 0, frame.DW_CFA_advance_loc|after)
	entry(at+4, append(body, instructions...))
	text.Write(make([]byte, 4))
	return section{name: ".eh_frame", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, addr: unwoundAddr, data: text.Bytes()}
}

// A file says at each of its addresses where callers are; nothing where it has no function, and if it cannot be understood.
func TestRulesAt(t *testing.T) {
	pushed := []byte{frame.DW_CFA_def_cfa_offset, 16, frame.DW_CFA_offset | framePointer, 2}
	for _, tt := range []struct {
		name    string
		section section
		at      uint64
		offset  int64 // of the frame from the stack pointer; 0: nothing is known
	}{
		{"at its start", unwound(4, pushed...), codeAddr, 8},
		{"after a push", unwound(4, pushed...), codeAddr + 4, 16},
		{"behind it", unwound(4, pushed...), codeAddr + 0x40, 0},
		{"an unknown instruction", unwound(4, 0x3e), codeAddr + 8, 0},
		{"nothing", section{name: ".eh_frame", kind: elf.SHT_PROGBITS, addr: unwoundAddr}, codeAddr, 0},
		{"another's section", section{name: ".eh_frame", kind: elf.SHT_PROGBITS, addr: unwoundAddr, data: []byte("\xff\xff\xff\xff????")}, codeAddr, 0},
	} {
		m := readModule(bytes.NewReader(image(0, tt.section)), noDebug)
		rules := rulesAt(m.unwound, tt.at)
		if (rules != nil) != (tt.offset != 0) {
			t.Errorf("%s: %+v", tt.name, rules)
		} else if rules != nil && (rules.CFA.Reg != stackPointer || rules.CFA.Offset != tt.offset) {
			t.Errorf("%s: %+v, want %d", tt.name, rules.CFA, tt.offset)
		}
	}
}
