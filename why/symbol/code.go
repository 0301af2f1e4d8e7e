package symbol

import (
	"debug/elf"
	"encoding/binary"
	"hash/fnv"
	"io"
)

const (
	// maxCode bounds the code that is kept of a file: kubelet has 50 MB of it.
	maxCode = 96 << 20
	// maxFunction bounds the function that is read, in bytes.
	maxFunction = 1 << 20
)

// A Code tells whether a function is the same in two files. The zero value says that it is not known.
type Code struct {
	// Digest is that of its bytes, whatever the place of the function and of what it refers to: of a call it has the name of
	// what is called, and of data nothing.
	Digest uint64
	// At is where it begins, in its file.
	At uint64
}

// A text is a section of code, as the file has it.
type text struct {
	at   uint64
	code []byte
}

// readCode keeps the code of a file for x86-64, and where its data lies.
func (m *module) readCode(f elfFile) {
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return
	}
	left := uint64(maxCode)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			code := f.bytes(s, left)
			left -= uint64(len(code))
			m.texts = append(m.texts, text{s.Addr, code})
		}
		if s.Name != ".text" {
			m.data = append(m.data, s)
		}
	}
	m.codes = map[uint64]Code{}
}

// codeAt is that of the function at an address.
func (m *module) codeAt(addr uint64) Code {
	_, start, end := m.functionAt(addr)
	if known, ok := m.codes[start]; ok {
		return known
	}
	for _, t := range m.texts {
		if start >= t.at && end > start && end-t.at <= uint64(len(t.code)) && end-start <= maxFunction {
			m.codes[start] = Code{m.digest(t.code[start-t.at:end-t.at], start), start}
		}
	}
	return m.codes[start]
}

// digest hashes the code of a function at an address. What refers to a place relative to itself is found without
// knowing where instructions begin: four bytes after a call or jump that lead to the beginning of another function, or
// after a byte that may say that data at such a distance is meant (mod 00, r/m 101), if there is data. In a few
// instructions that byte means a number; one that is as far as data is then left out. Source: AMD64 Architecture
// Programmer's Manual, volume 3, 1.4 and 1.7.
func (m *module) digest(code []byte, start uint64) uint64 {
	const far = 4
	h := fnv.New64a()
	for i := 0; i < len(code); i++ {
		h.Write(code[i : i+1])
		if len(code)-i <= far {
			continue
		}
		to := start + uint64(i+1+far) + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))
		call, name := code[i] == 0xe8 || code[i] == 0xe9 || i > 0 && code[i-1] == 0x0f && code[i]&0xf0 == 0x80, ""
		if call {
			if function, entry, _ := m.functionAt(to); entry == to && entry != start && to != 0 {
				name = function
			}
		}
		if name != "" || (call || code[i]&0xc7 == 0x05) && covers(m.data, to) {
			io.WriteString(h, name)
			i += far
		}
	}
	return h.Sum64()
}
