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

// readCode keeps the code of a file for x86-64, by program header, and where its data lies.
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
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Size > 0 && (s.Flags&elf.SHF_EXECINSTR == 0 || s.Name != ".text") {
			m.data = append(m.data, span{start: s.Addr, end: s.Addr + s.Size})
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
	for i, data := range m.code {
		base := m.loads[i].Vaddr
		if start >= base && end > start && end-base <= uint64(len(data)) && end-start <= maxFunction {
			m.codes[start] = Code{m.digest(data[start-base:end-base], start), start}
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
		call := code[i] == 0xe8 || code[i] == 0xe9 || i > 0 && code[i-1] == 0x0f && code[i]&0xf0 == 0x80
		name := ""
		if entry, _ := m.bounds(to); call && entry == to && entry != start && to != 0 {
			name = m.nameAt(to)
		}
		if name != "" || (call || code[i]&0xc7 == 0x05) && m.isData(to) {
			io.WriteString(h, name)
			i += far
		}
	}
	return h.Sum64()
}

// isData reports whether something else than the program's own functions is at an address.
func (m *module) isData(addr uint64) bool {
	for _, s := range m.data {
		if addr >= s.start && addr < s.end {
			return true
		}
	}
	return false
}

// nameAt is the name of the function at an address; "": it has none.
func (m *module) nameAt(addr uint64) string {
	if m.golang != nil {
		if f := m.golang.PCToFunc(addr); f != nil {
			return f.Name
		}
	}
	name, _ := m.symbols.at(addr)
	return name
}
