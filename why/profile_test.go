package why

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/internal/perf"
	"contend/why/symbol"
)

// frames are functions from the one that ran to its outermost caller; those of the kernel
// begin with "k:".
func frames(names ...string) []symbol.Frame {
	var list []symbol.Frame
	for _, name := range names {
		if function, ok := strings.CutPrefix(name, "k:"); ok {
			list = append(list, symbol.Frame{Function: function, Package: "kernel"})
		} else {
			in, _, _ := strings.Cut(name, ".")
			list = append(list, symbol.Frame{Function: name, Package: in})
		}
	}
	return list
}

func TestPurpose(t *testing.T) {
	for _, c := range []struct {
		name  string
		stack []symbol.Frame
		want  Work
	}{
		{"the program's own", frames("main.handle", "net/http.(*conn).serve"), Work{Function: "main.handle"}},
		{"the runtime's", frames("runtime.mallocgc", "main.handle"), Work{Kind: "allocation", Function: "runtime.mallocgc"}},
		{"a task has what it calls", frames("runtime.mallocgc", "encoding/json.(*encodeState).string", "encoding/json.Marshal", "main.handle"),
			Work{Kind: "JSON", Function: "encoding/json.(*encodeState).string"}},
		{"the outermost task has it", frames("crypto/sha256.Sum256", "encoding/json.Marshal", "log.Printf", "main.handle"),
			Work{Kind: "logging", Function: "log.Printf"}},
		{"a task as far as the kernel", frames("k:vfs_write", "k:__x64_sys_write", "k:do_syscall_64", "syscall.Write", "log.Printf"),
			Work{Kind: "logging", Function: "log.Printf"}},
		{"a system call", frames("k:tcp_sendmsg", "k:__x64_sys_write", "k:do_syscall_64", "syscall.Syscall", "net.(*conn).Write"),
			Work{Kind: "system call write", Function: "tcp_sendmsg"}},
		{"a system call of a library without symbols", []symbol.Frame{{Function: "vfs_fsync", Package: "kernel"}, {Function: "__x64_sys_fsync", Package: "kernel"}, {Package: "libc.so.6"}},
			Work{Kind: "system call fsync", Function: "vfs_fsync"}},
		{"what the runtime calls the kernel for", frames("k:futex_wake", "k:__x64_sys_futex", "runtime.futex", "runtime.futexwakeup"),
			Work{Kind: "scheduler", Function: "runtime.futex"}},
		{"a piece of the runtime", []symbol.Frame{{Function: "internal/runtime/atomic.(*Uint32).Load", Package: "internal/runtime/atomic"}, {Function: "runtime.acquirem", Package: "runtime"},
			{Function: "runtime.findRunnable", Package: "runtime"}}, Work{Kind: "scheduler", Function: "internal/runtime/atomic.(*Uint32).Load"}},
		{"a piece of the runtime that the program called", frames("runtime.acquirem", "main.handle"), Work{Kind: "runtime, other", Function: "runtime.acquirem"}},
		{"nothing", nil, Work{Function: "[unknown]"}},
		{"not known in what", []symbol.Frame{{Package: "app"}}, Work{Function: "[unknown] in app"}},
	} {
		if got := purpose(c.stack); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// 30 samples of 1 ms: they distribute all CPU time, or, if the kernel is not sampled, as
// much of it as they are of what was used while sampling.
func TestNewProfile(t *testing.T) {
	samples := perf.Samples{Period: time.Millisecond, Lost: 2, Dropped: 1, Processes: []perf.Process{
		{PID: os.Getpid(), Stacks: []perf.Stack{{User: []uint64{1}, Count: 20}, {User: []uint64{1, 2}, Count: 10}}},
	}}
	p := NewProfile(Resolve(&samples, new(symbol.Resolver)), 60*time.Millisecond, 45*time.Millisecond, 9, nil)
	want := Profile{Operations: 9, CPU: 45 * time.Millisecond, Samples: 30, Lost: 3,
		Work:      []Work{{Function: unknown, Time: 45 * time.Millisecond}},
		Functions: []Function{{Name: unknown, Time: 45 * time.Millisecond}},
		Packages:  []Package{{unknown, 45 * time.Millisecond, 45 * time.Millisecond}},
		Stacks:    []Stack{{make([]symbol.Frame, 1), 20, 30 * time.Millisecond}, {make([]symbol.Frame, 2), 10, 15 * time.Millisecond}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	samples.KernelMissing = &perf.UnavailableError{Reason: "not allowed", Advice: "allow it"}
	p = NewProfile(Resolve(&samples, new(symbol.Resolver)), 60*time.Millisecond, 45*time.Millisecond, 9, nil)
	want.KernelMissing = "what the kernel did was not sampled: not allowed: allow it"
	want.Work = []Work{{Function: unknown, Time: 22500 * time.Microsecond}, {Kind: unseen, Function: unknown, Time: 22500 * time.Microsecond}}
	want.Functions[0].Time = 22500 * time.Microsecond
	want.Packages[0] = Package{unknown, 22500 * time.Microsecond, 22500 * time.Microsecond}
	want.Stacks = []Stack{{make([]symbol.Frame, 1), 20, 15 * time.Millisecond}, {make([]symbol.Frame, 2), 10, 7500 * time.Microsecond},
		{[]symbol.Frame{{Function: unseen, Package: "kernel"}}, 0, 22500 * time.Microsecond}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("without the kernel %+v, want %+v", p, want)
	}
	p = NewProfile(&Samples{Period: time.Millisecond}, 0, 5*time.Millisecond, 9, nil)
	if !reflect.DeepEqual(p.Work, []Work{{Function: unsampled, Time: 5 * time.Millisecond}}) {
		t.Errorf("without samples %+v", p)
	}
}

func TestProfilesAddUp(t *testing.T) {
	p := Profile{Arm: "A", Operations: 1, CPU: 3, Samples: 4, Lost: 1, Response: 5, Blocked: []Blocked{{Call: "fsync", Time: 6}}, OffCPU: OffCPU{1, perf.Activity{VoluntarySwitches: 2, InvoluntarySwitches: 3, MinorFaults: 4, MajorFaults: 5}, 6, 7, 8},
		Work: []Work{{"", "f", 2}, {"locks", "g", 1}}, Functions: []Function{{Name: "f", Time: 2}}, Packages: []Package{{"main", 3, 1}}}
	p.Add(Profile{Operations: 10, CPU: 30, Samples: 40, Lost: 10, Response: 50, Blocked: []Blocked{{Call: "fsync", Time: 60}, {Call: "flock", Time: 7}}, OffCPU: OffCPU{10, perf.Activity{VoluntarySwitches: 20, InvoluntarySwitches: 30, MinorFaults: 40, MajorFaults: 50}, 60, 70, 80},
		Work: []Work{{"locks", "g", 10}, {"", "h", 20}}, Functions: []Function{{Name: "h", Time: 20}, {Name: "f", Time: 1}},
		Packages: []Package{{"runtime", 40, 2}, {"main", 30, 10}}})
	want := Profile{Arm: "A", Operations: 11, CPU: 33, Samples: 44, Lost: 11, Response: 55, Blocked: []Blocked{{Call: "fsync", Time: 66}, {Call: "flock", Time: 7}}, OffCPU: OffCPU{11, perf.Activity{VoluntarySwitches: 22, InvoluntarySwitches: 33, MinorFaults: 44, MajorFaults: 55}, 66, 77, 88},
		Work: []Work{{"", "h", 20}, {"locks", "g", 11}, {"", "f", 2}}, Functions: []Function{{Name: "h", Time: 20}, {Name: "f", Time: 3}},
		Packages: []Package{{"runtime", 40, 2}, {"main", 33, 11}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
}

// A function that is examined is in every profile, and one far below that in none.
func TestSmallFunctionsAreLeftOut(t *testing.T) {
	p := Profile{CPU: 10_000}
	p.Add(Profile{CPU: 10_000, Functions: []Function{{Name: "looked at", Time: 100}, {Name: "kept", Time: 5}, {Name: "small", Time: 4}}, // of 20,000: 0.5, 0.025 and 0.02%
		Packages: []Package{{"small", 4, 4}, {"kept", 5, 1}}})
	if want := []Package{{"kept", 5, 1}}; !reflect.DeepEqual(p.Packages, want) {
		t.Errorf("%+v, want %+v", p.Packages, want)
	}
	if want := []Function{{Name: "looked at", Time: 100}, {Name: "kept", Time: 5}}; !reflect.DeepEqual(p.Functions, want) {
		t.Errorf("%+v, want %+v", p.Functions, want)
	}
}

// Garbage that is collected while a function of the program's own runs is no time of that function, neither in its profile nor in its calls.
func TestCollectingIsNobodysTime(t *testing.T) {
	own := symbol.Frame{Function: "serve (shop.py)", Package: symbol.Compiled, File: "/app/shop.py"}
	collecting := []symbol.Frame{{Function: "visit_reachable", Package: "python3.14"}, {Function: "gc_collect_main", Package: "python3.14"}, own}
	stacks := []Stack{{Frames: collecting, Samples: 30}, {Frames: []symbol.Frame{{Function: "dict_lookup", Package: "python3.14"}, own}, Samples: 70}}
	p := NewProfile(&Samples{Stacks: stacks, Period: time.Millisecond}, 100*time.Millisecond, 100*time.Millisecond, 10, nil)
	at := slices.IndexFunc(p.Functions, func(f Function) bool { return f.Name == own.Function })
	if at < 0 || p.Functions[at].Time != 70*time.Millisecond || p.Functions[at].Of != Own {
		t.Errorf("%+v, want 70 ms of %s", p.Functions, own.Function)
	}
	calls := OwnCallsOf([][]Stacks{{{Operations: 1, List: p.Stacks}}}, nil, 10)
	at = slices.IndexFunc(calls, func(c Call) bool { return c.Function == own.Function })
	if at < 0 || calls[at].PerOp[0] != float64(70*time.Millisecond) {
		t.Errorf("%+v, want 70 ms in calls of %s", calls, own.Function)
	}
}
