package symbol

import (
	"encoding/binary"
	"runtime"
	"time"

	"contend/internal/perf"
)

// A Return is where a function may go back to when it ends, and an address in that function; 0: in whatever function.
type Return struct{ To, From uint64 }

// longestCall is how many bytes a call has at most that compilers write (Intel, "Architectures Software Developer's Manual",
// volume 2, CALL).
const longestCall = 7

// Called returns for each of a process's returns whether the instruction before it calls the function: by its address, or
// through a table of functions of other files, which jumps to one elsewhere. For whatever function it returns whether the
// instruction is a call at all: compilers use the register of frames for other things, too, and then it leads to addresses
// that nobody called from. That is true where it is not known: outside of files, of Go, whose outermost functions nothing
// calls, and on other machines than x86-64. What Frames says of processes and maps holds here, too.
func (r *Resolver) Called(pid int, maps []perf.Map, returns []Return, since time.Time) []bool {
	called := make([]bool, len(returns))
	if len(returns) == 0 {
		return called
	}
	memory, err := openMemory(pid)
	if err == nil {
		defer memory.Close()
	}
	find := r.finder(maps, since)
	for i, one := range returns {
		caller, _ := find(one.To)
		if one.From == 0 && (err != nil || runtime.GOARCH != "amd64" || caller == nil || caller.golang != nil) {
			called[i] = true
			continue
		}
		code := make([]byte, longestCall)
		if _, err := memory.ReadAt(code, int64(one.To)-longestCall); err != nil { // so it is of a file that is not open
			continue
		}
		const direct, indirect = 0xe8, 0xff
		in, at := find(one.From)
		switch {
		case one.From == 0:
			called[i] = endsWithCall(code)
		case in == nil:
		case code[2] == direct:
			target, to := find(one.To + uint64(int64(int32(binary.LittleEndian.Uint32(code[3:])))))
			_, start, _ := in.functionAt(at)
			called[i] = target != nil && (target.jumps(to) || target == in && start == to)
		case code[1] == indirect && code[2] == 0x15: // by an address in memory relative to the instruction
			called[i] = caller != in
		}
	}
	return called
}

// endsWithCall reports whether so many bytes of code may end with a call.
func endsWithCall(code []byte) bool {
	if code[2] == 0xe8 { // by a distance
		return true
	}
	for i, b := range code[:6] { // by a register or memory: a second byte says what, and how long the instruction is
		if b != 0xff || code[i+1]>>3&7 != 2 {
			continue
		}
		length, mode, register := 2, code[i+1]>>6, code[i+1]&7
		indexed := mode != 3 && register == 4
		if indexed {
			length++
		}
		switch {
		case mode == 1:
			length++
		case mode == 2, mode == 0 && register == 5, mode == 0 && indexed && i < 5 && code[i+2]&7 == 5:
			length += 4
		}
		if length == len(code)-i {
			return true
		}
	}
	return false
}
