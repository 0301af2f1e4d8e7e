package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"os"
	"slices"
)

// A rawSymbol is an entry of a table of symbols, as the file has it.
type rawSymbol struct {
	span
	section elf.SectionIndex
	rank    int // of two names for the same the higher is better known
}

// readSymbols returns the functions of a table of symbols, nil without such a table.
func readSymbols(f elfFile, table elf.SectionType) *names {
	s := f.SectionByType(table)
	if s == nil || int(s.Link) >= len(f.Sections) {
		return nil
	}
	data, text := f.bytes(s, maxTable), f.bytes(f.Sections[s.Link], maxNames)
	var list []rawSymbol
	entry := elf.Sym64Size
	if f.Class == elf.ELFCLASS32 {
		entry = elf.Sym32Size
	}
	for ; len(data) >= entry; data = data[entry:] {
		// A table for linkers names some functions only, and so cannot tell where one
		// without a size ends.
		if sym, ok := f.symbol(data, text); ok && (sym.end > sym.start || table == elf.SHT_SYMTAB) {
			list = append(list, sym)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return newNames(f.arranged(list, text), text, 0)
}

// symbol reads one that is of code and has a name. Its end is its start if it tells no size.
func (f elfFile) symbol(data, text []byte) (sym rawSymbol, ok bool) {
	var info byte
	var size uint64
	sym.name = f.ByteOrder.Uint32(data)
	if f.Class == elf.ELFCLASS32 {
		sym.start, size = uint64(f.ByteOrder.Uint32(data[4:])), uint64(f.ByteOrder.Uint32(data[8:]))
		info, sym.section = data[12], elf.SectionIndex(f.ByteOrder.Uint16(data[14:]))
	} else {
		info, sym.section = data[4], elf.SectionIndex(f.ByteOrder.Uint16(data[6:]))
		sym.start, size = f.ByteOrder.Uint64(data[8:]), f.ByteOrder.Uint64(data[16:])
	}
	if int(sym.section) >= len(f.Sections) || int64(sym.name) >= int64(len(text)) {
		return sym, false
	}
	in := f.Sections[sym.section]
	if in.Flags&elf.SHF_EXECINSTR == 0 || sym.start < in.Addr || sym.start-in.Addr >= in.Size {
		return sym, false
	}
	sym.end = sym.start + min(size, in.Size-(sym.start-in.Addr))
	switch elf.ST_TYPE(info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		sym.rank = 10
	case elf.STT_NOTYPE:
	default:
		return sym, false
	}
	switch elf.ST_BIND(info) {
	case elf.STB_GLOBAL:
		sym.rank += 2
	case elf.STB_WEAK:
		sym.rank++
	}
	// Not labels: $x and the like say what follows on ARM, .L is the assembler's.
	name := text[sym.name:]
	return sym, name[0] != 0 && name[0] != '$' && !bytes.HasPrefix(name, []byte(".L"))
}

// arranged returns the functions in an order in which later ones cover earlier ones: first
// those without a size, until the next one starts; then nested ones after those around
// them; of several names for the same, the best known last.
func (f elfFile) arranged(list []rawSymbol, text []byte) []span {
	name := func(s rawSymbol) []byte {
		name := text[s.name:][:min(maxRaw, len(text)-int(s.name))]
		return name[:max(0, bytes.IndexByte(name, 0))]
	}
	slices.SortFunc(list, func(a, b rawSymbol) int {
		if by := cmp.Or(byAddress(a.span, b.span), cmp.Compare(a.rank, b.rank)); by != 0 || a.name == b.name {
			return by
		}
		return cmp.Or(-cmp.Compare(underscores(name(a)), underscores(name(b))), -bytes.Compare(name(a), name(b)))
	})
	var below, above []span
	next := ^uint64(0)
	for i, s := range slices.Backward(list) {
		if i+1 < len(list) && list[i+1].start > s.start {
			next = list[i+1].start
		}
		if s.end > s.start {
			above = append(above, s.span)
			continue
		}
		in := f.Sections[s.section]
		s.end = min(in.Addr+in.Size, next)
		below = append(below, s.span)
	}
	slices.Reverse(below)
	slices.Reverse(above)
	return append(below, above...)
}

// underscores counts those that a name begins with: a library's own names for what it
// offers, such as __libc_malloc for malloc.
func underscores(name []byte) int { return len(name) - len(bytes.TrimLeft(name, "_")) }

// buildID returns the ID that the linker gave to a file, in hexadecimal, empty if none.
// Source: Linux Foundation, "ELF Handling For Notes", and ld(1), --build-id.
func buildID(f elfFile) string {
	const gnu, most = 3, 1 << 10
	note := f.bytes(f.Section(".note.gnu.build-id"), most)
	if len(note) < 16 {
		return ""
	}
	name, size, kind := f.ByteOrder.Uint32(note), f.ByteOrder.Uint32(note[4:]), f.ByteOrder.Uint32(note[8:])
	if name != 4 || kind != gnu || string(note[12:16]) != "GNU\x00" || int64(size) > int64(len(note)-16) || size < 2 {
		return ""
	}
	return hex.EncodeToString(note[16 : 16+size])
}

// readDebug returns the symbols and inlined calls of the debug file with a build ID, nil without such a file.
func readDebug(id string, open func(id string) (*os.File, error)) (*names, *calls) {
	r, err := open(id)
	if err != nil {
		return nil, nil
	}
	defer r.Close()
	f, err := openELF(r)
	if err != nil || buildID(f) != id {
		return nil, nil
	}
	return readSymbols(f, elf.SHT_SYMTAB), readCalls(f)
}
