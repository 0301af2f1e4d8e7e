package symbol

import (
	"encoding/binary"
	"runtime"
	"time"

	"contend/internal/perf"
)

// A Return is where a function may go back to when it ends, and an address in that function.
type Return struct{ To, From uint64 }

// Called returns for each of a process's returns whether the instruction before it calls the function: by its address, or
// through a table of functions of other files, which jumps to one elsewhere. The code is of x86-64 (Intel, "Architectures
// Software Developer's Manual", volume 2, CALL). What Frames says of processes and maps holds here, too.
func (r *Resolver) Called(pid int, maps []perf.Map, returns []Return, since time.Time) []bool {
	called := make([]bool, len(returns))
	if len(returns) == 0 {
		return called
	}
	memory, err := openMemory(pid)
	if err != nil {
		return called
	}
	defer memory.Close()
	find := r.finder(maps, since)
	for i, one := range returns {
		const direct, indirect = 0xe8, 0xff
		code := make([]byte, 6)
		if _, err := memory.ReadAt(code, int64(one.To)-6); err != nil {
			continue
		}
		in, at := find(one.From)
		switch {
		case in == nil:
		case code[1] == direct:
			target, to := find(one.To + uint64(int64(int32(binary.LittleEndian.Uint32(code[2:])))))
			called[i] = target != nil && (target.jumps(to) || target == in && in.entry(at) == to)
		case code[0] == indirect && code[1] == 0x15: // by an address in memory relative to the instruction
			caller, _ := find(one.To)
			called[i] = caller != in
		}
	}
	return called
}

// FollowCalls reports for each address of a process whether the instruction before it is a call, as where a function goes
// back to. Compilers use the register of frames for other things, too, and then it leads to addresses that nobody called
// from. It is true where that is not known: outside of files, of Go, whose outermost functions nothing calls, and on other
// machines than x86-64. What Called says of code, and Frames of processes and maps, holds here, too.
func (r *Resolver) FollowCalls(pid int, maps []perf.Map, addresses []uint64, since time.Time) []bool {
	follow := make([]bool, len(addresses))
	memory, err := openMemory(pid)
	if err == nil {
		defer memory.Close()
	}
	find := r.finder(maps, since)
	for i, address := range addresses {
		in, _ := find(address)
		if follow[i] = err != nil || runtime.GOARCH != "amd64" || in == nil || in.golang != nil; follow[i] {
			continue
		}
		code := make([]byte, 7)
		_, err := memory.ReadAt(code, int64(address)-int64(len(code)))
		follow[i] = err == nil && endsWithCall(code)
	}
	return follow
}

// endsWithCall reports whether seven bytes of code may end with a call.
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
