package perf

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// written is a record as the kernel writes it: the header, and fields in their sizes.
func written(kind uint32, misc uint16, fields ...any) []byte {
	var body []byte
	for _, f := range fields {
		switch f := f.(type) {
		case uint32:
			body = binary.NativeEndian.AppendUint32(body, f)
		case uint64:
			body = binary.NativeEndian.AppendUint64(body, f)
		case string: // to a multiple of 8, followed by at least one 0
			body = append(body, f...)
			body = append(body, make([]byte, 8-len(f)%8)...)
		}
	}
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(8+len(body)))
	return append(b, body...)
}

const (
	inKernel = uint64(1<<64 + unix.PERF_CONTEXT_KERNEL)
	inUser   = uint64(1<<64 + unix.PERF_CONTEXT_USER)
)

// addresses are a chain.
func addresses(all ...uint64) (chain []byte) {
	for _, a := range all {
		chain = binary.NativeEndian.AppendUint64(chain, a)
	}
	return chain
}

// Process 7 and thread 8 wrote all of them, at 9.
var recordTests = []struct {
	name    string
	written []byte
	want    record
}{
	{"a sample in user space",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(3), inUser, uint64(0x10), uint64(0x20)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inUser, 0x10, 0x20)}},
	{"with registers and a stack",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(2), inUser, uint64(0x10),
			uint64(2), uint64(0x90), uint64(0x80), uint64(16), "16 bytes", uint64(16)), // "16 bytes" and a 0 are 16 bytes
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inUser, 0x10),
			user: memory{frame: 0x90, pointer: 0x80, stack: "16 bytes\x00\x00\x00\x00\x00\x00\x00\x00"}}},
	{"with a stack that ends sooner",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(2), inUser, uint64(0x10),
			uint64(2), uint64(0x90), uint64(0x80), uint64(16), "16 bytes", uint64(8)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inUser, 0x10), user: memory{frame: 0x90, pointer: 0x80, stack: "16 bytes"}}},
	{"with registers alone",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(2), inUser, uint64(0x10),
			uint64(2), uint64(0x90), uint64(0x80), uint64(0)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inUser, 0x10), user: memory{frame: 0x90, pointer: 0x80}}},
	{"of a thread of the kernel",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_KERNEL, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(2), inKernel, uint64(0x10), uint64(0), uint64(0)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inKernel, 0x10)}},
	{"without a chain",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(0)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inUser, 0x10)}},
	{"without a chain, in the kernel",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_KERNEL, uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(0)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: 7, tid: 8, time: 9, chain: addresses(inKernel, 0x10)}},
	{"of a thread that ended",
		written(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, uint64(0x10), uint32(math.MaxUint32), uint32(math.MaxUint32), uint64(9), uint64(0)),
		record{kind: unix.PERF_RECORD_SAMPLE, pid: -1, tid: -1, time: 9, chain: addresses(inUser, 0x10)}},
	{"a file is mapped",
		written(unix.PERF_RECORD_MMAP2, 0, uint32(7), uint32(8), uint64(0x1000), uint64(0x200), uint64(0x3000), uint32(254), uint32(1), uint64(11), uint64(12),
			uint32(unix.PROT_EXEC), uint32(unix.MAP_PRIVATE), "/lib/a b", uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_MMAP2, pid: 7, tid: 8, time: 9,
			mapping: Map{Start: 0x1000, End: 0x1200, Offset: 0x3000, Path: "/lib/a b", Major: 254, Minor: 1, Inode: 11}}},
	{"memory is mapped",
		written(unix.PERF_RECORD_MMAP2, 0, uint32(7), uint32(8), uint64(0x1000), uint64(0x200), uint64(0x3000), uint32(0), uint32(0), uint64(0), uint64(0),
			uint32(unix.PROT_EXEC), uint32(unix.MAP_PRIVATE), "//anon", uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_MMAP2, pid: 7, tid: 8, time: 9, mapping: Map{Start: 0x1000, End: 0x1200, Offset: 0x3000}}},
	{"a new program",
		written(unix.PERF_RECORD_COMM, unix.PERF_RECORD_MISC_COMM_EXEC, uint32(7), uint32(8), "server", uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_COMM, pid: 7, tid: 8, time: 9, exec: true}},
	{"a new name",
		written(unix.PERF_RECORD_COMM, 0, uint32(7), uint32(8), "worker", uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_COMM, pid: 7, tid: 8, time: 9}},
	{"a new process",
		written(unix.PERF_RECORD_FORK, 0, uint32(17), uint32(7), uint32(18), uint32(8), uint64(9), uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_FORK, pid: 17, tid: 18, time: 9, parent: 7}},
	{"an end",
		written(unix.PERF_RECORD_EXIT, 0, uint32(7), uint32(6), uint32(8), uint32(6), uint64(9), uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_EXIT, pid: 7, tid: 8, time: 9, parent: 6}},
	{"losses",
		written(unix.PERF_RECORD_LOST, 0, uint64(5), uint64(1234), uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_LOST, pid: 7, tid: 8, time: 9, lost: 1234}},
	{"too many samples",
		written(unix.PERF_RECORD_THROTTLE, 0, uint64(9), uint64(5), uint64(5), uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_THROTTLE, pid: 7, tid: 8, time: 9}},
	{"what nobody asked for",
		written(unix.PERF_RECORD_SWITCH, 0, uint32(7), uint32(8), uint64(9)),
		record{kind: unix.PERF_RECORD_SWITCH, pid: 7, tid: 8, time: 9}},
}

