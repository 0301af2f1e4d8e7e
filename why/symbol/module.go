package symbol

import (
	"debug/elf"
	"debug/gosym"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// No more than this is read of a file. There are programs that large: the table of
// Kubernetes' kubelet has 24 MB, the names of ClickHouse 150 MB.
const (
	maxHeaders = 128 << 10 // of its headers, which tell 1000 sections; debug/elf may need the square of it / 256
	maxTable   = 128 << 20 // of a table: functions of Go, symbols
	maxNames   = 256 << 20 // of the names of symbols
)

// A module is what a mapped file has: a program or a library.
type module struct {
	loads   []elf.ProgHeader // executable
	golang  *gosym.Table     // nil: none
	inlined *inlined         // nil: not known
	symbols *names           // nil: none
	calls   *calls           // nil: not known
	plt     []*elf.Section   // jumps to the functions of other libraries
	unwound frame.FrameDescriptionEntries
	texts   []text
	codes   map[uint64]Code
	data    []*elf.Section // something else than its own functions
}

// readModule reads an ELF file, and leaves out what it cannot make out. debug opens
// the separate debug file with a build ID.
func readModule(r io.ReaderAt, debug func(id string) (*os.File, error)) *module {
	m := &module{}
	f, err := openELF(r)
	if err != nil {
		return m
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			m.loads = append(m.loads, p.ProgHeader)
		}
	}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".plt") {
			m.plt = append(m.plt, s)
		}
	}
	m.symbols = readSymbols(f, elf.SHT_SYMTAB)
	m.readGo(f)
	if m.golang == nil {
		m.calls = readCalls(f)
	}
	m.unwound = readUnwound(f, m.golang != nil)
	if id := buildID(f); m.symbols == nil && id != "" {
		m.symbols, m.calls = readDebug(id, debug)
	}
	if m.symbols == nil {
		m.symbols = readSymbols(f, elf.SHT_DYNSYM)
	}
	m.readCode(f)
	return m
}

// size is roughly how many bytes are kept for it.
func (m *module) size() int64 {
	const (
		least    = 4 << 10 // even of a file that is not a program
		spanSize = 48      // with its layer
		madeSize = 64      // of an inlined call, with its name
		goSize   = 512     // of a function of Go, with its part of the table
		unwound  = 256     // of a function whose callers can be found
	)
	n := int64(least)
	if m.symbols != nil {
		n += int64(len(m.symbols.text)) + spanSize*int64(len(m.symbols.spans))
	}
	if m.calls != nil {
		n += madeSize*int64(len(m.calls.names)) + spanSize*int64(len(m.calls.spans))
	}
	if m.golang != nil {
		n += goSize * int64(len(m.golang.Funcs))
	}
	for _, t := range m.texts {
		n += int64(len(t.code))
	}
	return n + unwound*int64(len(m.unwound))
}

// isCode says that the file can be mapped to be executed.
func (m *module) isCode() bool { return m != nil && len(m.loads) > 0 }

// frames returns the function at an offset of the file, after the functions inlined there, the
// innermost first. Without a package of its own it gets the name of the file.
func (m *module) frames(offset uint64, in Frame) []Frame {
	addr := m.virtual(offset)
	if addr == 0 {
		return []Frame{in}
	}
	in.Code = m.codeAt(addr)
	if frames := m.goFrames(addr, in); frames != nil {
		return frames
	}
	if name, ok := m.symbols.at(addr); ok {
		return append(m.inlinedFrames(addr, in), in.of(demangled(name)))
	}
	if m.jumps(addr) {
		in.Function = "[plt]"
	}
	return []Frame{in}
}

// virtual is the address that the file itself gives to an offset in its code; 0: it is not in its code.
func (m *module) virtual(offset uint64) uint64 {
	for _, load := range m.loads {
		if offset >= load.Off && offset-load.Off < load.Filesz {
			return load.Vaddr + (offset - load.Off)
		}
	}
	return 0
}

// jumps reports whether a jump to a function of another file is at an address.
func (m *module) jumps(addr uint64) bool {
	return covers(m.plt, addr)
}

// covers reports whether an address is in one of the sections.
func covers(sections []*elf.Section, addr uint64) bool {
	return slices.ContainsFunc(sections, func(s *elf.Section) bool { return s.Addr <= addr && addr-s.Addr < s.Size })
}

// functionAt is the name of the function that contains an address, as the file has it, and where that begins and ends;
// "", 0 and 0: it is not known.
func (m *module) functionAt(addr uint64) (name string, start, end uint64) {
	if m.golang != nil {
		if f := m.golang.PCToFunc(addr); f != nil {
			return f.Name, f.Entry, f.End
		}
	}
	if m.symbols != nil {
		if i, ok := m.symbols.layers.top(addr); ok {
			s := m.symbols.spans[i]
			return m.symbols.name(s), s.start, s.end
		}
	}
	return "", 0, 0
}

// inlinedFrames are the calls of C, C++ and Rust at an address, the innermost first.
func (m *module) inlinedFrames(addr uint64, in Frame) (frames []Frame) {
	for _, name := range m.calls.at(addr) {
		frames = append(frames, in.of(name))
	}
	return frames
}

// of is the frame of a function there.
func (f Frame) of(function string) Frame {
	f.Function = function
	return f
}

// limited reads from a file until it has read as much as it may.
type limited struct {
	io.ReaderAt
	left int
}

var errTooLarge = errors.New("symbol: headers are too large")

func (l *limited) ReadAt(p []byte, off int64) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooLarge
	}
	return l.ReaderAt.ReadAt(p, off)
}

// An elfFile is a file whose headers have been read.
type elfFile struct {
	*elf.File
	r io.ReaderAt
}

func openELF(r io.ReaderAt) (elfFile, error) {
	f, err := elf.NewFile(&limited{r, maxHeaders})
	return elfFile{f, r}, err
}

// bytes returns what the file has of a section, nil if that is nothing, more than most,
// or compressed.
func (f elfFile) bytes(s *elf.Section, most uint64) []byte {
	if s == nil || s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 || s.FileSize > most {
		return nil
	}
	// The last byte first: a size alone costs nothing to write.
	if s.FileSize > 0 {
		if _, err := f.r.ReadAt(make([]byte, 1), int64(s.Offset+s.FileSize-1)); err != nil {
			return nil
		}
	}
	data := make([]byte, s.FileSize)
	if _, err := f.r.ReadAt(data, int64(s.Offset)); err != nil {
		return nil
	}
	return data
}

// words reads n words of the machine from an address, nil if they are not in the file.
func (f elfFile) words(addr uint64, n int) []uint64 {
	size := 8
	if f.Class == elf.ELFCLASS32 {
		size = 4
	}
	data := make([]byte, n*size)
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || addr < p.Vaddr || addr-p.Vaddr >= p.Filesz {
			continue
		}
		if _, err := f.r.ReadAt(data, int64(p.Off+(addr-p.Vaddr))); err != nil {
			return nil
		}
		words := make([]uint64, n)
		for i := range words {
			if size == 4 {
				words[i] = uint64(f.ByteOrder.Uint32(data[4*i:]))
			} else {
				words[i] = f.ByteOrder.Uint64(data[8*i:])
			}
		}
		return words
	}
	return nil
}
