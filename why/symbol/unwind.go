package symbol

import (
	"debug/elf"
	"encoding/binary"
	"runtime"
	"slices"
	"time"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"contend/internal/perf"
)

// maxUnwound bounds the part of a file that says how to find callers, in bytes: libc's has 120,000. It takes ten times
// as much memory.
const maxUnwound = 4 << 20

// Registers of x86-64 as DWARF numbers them (System V ABI, AMD64 supplement, figure 3.36).
const (
	framePointer = 6
	stackPointer = 7
)

// A Thread is what is known of one: the address of an instruction, the registers of frames (0: not known) and of the stack,
// all in user space, and what there is on the stack from there on.
type Thread struct {
	Instruction, Frame, Pointer uint64
	Stack                       []byte
}

// Calls returns a function that finds where a thread of a process is, and the calls that led there, the innermost first. They are
// found by what files say of their stacks (.eh_frame, in Go .debug_frame), and by the register of frames in code that was
// compiled while the program ran. They end with the stack, at a function whose frame is found by another register, and at one
// of Go if the register of frames was known at the instruction: Go keeps it, and changes stacks, so that it says more. On other
// machines than x86-64 there are none. What Frames says of processes and maps holds here, too, and the addresses are as it wants
// them. One goroutine at a time may call the function.
func (r *Resolver) Calls(maps []perf.Map, since time.Time) func(Thread) []uint64 {
	type place struct {
		mapped bool
		in     *module
		rules  *frame.FrameContext // nil: not known
	}
	find, known := r.finder(maps, since), map[uint64]place{}
	at := func(address uint64) place {
		p, ok := known[address]
		if !ok {
			var virtual uint64
			p.mapped = slices.ContainsFunc(maps, func(m perf.Map) bool { return m.Start <= address && address < m.End })
			if p.in, virtual = find(address); p.in != nil {
				p.rules = rulesAt(p.in.unwound, virtual)
			}
			known[address] = p
		}
		return p
	}
	return func(t Thread) []uint64 {
		addresses := []uint64{t.Instruction}
		u := unwinder{begin: t.Pointer, memory: t.Stack, stack: t.Pointer, frame: t.Frame}
		for runtime.GOARCH == "amd64" {
			p, goesOn := at(addresses[len(addresses)-1]), uint64(0)
			switch {
			case p.in == nil:
				goesOn = u.leaveCompiled()
			case p.rules != nil && (p.in.golang == nil || t.Frame == 0):
				goesOn = u.leave(p.rules)
			}
			if goesOn == 0 || !at(goesOn-1).mapped {
				break
			}
			addresses = append(addresses, goesOn-1)
		}
		return addresses
	}
}

// finder returns a function that finds the file that an address is in, nil if it has no code, and the address there.
func (r *Resolver) finder(maps []perf.Map, since time.Time) func(address uint64) (*module, uint64) {
	shown := map[mappedFile]*module{}
	mapped := lay(len(maps), func(i int) (start, end uint64) { return maps[i].Start, maps[i].End })
	return func(address uint64) (*module, uint64) {
		at, ok := mapped.top(address)
		if !ok {
			return nil, 0
		}
		m := r.module(maps[at], shown, since)
		if !m.isCode() {
			return nil, 0
		}
		return m, m.virtual(address - maps[at].Start + maps[at].Offset)
	}
}

// An unwinder knows the registers of a function, and what there is from an address on.
type unwinder struct {
	begin  uint64
	memory []byte
	stack  uint64
	frame  uint64 // 0: not known
}

// leave goes to the caller of a function by its rules, and returns where that goes on; 0: it is not known.
func (u *unwinder) leave(rules *frame.FrameContext) uint64 {
	if rules.CFA.Rule != frame.RuleCFA {
		return 0
	}
	base := u.stack
	switch {
	case rules.CFA.Reg == framePointer && u.frame != 0:
		base = u.frame
	case rules.CFA.Reg != stackPointer:
		return 0
	}
	base += uint64(rules.CFA.Offset)
	if base <= u.stack {
		return 0 // a stack grows down: it has no end otherwise
	}
	if saved, ok := rules.Regs[framePointer]; ok && saved.Rule == frame.RuleOffset {
		u.frame = u.word(base + uint64(saved.Offset))
	}
	u.stack = base
	goesOn, ok := rules.Regs[rules.RetAddrReg]
	if !ok || goesOn.Rule != frame.RuleOffset {
		return 0 // the outermost
	}
	return u.word(base + uint64(goesOn.Offset))
}

// leaveCompiled goes to the caller of a function that is in no file, as leave does, if it keeps a frame pointer.
func (u *unwinder) leaveCompiled() uint64 {
	at := u.frame
	if at < u.stack {
		return 0
	}
	u.frame, u.stack = u.word(at), at+16
	return u.word(at + 8)
}

// word reads from memory; 0: it is not known.
func (u *unwinder) word(address uint64) uint64 {
	at := address - u.begin
	if uint64(len(u.memory)) < 8 || at > uint64(len(u.memory)-8) {
		return 0
	}
	return binary.LittleEndian.Uint64(u.memory[at:])
}

// rulesAt says where a function has put at an address what its caller needs, nil if that is not known. The package frame may
// panic when a file is malicious, here and below.
func rulesAt(entries frame.FrameDescriptionEntries, address uint64) (rules *frame.FrameContext) {
	defer func() {
		if recover() != nil {
			rules = nil
		}
	}()
	entry, err := entries.FDEForPC(address)
	if err != nil {
		return nil
	}
	rules, _ = entry.EstablishFrame(address)
	return rules
}

// readUnwound returns what a file says of its stacks, that of Go in its debug information (.debug_frame); nil if that is
// nothing, too much, or not understood.
func readUnwound(f elfFile, isGo bool) (entries frame.FrameDescriptionEntries) {
	defer func() {
		if recover() != nil {
			entries = nil
		}
	}()
	whole, err := elf.NewFile(f.r)
	if err != nil || f.Machine != elf.EM_X86_64 {
		return nil
	}
	name := ".eh_frame"
	if isGo {
		name = ".debug_frame"
	}
	section := whole.Section(name)
	if section == nil || section.Size > maxUnwound {
		return nil
	}
	data, err := section.Data()
	if err != nil {
		return nil
	}
	read, err := frame.Parse(data, f.ByteOrder, 0, 8, section.Addr) // 0: it is not .eh_frame
	if err != nil {
		return nil
	}
	return entries.Append(read) // sorted
}
