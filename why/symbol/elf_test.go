package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// Where the test's own ELF files have their code: at this offset, mapped to this address.
const (
	codeOffset = 0x1000
	codeAddr   = 0x401000
	codeSize   = 0x200
)

// A section of an ELF file that a test writes.
type section struct {
	name  string
	kind  elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	link  uint32
	data  []byte
}

// image writes an ELF file for 64 bits: two sections of code, the first mapped at codeAddr
// and the second right after it, and others, from number 3 up.
func image(entry uint64, others ...section) []byte {
	code := section{".text", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, codeAddr, 0, make([]byte, codeSize)}
	fini := section{".fini", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, codeAddr + codeSize, 0, make([]byte, 0x10)}
	sections := append([]section{{}, code, fini}, others...)
	sections = append(sections, section{name: ".shstrtab", kind: elf.SHT_STRTAB})
	var names bytes.Buffer
	starts := make([]uint32, len(sections))
	for i, s := range sections {
		starts[i] = uint32(names.Len())
		names.WriteString(s.name + "\x00")
	}
	sections[len(sections)-1].data = names.Bytes()

	body := make([]byte, codeOffset) // the headers' place
	var table bytes.Buffer
	for i, s := range sections {
		_ = binary.Write(&table, binary.LittleEndian, elf.Section64{Name: starts[i], Type: uint32(s.kind), Flags: uint64(s.flags),
			Addr: s.addr, Off: uint64(len(body)), Size: uint64(len(s.data)), Link: s.link})
		body = append(body, s.data...)
	}
	var head bytes.Buffer
	_ = binary.Write(&head, binary.LittleEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Entry: entry,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
		Shoff: uint64(len(body)), Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	})
	_ = binary.Write(&head, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X),
		Off: codeOffset, Vaddr: codeAddr, Filesz: codeSize + 0x10, Memsz: codeSize + 0x10})
	copy(body, head.Bytes())
	return append(body, table.Bytes()...)
}

// A sym is a symbol in a file that a test writes.
type sym struct {
	name       string
	bind       elf.SymBind
	kind       elf.SymType
	section    elf.SectionIndex
	start, len uint64 // the start is counted from codeAddr
}

// symbolTable writes a table of symbols and its names, which are section 4 and are to be
// written after it.
func symbolTable(kind elf.SectionType, symbols ...sym) []section {
	table := bytes.NewBuffer(make([]byte, elf.Sym64Size))
	names := bytes.NewBufferString("\x00")
	for _, s := range symbols {
		_ = binary.Write(table, binary.LittleEndian, elf.Sym64{Name: uint32(names.Len()), Info: elf.ST_INFO(s.bind, s.kind),
			Shndx: uint16(s.section), Value: codeAddr + s.start, Size: s.len})
		names.WriteString(s.name + "\x00")
	}
	return []section{{name: ".symtab", kind: kind, link: 4, data: table.Bytes()},
		{name: ".strtab", kind: elf.SHT_STRTAB, data: names.Bytes()}}
}

// buildNote writes the section that has a build ID.
func buildNote(id string) section {
	note := append([]byte{4, 0, 0, 0, byte(len(id)), 0, 0, 0, 3, 0, 0, 0}, "GNU\x00"+id...)
	return section{name: ".note.gnu.build-id", kind: elf.SHT_NOTE, data: note}
}

