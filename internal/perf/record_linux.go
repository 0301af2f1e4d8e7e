package perf

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// sampleType is what the kernel is asked to write of a sample; in other records process,
// thread and time come last.
const sampleType = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN |
	unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER

// userRegisters are those of x86-64 for frames and the stack, as bits (Linux, arch/x86/include/uapi/asm/perf_regs.h).
// On other machines they are others, which nobody looks at.
const userRegisters = 1<<6 | 1<<7

// stackSize is how much of the user's stack a sample has, in bytes: printf of glibc takes half of it.
const stackSize = 4 << 10

// A record is what the kernel says happened (perf_event_open(2), "MMAP layout"). What
// concerns other kinds of records is zero.
type record struct {
	kind     uint32 // PERF_RECORD_…
	pid, tid int
	time     uint64 // in ns, of CLOCK_MONOTONIC
	chain    []byte // of a sample: where it was, and markers, of 8 bytes each
	user     memory // of a sample
	mapping  Map    // of MMAP2, without its PID
	parent   int    // of FORK and EXIT: the parent's process
	exec     bool   // of COMM: the process runs another program
	lost     uint64 // of LOST: how many records
}

// records takes bytes of the kernel apart. An error says that these are no records.
func records(b []byte) ([]record, error) {
	const header = 8 // kind, misc and size, of 4, 2 and 2 bytes
	var all []record
	for len(b) > 0 {
		h := cursor{rest: b}
		kind, misc, size := h.u32(), h.u16(), int(h.u16())
		if h.short || size < header || size > len(b) {
			return nil, fmt.Errorf("a record of %d bytes, with %d left to read", size, len(b))
		}
		body := cursor{rest: b[header:size]}
		r := body.record(kind, misc)
		if body.short {
			return nil, fmt.Errorf("a record of kind %d ends after %d bytes", kind, size)
		}
		all = append(all, r)
		b = b[size:]
	}
	return all, nil
}

// A memory is what a sample has of its thread in user space: the register of frames, that of the stack, and what is in memory
// from there on. The zero value is nothing.
type memory struct {
	frame, pointer uint64
	stack          string
}

// A cursor reads what is left of bytes.
type cursor struct {
	rest  []byte
	short bool // more was to be read than there is
}

// record reads what follows the header.
func (c *cursor) record(kind uint32, misc uint16) record {
	r := record{kind: kind}
	if kind == unix.PERF_RECORD_SAMPLE {
		ip := c.take(8)
		r.pid, r.tid, r.time = c.id(), c.id(), c.u64()
		if r.chain = c.chain(); len(r.chain) == 0 {
			r.chain = append(context(misc), ip...)
		}
		r.user = c.user()
		return r
	}
	const trailer = 4 + 4 + 8 // who wrote it, and when
	end := cursor{rest: c.rest[max(0, len(c.rest)-trailer):]}
	r.pid, r.tid, r.time = end.id(), end.id(), end.u64()
	c.rest, c.short = c.rest[:max(0, len(c.rest)-trailer)], end.short
	switch kind {
	case unix.PERF_RECORD_MMAP2:
		r.pid, r.tid = c.id(), c.id()
		r.mapping = c.mapping()
	case unix.PERF_RECORD_COMM:
		r.pid, r.tid = c.id(), c.id()
		r.exec = misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0
	case unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT:
		r.pid, r.parent, r.tid = c.id(), c.id(), c.id()
	case unix.PERF_RECORD_LOST:
		c.take(8) // the event's number
		r.lost = c.u64()
	}
	return r
}

// chain reads a number of addresses, and as many.
func (c *cursor) chain() []byte { return c.many(c.u64(), 8) }

// user reads the registers of a sample: what kind they are, and both; or 0 alone, for a thread without them. Then the stack: how
// much follows, so many bytes, and how many of them are of the stack; or 0 alone.
func (c *cursor) user() (m memory) {
	if len(c.rest) == 0 || c.u64() == 0 {
		return memory{}
	}
	m.frame, m.pointer = c.u64(), c.u64()
	if size := c.u64(); size > 0 {
		stack := c.many(size, 1)
		m.stack = string(stack[:min(uint64(len(stack)), c.u64())])
	}
	return m
}

// context is the marker of a chain for where the header says that a sample was taken.
func context(misc uint16) []byte {
	marker := int64(unix.PERF_CONTEXT_USER)
	if misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_KERNEL {
		marker = unix.PERF_CONTEXT_KERNEL
	}
	return binary.NativeEndian.AppendUint64(nil, uint64(marker))
}

// mapping reads an MMAP2 record after process and thread.
func (c *cursor) mapping() Map {
	m := Map{Start: c.u64()}
	m.End = m.Start + c.u64()
	m.Offset = c.u64()
	m.Major, m.Minor, m.Inode = c.u32(), c.u32(), c.u64()
	c.take(8 + 4 + 4) // the inode's generation, protection and flags
	name, _, _ := bytes.Cut(c.rest, []byte{0})
	if m.Path = string(name); m.Path == "//anon" {
		m.Path = ""
	}
	return m
}

func (c *cursor) u64() uint64 { return binary.NativeEndian.Uint64(c.take(8)) }
func (c *cursor) u32() uint32 { return binary.NativeEndian.Uint32(c.take(4)) }
func (c *cursor) u16() uint16 { return binary.NativeEndian.Uint16(c.take(2)) }

// id reads a process or thread; -1 is one that no longer exists.
func (c *cursor) id() int { return int(int32(c.u32())) }

// take reads n bytes. They are zero if there are too few.
func (c *cursor) take(n int) []byte {
	if n > len(c.rest) {
		c.short, c.rest = true, nil
		return make([]byte, n)
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

// many reads n times size bytes, of a number that the bytes themselves state: nothing if there are too few.
func (c *cursor) many(n uint64, size int) []byte {
	if n > uint64(len(c.rest)/size) {
		c.short = true
		return nil
	}
	return c.take(int(n) * size)
}

// stack takes a chain of addresses and markers apart.
func stack(chain string, m memory) (s Stack) {
	s.Frame, s.Pointer = m.frame, m.pointer
	if m.stack != "" {
		s.Memory = []byte(m.stack)
	}
	to := &s.User
	for c := (cursor{rest: []byte(chain)}); len(c.rest) >= 8; {
		address := c.u64()
		switch int64(address) {
		case unix.PERF_CONTEXT_KERNEL:
			to = &s.Kernel
		case unix.PERF_CONTEXT_USER:
			to = &s.User
		default:
			*to = append(*to, address)
		}
	}
	return s
}
