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

// A function that was compiled while the program ran keeps a frame: the register points to that of its caller, after which it
// goes on. A frame that lies before the stack, or behind what is known of it, has none.
func TestLeaveCompiled(t *testing.T) {
	stack := make([]byte, 64)
	binary.LittleEndian.PutUint64(stack[16:], 0x1030)
	binary.LittleEndian.PutUint64(stack[24:], 0x7777)
	for _, tt := range []struct {
		frame uint64
		want  unwinder
		at    uint64
	}{
		{0x1010, unwinder{stack: 0x1020, frame: 0x1030}, 0x7777},
		{0xff0, unwinder{stack: 0x1000, frame: 0xff0}, 0},
		{0x1040, unwinder{stack: 0x1050}, 0},
		{0, unwinder{stack: 0x1000}, 0},
	} {
		u := unwinder{begin: 0x1000, memory: stack, stack: 0x1000, frame: tt.frame}
		if at := u.leaveCompiled(); at != tt.at || u.stack != tt.want.stack || u.frame != tt.want.frame {
			t.Errorf("from the frame at %#x to %#x with %#x and %#x, want %#x with %#x and %#x", tt.frame, at, u.stack, u.frame, tt.at, tt.want.stack, tt.want.frame)
		}
	}
}

func TestIsBundled(t *testing.T) {
	for _, tt := range []struct {
		mapped, program string
		want            bool
	}{
		{"/opt/shop/libshop.so", "/opt/shop/server", true},
		{"/opt/shop/lib/libshop.so.1", "/opt/shop/server", true},
		{"/opt/shop/server", "/opt/shop/server", false}, // the program itself
		{"/opt/shop2/libshop.so", "/opt/shop/server", false},
		{"/home/u/shop/build/libshop.so", "/home/u/shop/bin/server", true},
		{"/home/u/conda/lib/libssl.so.3", "/home/u/conda/bin/python3.14", false},
		{"/usr/lib/libc.so.6", "/home/u/shop/server", false},
		{"/lib/libc.so.6", "/server", false},
		{"/libshop.so", "/server", true},
		{"/home/u/shop/libshop.so", "", false},
	} {
		if got := isBundled(tt.mapped, tt.program); got != tt.want {
			t.Errorf("%s of %q: %v", tt.mapped, tt.program, got)
		}
	}
}
