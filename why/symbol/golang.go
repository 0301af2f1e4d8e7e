package symbol

import (
	"bytes"
	"debug/gosym"
	"encoding/binary"
	"net/url"
	"slices"
	"strings"
)

// debug/gosym makes all functions of a table at once and trusts what the table says.
const (
	maxFunctions = 1 << 21
	maxFiles     = 1 << 20
)

// readGo reads the functions of a Go program, if it has a table of them that can be read and
// where its text starts is known.
func (m *module) readGo(f elfFile) {
	s := f.Section(".gopclntab")
	if s == nil {
		s = f.Section(".data.rel.ro.gopclntab") // of a PIE
	}
	data := f.bytes(s, maxTable)
	header, ok := readHeader(data)
	if !ok || !header.isSound(data) {
		return
	}
	start, known := textStart(f, s.Addr, header, m.symbols)
	if text := f.Section(".text"); !known && text != nil {
		start = text.Addr // unless a C linker put its own start before that of Go
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, start))
	if err != nil {
		return
	}
	if entry := table.PCToFunc(f.Entry); known || entry != nil && entry.Entry == f.Entry && strings.HasPrefix(entry.Name, "_rt0_") {
		m.golang, m.inlined = table, readInlined(f, s, data, header, start)
	}
}

// textStart returns the address that a table's own addresses count from, if it is
// written down: in the symbols; in the table (Go 1.18 to 1.25); or in what the runtime reads
// (since Go 1.26, which has it in a section of its own), if the linker filled that in.
func textStart(f elfFile, table uint64, header goHeader, symbols *names) (start uint64, known bool) {
	if symbols != nil {
		for _, s := range symbols.spans {
			if bytes.HasPrefix(symbols.text[s.name:], []byte("runtime.text\x00")) {
				return s.start, true
			}
		}
	}
	if start := header.words[2]; start != 0 {
		return start, true
	}
	if s := f.Section(".go.module"); s != nil {
		if data := f.words(s.Addr, moduleText+1); data != nil && data[0] == table {
			return data[moduleText], true
		}
	}
	return 0, false
}

// A goHeader is what a table of functions begins with, as debug/gosym reads it: counts of
// functions and files, where text starts, and where in the table names, units, files,
// values and functions are.
type goHeader struct {
	order   binary.ByteOrder
	isGo120 bool // or later
	words   [8]uint64
}

// readHeader reads one of Go 1.18 or later: those before have fewer words.
func readHeader(data []byte) (h goHeader, ok bool) {
	const go118, go120 = 0xfffffff0, 0xfffffff1
	if len(data) < 8+8*len(h.words) {
		return h, false
	}
	for _, h.order = range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		magic := h.order.Uint32(data)
		if magic != go118 && magic != go120 {
			continue
		}
		h.isGo120 = magic == go120
		for i := range h.words {
			switch size := data[7]; size {
			case 4:
				h.words[i] = uint64(h.order.Uint32(data[8+4*i:]))
			case 8:
				h.words[i] = h.order.Uint64(data[8+8*i:])
			default:
				return h, false
			}
		}
		return h, true
	}
	return h, false
}

// isSound reports whether reading a table takes no more memory than one of its size does:
// its counts are those of a program, and the functions' names, which are copied, are no
// longer together than the table.
func (h goHeader) isSound(data []byte) bool {
	count, files, size := h.words[0], h.words[1], uint64(len(data))
	names, functions := h.words[3], h.words[7]
	if count > maxFunctions || files > maxFiles || names > size || functions > size || count*8+4 > size-functions {
		return false
	}
	var total uint64
	for i := range count {
		// An entry has the start of the function and the place of its description, whose
		// second word says where its name starts.
		at := functions + uint64(h.order.Uint32(data[functions+8*i+4:]))
		if at+8 > size {
			return false
		}
		name := names + uint64(h.order.Uint32(data[at+4:]))
		if name > size {
			return false
		}
		n := bytes.IndexByte(data[name:min(size, name+size-total)], 0)
		if n < 0 {
			return false
		}
		total += uint64(n)
	}
	return true
}

// goFrames returns the Go function at an address, after the functions inlined there, the
// innermost first; nil for other code.
func (m *module) goFrames(addr uint64, in Frame) []Frame {
	if m.golang == nil {
		return nil
	}
	function := m.golang.PCToFunc(addr)
	if function == nil {
		return nil
	}
	var frames []Frame
	for _, call := range append(m.inlined.at(addr, function.Entry), call{function: *function.Sym}) {
		f, ok := m.goFrame(addr, &call.function, in)
		if !ok {
			return nil
		}
		frames = append(frames, f)
		addr = call.at
	}
	return frames
}

// goFrame is that of a function, at the line of an address.
func (m *module) goFrame(addr uint64, function *gosym.Sym, f Frame) (Frame, bool) {
	file, line, _ := m.golang.PCToLine(addr)
	if len(file) > maxRaw {
		m.golang = nil // the name of no file: a copy for each address would not be bounded
		return f, false
	}
	f.named(function)
	f.File, f.Line = Printable(file), max(0, line)
	return f, true
}

// GoFrame is that of a function of Go, which is named as its runtime names it, at a line.
func GoFrame(function, file string, line int) Frame {
	f := Frame{File: Printable(file[:min(len(file), maxRaw)]), Line: max(0, line)}
	f.named(&gosym.Sym{Name: function[:min(len(function), maxRaw)]})
	return f
}

// Tells reports whether a function of Go is one of those that tell a program's profiles and traces.
func Tells(function string) bool {
	return slices.ContainsFunc([]string{"net/http/pprof.", "runtime/pprof.", "runtime/trace."}, func(in string) bool { return strings.HasPrefix(function, in) })
}

func (f *Frame) named(s *gosym.Sym) {
	f.Function = unescaped(s.Name)
	if path := s.PackageName(); path != "" {
		f.Package = unescaped(path)
	}
}

// unescaped is a name as it is written in Go: symbols have gopkg.in/yaml%2ev3 for yaml.v3.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return Printable(name)
}