func TestRecords(t *testing.T) {
	var bytes []byte
	var want []record
	for _, tt := range recordTests {
		got, err := records(tt.written)
		if err != nil || !reflect.DeepEqual(got, []record{tt.want}) {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
		bytes, want = append(bytes, tt.written...), append(want, tt.want)
	}
	if got, err := records(bytes); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("all: %+v, %v", got, err)
	}
	for _, tt := range recordTests {
		for n := 1; n < len(tt.written); n++ {
			if got, err := records(tt.written[:n]); err == nil {
				t.Errorf("%d bytes of %s: %+v", n, tt.name, got)
			}
		}
	}
}

// Records that the kernel never writes are an error.
func TestNoRecords(t *testing.T) {
	chain := func(n uint64) []byte {
		return written(unix.PERF_RECORD_SAMPLE, 0, uint64(0x10), uint32(7), uint32(8), uint64(9), n, inUser, uint64(0x10))
	}
	user := func(fields ...any) []byte {
		before := []any{uint64(0x10), uint32(7), uint32(8), uint64(9), uint64(1), inUser, uint64(2), uint64(0x90), uint64(0x80)}
		return written(unix.PERF_RECORD_SAMPLE, 0, append(before, fields...)...)
	}
	sized := func(size uint16) []byte {
		b := chain(2)
		binary.NativeEndian.PutUint16(b[6:], size)
		return b
	}
	tests := []struct {
		name    string
		written []byte
		want    string
	}{
		{"more addresses than there are", chain(3), "a record of kind 9 ends after 56 bytes"}, // 8 + 8·6
		{"more than fit 64 bits", chain(1 << 61), "a record of kind 9 ends after 56 bytes"},
		{"as many as can be", chain(math.MaxUint64), "a record of kind 9 ends after 56 bytes"},
		{"a larger stack than there is", user(uint64(1), uint64(0)), "a record of kind 9 ends after 88 bytes"}, // 8 + 8 + 4 + 4 + 8·8
		{"a stack as large as can be", user(uint64(math.MaxUint64), uint64(0)), "a record of kind 9 ends after 88 bytes"},
		{"no size", sized(0), "a record of 0 bytes, with 56 left to read"},
		{"less than a header", sized(7), "a record of 7 bytes"},
		{"a header", sized(8), "a record of kind 9 ends after 8 bytes"},
		{"a byte too long", sized(57), "a record of 57 bytes, with 56 left to read"},
		{"a trailer too short", written(unix.PERF_RECORD_SWITCH, 0, uint64(9)), "a record of kind 14 ends after 16 bytes"},
		{"only a trailer", written(unix.PERF_RECORD_LOST, 0, uint32(7), uint32(8), uint64(9)), "a record of kind 2 ends after 24 bytes"},
	}
	for _, tt := range tests {
		if got, err := records(tt.written); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

func TestStack(t *testing.T) {
	for _, tt := range []struct {
		chain []byte
		want  Stack
	}{
		{addresses(inUser, 1, 2), Stack{User: []uint64{1, 2}}},
		{addresses(inKernel, 1, 2, inUser, 3), Stack{Kernel: []uint64{1, 2}, User: []uint64{3}}},
		{addresses(inKernel, 1), Stack{Kernel: []uint64{1}}},
		{addresses(), Stack{}},
	} {
		tt.want.Frame, tt.want.Pointer, tt.want.Memory = 5, 6, []byte("7")
		if got := stack(string(tt.chain), memory{frame: 5, pointer: 6, stack: "7"}); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%x: %+v, want %+v", tt.chain, got, tt.want)
		}
	}
}

func TestBetween(t *testing.T) {
	ring := []byte("01234567")
	for _, tt := range []struct {
		tail, head uint64
		want       string
	}{
		{0, 0, ""},
		{0, 3, "012"},
		{0, 8, "01234567"},
		{5, 5, ""},
		{5, 8, "567"},
		{5, 11, "567012"}, // over the end
		{5, 13, "56701234"},
		{8, 10, "01"},
		{math.MaxUint64 - 1, 2, "6701"}, // over the top of 64 bits, a multiple of 8
	} {
		if got := between(ring, tt.tail, tt.head); string(got) != tt.want {
			t.Errorf("from %d to %d: %s, want %s", tt.tail, tt.head, got, tt.want)
		}
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"0": {0}, "0-3": {0, 1, 2, 3}, "0-1,4,6-7": {0, 1, 4, 6, 7}, "": nil, "x": nil, "0-": nil, "0,": nil,
	} {
		if got, err := cpuList(text); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}

// Whatever the bytes are, each sample in them is counted or said to be dropped.
func FuzzRecords(f *testing.F) {
	var all []byte
	for _, tt := range recordTests {
		f.Add(tt.written)
		all = append(all, tt.written...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := records(b)
		if err != nil && found != nil {
			t.Fatalf("%d records and %v", len(found), err)
		}
		tally := newTally(func(int) ([]Map, uint64) { return []Map{{End: math.MaxUint64, Inode: 1}}, 5 })
		tally.maxStacks = 3
		var samples, lost uint64
		for _, r := range found {
			if r.kind == unix.PERF_RECORD_SAMPLE {
				samples++
			}
			lost += r.lost
			tally.add(r)
		}
		s := tally.result()
		if got := s.Count() + s.Dropped; got != samples || s.Lost != lost {
			t.Errorf("%d samples and %d losses of %d and %d", got, s.Lost, samples, lost)
		}
	})
}
