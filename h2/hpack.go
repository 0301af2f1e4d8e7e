package h2

// decode reads a header block (RFC 7541, section 6) into h, which is empty.
func (d *decoder) decode(h *Header, block []byte) error {
	for len(block) > 0 {
		var ok bool
		switch b := block[0]; {
		case b&0x80 != 0:
			block, ok = d.indexed(h, block)
		case b&0xc0 == 0x40:
			block, ok = d.literal(h, block, 6)
			if ok {
				d.table.insert(h.Field(h.Len() - 1))
			}
		case b&0xe0 == 0x20:
			block, ok = d.resize(h, block)
		default: // without indexing, or never indexed
			block, ok = d.literal(h, block, 4)
		}
		if !ok {
			return protocolError("a header block is not HPACK")
		}
		if h.size > maxHeaderBytes {
			return errLongHeader
		}
	}
	return nil
}

// indexed is a field of a table, as a whole.
func (d *decoder) indexed(h *Header, block []byte) ([]byte, bool) {
	index, block, ok := integer(block, 7)
	if !ok || !d.appendName(h, index) {
		return nil, false
	}
	if index <= len(staticTable) {
		h.text = append(h.text, staticTable[index-1].Value...)
	} else {
		_, value, _ := d.table.at(index - len(staticTable) - 1)
		h.text = append(h.text, value...)
	}
	h.end()
	return block, true
}

// literal is a field whose name may be in a table.
func (d *decoder) literal(h *Header, block []byte, prefix int) ([]byte, bool) {
	index, block, ok := integer(block, prefix)
	if !ok {
		return nil, false
	}
	if index > 0 {
		ok = d.appendName(h, index)
	} else {
		start := len(h.text)
		h.text, block, ok = appendString(h.text, block)
		h.fields = append(h.fields, span{name: start, value: len(h.text)})
	}
	if !ok {
		return nil, false
	}
	if h.text, block, ok = appendString(h.text, block); !ok {
		return nil, false
	}
	h.end()
	return block, true
}

// resize is an update of the table's size, which comes before the fields.
func (d *decoder) resize(h *Header, block []byte) ([]byte, bool) {
	size, block, ok := integer(block, 5)
	if !ok || size > tableSize || h.Len() > 0 {
		return nil, false
	}
	d.table.resize(size)
	return block, true
}

// appendName begins a field with the name at index.
func (d *decoder) appendName(h *Header, index int) bool {
	start := len(h.text)
	switch {
	case index == 0:
		return false
	case index <= len(staticTable):
		h.text = append(h.text, staticTable[index-1].Name...)
	default:
		name, _, ok := d.table.at(index - len(staticTable) - 1)
		if !ok {
			return false
		}
		h.text = append(h.text, name...)
	}
	h.fields = append(h.fields, span{name: start, value: len(h.text)})
	return true
}

// end ends the field that was begun last.
func (h *Header) end() {
	f := &h.fields[len(h.fields)-1]
	f.end = len(h.text)
	h.size += f.end - f.name + entryOverhead
}

// integer reads an integer with a prefix of so many bits (RFC 7541, section
// 5.1), at most one that fits 28 bits more than the prefix.
func integer(p []byte, prefix int) (value int, rest []byte, ok bool) {
	if len(p) == 0 {
		return 0, nil, false
	}
	limit := 1<<prefix - 1
	if value = int(p[0]) & limit; value < limit {
		return value, p[1:], true
	}
	for i, b := range p[1:] {
		if i == 4 {
			break
		}
		value += int(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return value, p[i+2:], true
		}
	}
	return 0, nil, false
}

// appendString reads a string (RFC 7541, section 5.2) and appends it to dst.
func appendString(dst, p []byte) (text, rest []byte, ok bool) {
	n, rest, ok := integer(p, 7)
	if !ok || n > len(rest) {
		return dst, nil, false
	}
	encoded, rest := rest[:n], rest[n:]
	if p[0]&0x80 == 0 {
		return append(dst, encoded...), rest, true
	}
	dst, ok = appendHuffman(dst, encoded)
	return dst, rest, ok
}

// appendInteger writes an integer whose first byte has flags above the prefix.
func appendInteger(dst []byte, flags byte, prefix, value int) []byte {
	limit := 1<<prefix - 1
	if value < limit {
		return append(dst, flags|byte(value))
	}
	dst = append(dst, flags|byte(limit))
	for value -= limit; value >= 0x80; value >>= 7 {
		dst = append(dst, byte(value)|0x80)
	}
	return append(dst, byte(value))
}

// appendLiteral writes a field whose value is in no table: to be added to the
// dynamic table or not. Added fields are written once per connection, and their
// strings are Huffman coded if that is shorter, as other clients do; others are
// not, as servers read them faster so.
func appendLiteral(dst []byte, f Field, index bool) []byte {
	name, _ := staticIndex(f)
	if index {
		dst = appendInteger(dst, 0x40, 6, name)
	} else {
		dst = appendInteger(dst, 0, 4, name)
	}
	if name == 0 {
		dst = appendText(dst, f.Name, index)
	}
	return appendText(dst, f.Value, index)
}

// appendText writes a string, packed if it may be and that is shorter.
func appendText(dst []byte, text string, pack bool) []byte {
	if pack {
		if n := huffmanBytes(text); n < len(text) {
			return encodeHuffman(appendInteger(dst, 0x80, 7, n), text)
		}
	}
	return append(appendInteger(dst, 0, 7, len(text)), text...)
}