func noDebug(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// functionAt reads an ELF file and returns the function at an offset of its code.
func functionAt(m *module, offset uint64) string {
	return m.frames(codeOffset+offset, Frame{Package: "file"})[0].Function
}

func TestSymbols(t *testing.T) {
	m := readModule(bytes.NewReader(image(0, append(symbolTable(elf.SHT_SYMTAB,
		sym{"outer", elf.STB_LOCAL, elf.STT_FUNC, 1, 0x20, 0x40},
		sym{"inner", elf.STB_LOCAL, elf.STT_FUNC, 1, 0x30, 0x10},
		sym{"label", elf.STB_LOCAL, elf.STT_NOTYPE, 1, 0x28, 0}, // without a size, it takes nothing from outer
		sym{"__libc_open", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x80, 0x10},
		sym{"open", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x80, 0x10},
		sym{"__open", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x80, 0x10},
		sym{"an_open", elf.STB_WEAK, elf.STT_FUNC, 1, 0x80, 0x10},
		sym{"a_local", elf.STB_LOCAL, elf.STT_FUNC, 1, 0x80, 0x10},
		sym{"assembly", elf.STB_GLOBAL, elf.STT_NOTYPE, 1, 0xa0, 0},
		sym{"_ZN5outer5innerEi", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0xb0, 0x10},
		sym{"data", elf.STB_GLOBAL, elf.STT_OBJECT, 1, 0xc8, 8},
		sym{"$x", elf.STB_LOCAL, elf.STT_NOTYPE, 1, 0xd0, 0},
		sym{".L1", elf.STB_LOCAL, elf.STT_NOTYPE, 1, 0xd0, 0},
		sym{"", elf.STB_LOCAL, elf.STT_FUNC, 1, 0xd0, 8},
		sym{"elsewhere", elf.STB_GLOBAL, elf.STT_FUNC, 99, 0xe0, 8},
		sym{"last", elf.STB_GLOBAL, elf.STT_NOTYPE, 1, 0x1f0, 0},
		sym{"long", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x1f8, 0x100}, // ends with its section
		sym{"_fini", elf.STB_GLOBAL, elf.STT_FUNC, 2, codeSize + 4, 0},
		sym{"no_code", elf.STB_GLOBAL, elf.STT_FUNC, 5, 0xd4, 8},
		sym{"not_mapped", elf.STB_GLOBAL, elf.STT_FUNC, 6, codeSize + 0x10, 8},
	), section{name: ".data", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, addr: codeAddr + 0xd0, data: make([]byte, 0x10)},
		section{name: ".more", kind: elf.SHT_PROGBITS, flags: elf.SHF_EXECINSTR, addr: codeAddr + codeSize + 0x10, data: make([]byte, 8)},
	)...)), noDebug)
	tests := []struct {
		offset uint64
		want   string
	}{
		{0x1f, ""},
		{0x20, "outer"}, {0x28, "outer"}, {0x2f, "outer"}, {0x30, "inner"}, {0x3f, "inner"}, {0x40, "outer"}, {0x5f, "outer"},
		{0x80, "open"}, {0x8f, "open"},
		{0xa0, "assembly"}, {0xaf, "assembly"}, {0xb0, "outer::inner"}, {0xc0, ""}, {0xc8, ""}, {0xd0, ""}, {0xd4, ""}, {0xe0, ""},
		{0x1ef, ""}, {0x1f0, "last"}, {0x1f7, "last"}, {0x1f8, "long"}, {0x1ff, "long"},
		{0x200, ""}, {0x204, "_fini"}, {0x20f, "_fini"},
		{0x210, ""}, {1 << 40, ""}, // not in the file's mapping
	}
	for _, tt := range tests {
		// A label without a size covers what no other symbol does, until the next one.
		want := tt.want
		if tt.offset >= 0x60 && tt.offset < 0x80 {
			want = "label"
		}
		if got := functionAt(m, tt.offset); got != want {
			t.Errorf("at %#x: %q, want %q", tt.offset, got, want)
		}
	}
}

// A table for linkers names few functions: one without a size may end anywhere.
func TestDynamicSymbols(t *testing.T) {
	m := readModule(bytes.NewReader(image(0, symbolTable(elf.SHT_DYNSYM,
		sym{"sized", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x20, 0x10},
		sym{"sizeless", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x40, 0},
	)...)), noDebug)
	for offset, want := range map[uint64]string{0x20: "sized", 0x30: "", 0x40: ""} {
		if got := functionAt(m, offset); got != want {
			t.Errorf("at %#x: %q, want %q", offset, got, want)
		}
	}
}

// Jumps to other libraries have no symbols, and a section.
func TestJumps(t *testing.T) {
	m := readModule(bytes.NewReader(image(0, section{name: ".plt.sec", kind: elf.SHT_PROGBITS, addr: codeAddr + 0x10, data: make([]byte, 8)})), noDebug)
	for offset, want := range map[uint64]string{0xf: "", 0x10: "[plt]", 0x17: "[plt]", 0x18: ""} {
		if got := functionAt(m, offset); got != want {
			t.Errorf("at %#x: %q, want %q", offset, got, want)
		}
	}
}

// A size in a file is not used if it is more than programs have.
func TestLargeFiles(t *testing.T) {
	symbols := symbolTable(elf.SHT_SYMTAB, sym{"f", elf.STB_LOCAL, elf.STT_FUNC, 1, 0, 0x10})
	small := readModule(endless(image(0, symbols...)), noDebug)
	if functionAt(small, 0) != "f" || !small.isCode() {
		t.Fatal("a small file is not read")
	}
	large := image(0, symbols...)
	table := binary.LittleEndian.Uint64(large[0x28:]) // of sections, 64 bytes each
	for _, number := range []uint64{3, 4} {           // symbols, names
		data := bytes.Clone(large)
		binary.LittleEndian.PutUint64(data[table+64*number+32:], 1<<40)
		if got := functionAt(readModule(endless(data), noDebug), 0); got != "" {
			t.Errorf("section %d of 1 TiB was read: %q", number, got)
		}
	}
	names := section{name: strings.Repeat("x", maxHeaders), kind: elf.SHT_PROGBITS}
	if m := readModule(bytes.NewReader(image(0, append(symbols, names)...)), noDebug); m.isCode() {
		t.Error("headers of more than maxHeaders were read")
	}
}

// endless is a file that goes on with zeros.
type endless []byte

func (e endless) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(e)) {
		copy(p, e[off:])
	}
	return len(p), nil
}

