package symbol

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"sort"
)

// Where the inlined calls of a function are described: in a table of values by address and
// a list of calls (PCDATA_InlTreeIndex, FUNCDATA_InlTree in Go's internal/abi/symtab.go).
const (
	inlineValues = 2
	inlineCalls  = 3
	callSize     = 16 // kind, name, where in the caller, line: runtime.inlinedCall, since Go 1.20
)

const (
	maxDepth  = 100     // of calls inlined into each other
	maxValues = 1 << 28 // bytes of tables of values that are read of a file: about 10 MB for 10,000 addresses
)

// inlined tells which calls the compiler of Go put into their callers.
type inlined struct {
	goHeader
	table []byte // of functions
	start uint64 // where text starts
	calls []byte // that those of functions lie in
	left  int    // bytes of values that may be read
}

// A call was put into its caller.
type call struct {
	function gosym.Sym
	at       uint64 // where in the caller it was
}

// readInlined returns the inlined calls of a program with a table of functions, nil if it is not
// of Go 1.20 or later, or does not tell where they are: some for PIE.
func readInlined(f elfFile, s *elf.Section, table []byte, header goHeader, start uint64) *inlined {
	if !header.isGo120 || f.Class != elf.ELFCLASS64 {
		return nil
	}
	words := moduleData(f, s.Addr)
	if words == nil || words[moduleText] != start {
		return nil
	}
	base := words[moduleCalls]
	for _, in := range f.Sections {
		if in.Flags&elf.SHF_ALLOC == 0 || base < in.Addr || base-in.Addr >= in.Size {
			continue
		}
		data := table // Go 1.26 has them in the same section
		if in != s {
			data = f.bytes(in, maxTable)
		}
		if offset := base - in.Addr; offset < uint64(len(data)) {
			return &inlined{header, table, start, data[offset:], maxValues}
		}
	}
	return nil
}

// The fields of runtime.moduledata, in words, since Go 1.20: the table's address is the first.
const (
	moduleText  = 22
	moduleCalls = 40
	moduleWords = 41
)

// moduleData returns the first words of what the runtime knows a program's table by, nil if it
// is not found; since Go 1.26 it has a section of its own.
func moduleData(f elfFile, table uint64) []uint64 {
	for _, name := range []string{".go.module", ".noptrdata"} {
		s := f.Section(name)
		data := f.bytes(s, maxTable)
		for at := 0; at+8*moduleWords <= len(data); at += 8 {
			if f.ByteOrder.Uint64(data[at:]) == table {
				return f.words(s.Addr+uint64(at), moduleWords)
			}
		}
	}
	return nil
}

// at returns the inlined calls that contain an address, the innermost first, in the
// function that starts at entry.
func (t *inlined) at(addr, entry uint64) []call {
	if t == nil {
		return nil
	}
	record := t.record(addr, entry)
	values, told := uint64(t.word(record, 11+inlineValues)), uint64(t.word(record, 11+t.word(record, 7)+inlineCalls))
	if record == nil || t.word(record, 7) <= inlineValues || record[43] <= inlineCalls || values == 0 || told == 1<<32-1 {
		return nil
	}
	var list []call
	for range maxDepth {
		index := t.value(values, addr-entry)
		if index < 0 {
			return list
		}
		from := told + uint64(index)*callSize
		if from+callSize > uint64(len(t.calls)) {
			return nil
		}
		name, ok := t.name(t.order.Uint32(t.calls[from+4:]))
		if !ok {
			return nil
		}
		addr = entry + uint64(t.order.Uint32(t.calls[from+8:]))
		list = append(list, call{gosym.Sym{Name: name}, addr})
	}
	return nil
}

// record returns the record of the function that contains an address, nil if it does not
// start at entry.
func (t *inlined) record(addr, entry uint64) []byte {
	functions := t.table[t.words[7]:]
	entries := functions[:8*t.words[0]]
	n := sort.Search(int(t.words[0]), func(i int) bool { return t.start+uint64(t.order.Uint32(entries[8*i:])) > addr })
	if n == 0 || t.start+uint64(t.order.Uint32(entries[8*(n-1):])) != entry {
		return nil
	}
	at := uint64(t.order.Uint32(entries[8*(n-1)+4:]))
	if at+44 > uint64(len(functions)) {
		return nil
	}
	return functions[at:]
}

// word returns a word of a record, 0 after its end.
func (t *inlined) word(record []byte, n uint32) uint32 {
	at := 4 * uint64(n)
	if at+4 > uint64(len(record)) {
		return 0
	}
	return t.order.Uint32(record[at:])
}

// value returns what a table of values has for an offset into its function, -1 if nothing: pairs of
// varints, by how much the value changes, from -1, and for how many instructions it holds
// (Cox, "Go 1.2 Runtime Symbol Information", 2013, go.dev/s/go12symtab).
func (t *inlined) value(values, offset uint64) int64 {
	from := t.words[6] + values
	if from > uint64(len(t.table)) {
		return -1
	}
	data := t.table[from:]
	data = data[:min(len(data), t.left)]
	defer func(all int) { t.left -= all - len(data) }(len(data))
	value, end := int64(-1), uint64(0)
	for first := true; ; first = false {
		change, n := binary.Uvarint(data)
		if n <= 0 || change == 0 && !first {
			return -1
		}
		length, m := binary.Uvarint(data[n:])
		if m <= 0 {
			return -1
		}
		data = data[n+m:]
		value += int64(change>>1) ^ -int64(change&1)
		if end += length * uint64(t.table[6]); offset < end {
			return value
		}
	}
}

// name returns one of the table's names, as far as maxRaw.
func (t *inlined) name(at uint32) (string, bool) {
	from := t.words[3] + uint64(at)
	if from >= uint64(len(t.table)) {
		return "", false
	}
	text := t.table[from:]
	text = text[:min(len(text), maxRaw)]
	if n := bytes.IndexByte(text, 0); n > 0 {
		return string(text[:n]), true
	}
	return "", false
}
