package symbol

import (
	"debug/elf"
	"encoding/binary"
	"hash"
	"hash/fnv"
	"io"
	"math"

	"golang.org/x/arch/x86/x86asm"
)

const (
	// maxCode bounds the code that is kept of a file: kubelet has 50 MB of it.
	maxCode = 96 << 20
	// maxFunction bounds the function that is read, in bytes.
	maxFunction = 1 << 20
	// leastBase is below where executables lie that are not made for any place (ld: 4 MiB). In others numbers are no addresses.
	leastBase = 64 << 10
)

// A Code tells whether a function is the same in two files. The zero value says that it is not known.
type Code struct {
	// Digest is that of its instructions, whatever the place of the function and of what it refers to: of a call it has the
	// name of what is called, and of data nothing.
	Digest uint64
	// At is where it begins, in its file.
	At uint64
}

// readCode keeps the code of a file for x86-64, by program header.
func (m *module) readCode(f elfFile) {
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return
	}
	left := uint64(maxCode)
	for _, p := range m.loads {
		if p.Filesz > left {
			return
		}
		left -= p.Filesz
		data := make([]byte, p.Filesz)
		if _, err := io.ReadFull(io.NewSectionReader(f.r, int64(p.Off), int64(p.Filesz)), data); err != nil {
			return
		}
		m.code = append(m.code, data)
	}
	m.lowest = math.MaxUint64
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			m.lowest, m.highest = min(m.lowest, p.Vaddr), max(m.highest, p.Vaddr+p.Memsz)
		}
	}
	m.codes = map[uint64]Code{}
}

// codeAt is that of the function at an address.
func (m *module) codeAt(addr uint64) Code {
	start, end := m.bounds(addr)
	if known, ok := m.codes[start]; ok {
		return known
	}
	code := Code{}
	if text := m.bytesOf(start, end); text != nil {
		h := fnv.New64a()
		if m.digest(h, text, start) {
			code = Code{h.Sum64(), start}
		}
		m.codes[start] = code
	}
	return code
}

// bytesOf is the code between two addresses; nil: it is not kept.
func (m *module) bytesOf(start, end uint64) []byte {
	for i, data := range m.code {
		base := m.loads[i].Vaddr
		if start >= base && end > start && end-base <= uint64(len(data)) && end-start <= maxFunction {
			return data[start-base : end-base]
		}
	}
	return nil
}

// digest hashes instructions, and reports whether all are known.
func (m *module) digest(h hash.Hash, text []byte, start uint64) bool {
	end := start + uint64(len(text))
	word := func(n uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	for at := start; len(text) > 0; {
		inst, err := x86asm.Decode(text, 64)
		if err != nil || inst.Len == 0 {
			return false
		}
		at, text = at+uint64(inst.Len), text[inst.Len:]
		word(uint64(inst.Op)<<8 | uint64(inst.DataSize))
		for _, p := range inst.Prefix {
			word(uint64(p &^ (x86asm.PrefixImplicit | x86asm.PrefixIgnored)))
		}
		for _, arg := range inst.Args {
			switch arg := arg.(type) {
			case x86asm.Reg:
				word(uint64(arg))
			case x86asm.Imm:
				word(m.number(int64(arg)))
			case x86asm.Mem:
				word(uint64(arg.Segment)<<32 | uint64(arg.Base)<<24 | uint64(arg.Index)<<8 | uint64(arg.Scale))
				if arg.Base != x86asm.RIP {
					word(m.number(arg.Disp))
				}
			case x86asm.Rel:
				if to := at + uint64(int64(arg)); to >= start && to < end {
					word(to - start)
				} else {
					io.WriteString(h, m.nameAt(to))
				}
			}
		}
	}
	return true
}

// number is one that an instruction has; 0 where it may be an address.
func (m *module) number(n int64) uint64 {
	if n := uint64(n); m.lowest < leastBase || n < m.lowest || n >= m.highest {
		return n
	}
	return 0
}

// nameAt is the name of the function at an address; "": it has none.
func (m *module) nameAt(addr uint64) string {
	if m.golang != nil {
		if f := m.golang.PCToFunc(addr); f != nil {
			return f.Name
		}
	}
	if m.symbols != nil {
		name, _ := m.symbols.at(addr)
		return name
	}
	return ""
}