// The symbols of a separate debug file are those of the file if it has the same build ID.
func TestDebugFile(t *testing.T) {
	file := func(id, function string) []byte {
		return image(0, append(symbolTable(elf.SHT_SYMTAB, sym{function, elf.STB_LOCAL, elf.STT_FUNC, 1, 0, 0x10}), buildNote(id))...)
	}
	exports := symbolTable(elf.SHT_DYNSYM, sym{"exported", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0, 0x10})
	stripped := image(0, append(exports, buildNote("\x01\x02\x03"))...)
	tests := []struct{ debug, want string }{
		{"\x01\x02\x03", "hidden"},
		{"\x01\x02\x04", "exported"}, // of another build
		{"\x01\x02", "exported"},
	}
	for _, tt := range tests {
		var asked string
		m := readModule(bytes.NewReader(stripped), func(id string) (*os.File, error) {
			asked = id
			return os.Open(write(t, file(tt.debug, "hidden")))
		})
		if got := functionAt(m, 8); got != tt.want || asked != "010203" {
			t.Errorf("a debug file of %x for %s: %q, want %q", tt.debug, asked, got, tt.want)
		}
	}
}

// goTable writes what a Go program has of its functions: the first starts where the text
// does, each is 0x40 long and on line 42 of a.go.
func goTable(functionNames ...string) []byte {
	var names, entries, functions bytes.Buffer
	write := func(b *bytes.Buffer, words ...uint32) { _ = binary.Write(b, binary.LittleEndian, words) }
	const line, file = 1, 4 // where these are in the values
	at := 4 * (2*len(functionNames) + 1)
	for i, name := range functionNames {
		write(&entries, uint32(0x40*i), uint32(at+functions.Len()))
		// Start, name, -, -, -, files, lines, -, unit, -, -: runtime._func.
		write(&functions, uint32(0x40*i), uint32(names.Len()), 0, 0, 0, file, line, 0, 0, 0, 0)
		names.WriteString(name + "\x00")
	}
	write(&entries, uint32(0x40*len(functionNames)))

	// A value holds for so many bytes of code; each is twice its difference from the one
	// before, where the first follows -1.
	values := []byte{0, 2 * (42 + 1), 0x40, 0, 2 * (0 + 1), 0x40, 0}
	var b bytes.Buffer
	b.Write([]byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8})
	parts := [][]byte{names.Bytes(), make([]byte, 4), []byte("a.go\x00"), values, append(entries.Bytes(), functions.Bytes()...)}
	head := []uint64{uint64(len(functionNames)), 1, 0}
	end := uint64(8 + 8*8)
	for _, part := range parts {
		head, end = append(head, end), end+uint64(len(part))
	}
	_ = binary.Write(&b, binary.LittleEndian, head)
	for _, part := range parts {
		b.Write(part)
	}
	return b.Bytes()
}

// goImage writes a Go program.
func goImage(entry uint64, table []byte, others ...section) []byte {
	return image(entry, append([]section{{name: ".gopclntab", kind: elf.SHT_PROGBITS, data: table}}, others...)...)
}

