package symbol

import (
	"encoding/binary"
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
