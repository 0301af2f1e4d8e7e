package symbol

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"slices"
)

const (
	maxDebug = 64 << 20 // of each section that describes a program, uncompressed: it is read in seconds
	maxCalls = 1 << 20
)

// calls are those that compilers of C, C++ and Rust put into their callers (DWARF 5, section 3.3.8.2).
type calls struct {
	names   []string
	callers []int // of each; -1: the function itself
	spans   []span
	layers  layers
}

// at returns the calls at an address, the innermost first.
func (c *calls) at(addr uint64) (names []string) {
	if c == nil {
		return nil
	}
	i, ok := c.layers.top(addr)
	if !ok {
		return nil
	}
	for call := int(c.spans[i].name); call >= 0 && len(names) < maxDepth; call = c.callers[call] {
		names = append(names, c.names[call])
	}
	return names
}

// readCalls returns what a file describes, nil if that is nothing, or not understood. The package dwarf may panic when a
// file is malicious.
func readCalls(f elfFile) (c *calls) {
	defer func() {
		if recover() != nil {
			c = nil
		}
	}()
	if f.Section(".debug_info") == nil || slices.ContainsFunc(f.Sections, func(s *elf.Section) bool { return s.Flags&elf.SHF_ALLOC == 0 && s.Size > maxDebug }) {
		return nil
	}
	whole, err := elf.NewFile(f.r)
	if err != nil {
		return nil
	}
	data, err := whole.DWARF()
	if err != nil {
		return nil
	}
	r := dwarfReader{data: data, names: map[dwarf.Offset]string{}, calls: new(calls)}
	r.read()
	c = r.calls
	c.layers = lay(len(c.spans), func(i int) (uint64, uint64) { return c.spans[i].start, c.spans[i].end })
	return c
}

type dwarfReader struct {
	data  *dwarf.Data
	names map[dwarf.Offset]string
	*calls
}

// read goes through all entries in which calls can be; callers come before their calls.
func (r *dwarfReader) read() {
	entries, callers := r.data.Reader(), []int{-1}
	for len(r.calls.names) < maxCalls {
		e, err := entries.Next()
		switch {
		case e == nil || err != nil:
			return
		case e.Tag == 0:
			callers = callers[:max(1, len(callers)-1)]
			continue
		}
		caller := callers[len(callers)-1]
		switch e.Tag {
		case dwarf.TagInlinedSubroutine:
			caller = r.add(e, caller)
		case dwarf.TagSubprogram:
			caller = -1
		case dwarf.TagCompileUnit, dwarf.TagNamespace, dwarf.TagLexDwarfBlock:
		default:
			entries.SkipChildren()
			continue
		}
		if e.Children {
			callers = append(callers, caller)
		}
	}
}

// add adds a call where it has addresses and a name, and returns whose calls its children are.
func (r *dwarfReader) add(e *dwarf.Entry, caller int) int {
	origin, _ := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	name := r.name(origin)
	ranges, err := r.data.Ranges(e)
	if name == "" || err != nil {
		return caller
	}
	at := len(r.calls.names)
	r.calls.names, r.callers = append(r.calls.names, name), append(r.callers, caller)
	for _, bounds := range ranges {
		r.spans = append(r.spans, span{bounds[0], bounds[1], uint32(at)})
	}
	return at
}

// name is that of the function that an entry describes, or of the one that it refers to.
func (r *dwarfReader) name(at dwarf.Offset) string {
	if name, known := r.names[at]; known {
		return name
	}
	r.names[at] = "" // whoever refers to itself has none
	entries := r.data.Reader()
	entries.Seek(at)
	e, err := entries.Next()
	if e == nil || err != nil {
		return ""
	}
	linkage, _ := e.Val(dwarf.AttrLinkageName).(string)
	name, _ := e.Val(dwarf.AttrName).(string)
	if name = demangled(cmp.Or(linkage, name)); name == "" {
		for _, refers := range []dwarf.Attr{dwarf.AttrSpecification, dwarf.AttrAbstractOrigin} {
			if other, ok := e.Val(refers).(dwarf.Offset); ok {
				name = r.name(other)
			}
		}
	}
	r.names[at] = name
	return name
}