func TestGoTable(t *testing.T) {
	table := goTable("main.main", "_rt0_amd64_linux", "gopkg.in/yaml%2ev3.(*Decoder).Decode", "type:.eq.main.T")
	older := bytes.Clone(table) // of Go 1.18 to 1.25, which has the start of the text
	binary.LittleEndian.PutUint64(older[8+8*2:], codeAddr+0x10)
	tests := []struct {
		name   string
		file   []byte
		offset uint64
		want   Frame
	}{
		{"start in the table", goImage(0, older), 0x10, Frame{Function: "main.main", Package: "main", File: "a.go", Line: 42}},
		{"before the start", goImage(0, older), 0xf, Frame{Package: "file"}},
		{"start in the symbols", image(0, append(symbolTable(elf.SHT_SYMTAB, sym{"runtime.text", elf.STB_LOCAL, elf.STT_FUNC, 1, 0x20, 0}),
			section{name: ".data.rel.ro.gopclntab", kind: elf.SHT_PROGBITS, data: table})...), 0x20,
			Frame{Function: "main.main", Package: "main", File: "a.go", Line: 42}},
		{"first", goImage(codeAddr+0x40, table), 0, Frame{Function: "main.main", Package: "main", File: "a.go", Line: 42}},
		{"entry", goImage(codeAddr+0x40, table), 0x7f, Frame{Function: "_rt0_amd64_linux", Package: "file", File: "a.go", Line: 42}},
		{"escaped", goImage(codeAddr+0x40, table), 0x80, Frame{Function: "gopkg.in/yaml.v3.(*Decoder).Decode", Package: "gopkg.in/yaml.v3", File: "a.go", Line: 42}},
		{"of no package", goImage(codeAddr+0x40, table), 0xc0, Frame{Function: "type:.eq.main.T", Package: "file", File: "a.go", Line: 42}},
		{"behind the last", goImage(codeAddr+0x40, table), 0x100, Frame{Package: "file"}},
		{"entry is elsewhere", goImage(codeAddr, table), 0, Frame{Package: "file"}},
		{"entry is within", goImage(codeAddr+0x44, table), 0, Frame{Package: "file"}},
	}
	for _, tt := range tests {
		got := readModule(bytes.NewReader(tt.file), noDebug).frames(codeOffset+tt.offset, Frame{Package: "file"})
		if got[0].Code = (Code{}); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s: %#v, want %#v", tt.name, got, tt.want)
		}
	}
}

// A table whose names are longer together than itself, or which has more functions than
// it has room for, would need far more memory than it has bytes.
func TestUnsoundGoTable(t *testing.T) {
	good := goTable("main.main", "_rt0_amd64_linux")
	set := func(word int, n uint64) []byte {
		data := bytes.Clone(good)
		binary.LittleEndian.PutUint64(data[8+8*word:], n)
		return data
	}
	// Of 20 functions, each has the name of the first, of 300 bytes.
	same := goTable(append([]string{strings.Repeat("x", 300)}, make([]string, 19)...)...)
	table := binary.LittleEndian.Uint64(same[8+8*7:])
	for i := range uint64(20) {
		told := binary.LittleEndian.Uint32(same[table+8*i+4:])
		binary.LittleEndian.PutUint32(same[table+uint64(told)+4:], 0)
	}
	binary.LittleEndian.PutUint64(same[8+8*2:], codeAddr) // all else is there
	tests := map[string][]byte{
		"functions": set(0, 1<<40), "more functions than room": set(0, 100), "files": set(1, 1<<40),
		"same name": same, "names": set(3, 1<<40), "table": set(7, uint64(len(good))), "cut": good[:len(good)-40], "header": good[:40],
		"magic": append([]byte{0xf0, 0xf1}, good[2:]...), "words": append(bytes.Clone(good[:7]), append([]byte{3}, good[8:]...)...),
	}
	for name, data := range tests {
		if h, ok := readHeader(data); ok && h.isSound(data) {
			t.Errorf("%s: sound", name)
		}
	}
	if m := readModule(bytes.NewReader(goImage(0, same)), noDebug); m.golang != nil {
		t.Error("an unsound table was read")
	}
	if h, ok := readHeader(good); !ok || !h.isSound(good) {
		t.Error("a good table is not sound")
	}
}

// write writes a file that is gone after the test, and returns its path.
func write(t testing.TB, data []byte) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func FuzzModule(f *testing.F) {
	f.Add(image(0, symbolTable(elf.SHT_SYMTAB, sym{"f", elf.STB_LOCAL, elf.STT_FUNC, 1, 0x20, 0x40})...), uint64(codeOffset+0x20))
	f.Add(image(0, append(symbolTable(elf.SHT_DYNSYM, sym{"f", elf.STB_GLOBAL, elf.STT_FUNC, 1, 0x20, 0}), buildNote("id"))...), uint64(0))
	f.Add(goImage(codeAddr+0x40, goTable("main.main", "_rt0_amd64_linux")), uint64(codeOffset))
	f.Add(image(0, unwound(4, frame.DW_CFA_def_cfa_offset, 16)), uint64(codeOffset+4))
	f.Fuzz(func(t *testing.T, data []byte, offset uint64) {
		m := readModule(bytes.NewReader(data), noDebug)
		for _, at := range []uint64{offset, codeOffset, codeOffset + 0x20} {
			rulesAt(m.unwound, m.virtual(at))
			for _, f := range m.frames(at, Frame{}) {
				checkPrintable(t, f.Function)
				checkPrintable(t, f.Package)
				checkPrintable(t, f.File)
				if f.Line < 0 {
					t.Errorf("line %d", f.Line)
				}
			}
		}
	})
}
