package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// The wire types of protobuf that generation B uses or skips
// (protobuf.dev/programming-guides/encoding).
const (
	kindVarint  = 0
	kindFixed64 = 1
	kindBytes   = 2
	kindFixed32 = 5
)

// maxField is the highest field number of protobuf.
const maxField = 1<<29 - 1

func appendTag(dst []byte, field, kind int) []byte {
	return binary.AppendUvarint(dst, uint64(field)<<3|uint64(kind))
}

// appendNumber appends a varint field unless it is zero, which is its default.
func appendNumber(dst []byte, field int, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return binary.AppendUvarint(appendTag(dst, field, kindVarint), v)
}

// appendFloat appends a float field unless it is zero or not finite.
func appendFloat(dst []byte, field int, f float32) []byte {
	if f == 0 || !finite(float64(f)) {
		return dst
	}
	return binary.LittleEndian.AppendUint32(appendTag(dst, field, kindFixed32), math.Float32bits(f))
}

func appendBytes[T string | []byte](dst []byte, field int, v T) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(appendTag(dst, field, kindBytes), uint64(len(v)))
	return append(dst, v...)
}

// appendString appends a string field, which has to be UTF-8.
func appendString(dst []byte, field int, text string) []byte {
	return appendBytes(dst, field, strings.ToValidUTF8(text, "\uFFFD"))
}

// openField begins a field whose length is known at its end, and returns where its
// content starts.
func openField(dst []byte, field int) ([]byte, int) {
	dst = append(appendTag(dst, field, kindBytes), 0)
	return dst, len(dst)
}

// closeField writes the length of what was appended since openField.
func closeField(dst []byte, start int) []byte {
	size := len(dst) - start
	if size < 1<<7 {
		dst[start-1] = byte(size)
		return dst
	}
	var prefix [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(prefix[:], uint64(size))
	dst = append(dst, prefix[1:n]...) // room; the content moves over it
	copy(dst[start+n-1:], dst[start:start+size])
	copy(dst[start-1:], prefix[:n])
	return dst
}

// A wire reads the fields of one protobuf message. After the first mistake, which
// err holds, there are no more.
type wire struct {
	data  []byte
	err   error
	field int // number of the field that next has read
	kind  int // its wire type
	value uint64
	body  []byte // of wire type bytes
}

var errShort = errors.New("message: ends within a field")

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("message: field %d: %s", w.field, fmt.Sprintf(format, args...))
	}
	w.data = nil
}

// join takes over the mistake in a nested message.
func (w *wire) join(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%w (in field %d)", err, w.field)
	}
}

func (w *wire) next() bool {
	if len(w.data) == 0 || w.err != nil {
		return false
	}
	tag := w.readVarint()
	if w.err != nil {
		return false
	}
	if tag>>3 == 0 || tag>>3 > maxField {
		w.fail("%d is no field number", tag>>3)
		return false
	}
	w.field, w.kind = int(tag>>3), int(tag&7)
	switch w.kind {
	case kindVarint:
		w.value = w.readVarint()
	case kindFixed32:
		if b := w.take(4); b != nil {
			w.value = uint64(binary.LittleEndian.Uint32(b))
		}
	case kindFixed64:
		w.take(8)
	case kindBytes:
		w.body = w.take(w.readVarint())
	default:
		w.fail("wire type %d", w.kind)
	}
	return w.err == nil
}

func (w *wire) readVarint() uint64 {
	v, n := binary.Uvarint(w.data)
	if n <= 0 {
		w.err = errShort
		return 0
	}
	w.data = w.data[n:]
	return v
}

func (w *wire) take(n uint64) []byte {
	if w.err != nil || n > uint64(len(w.data)) {
		w.err = errShort
		return nil
	}
	b := w.data[:n:n]
	w.data = w.data[n:]
	return b
}

// want reports whether the field has the wire type that it should have.
func (w *wire) want(kind int) bool {
	if w.kind != kind {
		w.fail("wire type %d, want %d", w.kind, kind)
	}
	return w.err == nil
}

// number returns a varint of low to high.
func (w *wire) number(low, high uint64) uint64 {
	if w.want(kindVarint) && (w.value < low || w.value > high) {
		w.fail("%d, want %d to %d", w.value, low, high)
	}
	return w.value
}

func (w *wire) uint32() uint32 { return uint32(w.number(0, math.MaxUint32)) }

func (w *wire) int32() int32 {
	n := int64(w.value)
	if w.want(kindVarint) && (n < math.MinInt32 || n > math.MaxInt32) {
		w.fail("%d does not fit 32 bits", n)
	}
	return int32(n)
}

func (w *wire) float() float32 {
	f := math.Float32frombits(uint32(w.value))
	if w.want(kindFixed32) && !finite(float64(f)) {
		w.fail("%v is not finite", f)
	}
	return f
}

// content returns the bytes of a field: a part of the message.
func (w *wire) content() []byte {
	if !w.want(kindBytes) {
		return nil
	}
	return w.body
}

// appendVarints appends the values of a repeated field, packed or not.
func appendVarints[T ~uint64](w *wire, dst []T) []T {
	if w.kind == kindVarint {
		return append(dst, T(w.value))
	}
	packed := wire{data: w.content()}
	for len(packed.data) > 0 && packed.err == nil {
		dst = append(dst, T(packed.readVarint()))
	}
	if packed.err != nil {
		w.fail("ends within a number")
	}
	return dst
}

// appendFixed appends the values of a repeated field, packed or not.
func (w *wire) appendFixed(dst []uint32) []uint32 {
	if w.kind == kindFixed32 {
		return append(dst, uint32(w.value))
	}
	packed := w.content()
	if len(packed)%4 != 0 {
		w.fail("%d bytes are no numbers of 4", len(packed))
		return dst
	}
	for ; len(packed) > 0; packed = packed[4:] {
		dst = append(dst, binary.LittleEndian.Uint32(packed))
	}
	return dst
}
