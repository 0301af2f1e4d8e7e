package perf

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

func sampled(pid int, chain ...uint64) record {
	return record{kind: unix.PERF_RECORD_SAMPLE, pid: pid, tid: pid, chain: addresses(append([]uint64{inUser}, chain...)...)}
}

func forked(parent, pid int) record {
	return record{kind: unix.PERF_RECORD_FORK, pid: pid, tid: pid, parent: parent}
}

func ended(pid, tid int) record { return record{kind: unix.PERF_RECORD_EXIT, pid: pid, tid: tid} }

func execAt(pid int, time uint64) record {
	return record{kind: unix.PERF_RECORD_COMM, pid: pid, tid: pid, time: time, exec: true}
}

// file is a mapping of file number inode, from its byte 0 on.
func file(pid int, inode, start, end uint64) Map {
	return Map{PID: pid, Start: start, End: end, Path: fmt.Sprint("/file", inode), Inode: inode}
}

func mapped(m Map) record {
	return record{kind: unix.PERF_RECORD_MMAP2, pid: m.PID, tid: m.PID, mapping: m}
}

// stacks are those of single addresses, as address and count.
func stacks(pairs ...uint64) (all []Stack) {
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, Stack{User: pair[:1], Count: pair[1]})
	}
	return all
}

// Processes 1 and 2 are found at time 100, with file 1 and 2 at 0x1000; process 3 has
// ended before.
func TestTally(t *testing.T) {
	found := func(pid int) ([]Map, uint64) {
		if pid == 3 {
			return nil, 100
		}
		return []Map{file(pid, uint64(pid), 0x1000, 0x2000)}, 100
	}
	one, two := file(1, 1, 0x1000, 0x2000), file(2, 2, 0x1000, 0x2000)
	moved := func(m Map, start, end uint64) Map {
		m.Offset += start - m.Start
		m.Start, m.End = start, end
		return m
	}
	tests := []struct {
		name    string
		records []record
		want    []Process
		looked  []int
	}{
		{"nothing", nil, nil, nil},
		{"equal stacks", []record{sampled(1, 0x1001), sampled(1, 0x1002), sampled(1, 0x1002)},
			[]Process{{1, []Map{one}, stacks(0x1002, 2, 0x1001, 1)}}, []int{1}},
		{"equal addresses of two processes", []record{sampled(1, 0x1001), sampled(2, 0x1001), sampled(1, 0x1001)},
			[]Process{{1, []Map{one}, stacks(0x1001, 2)}, {2, []Map{two}, stacks(0x1001, 1)}}, []int{1, 2}},
		{"one that has ended", []record{sampled(3, 1)}, []Process{{3, nil, stacks(1, 1)}}, []int{3}},
		{"a library is loaded", []record{sampled(1, 1), mapped(file(1, 9, 0x5000, 0x6000)), sampled(1, 1)},
			[]Process{{1, []Map{one, file(1, 9, 0x5000, 0x6000)}, stacks(1, 2)}}, []int{1}},
		{"one that is there already", []record{mapped(moved(one, 0x1800, 0x1900)), sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 1)}}, []int{1}},
		{"another part of the same file", []record{mapped(moved(one, 0x1800, 0x2800)), sampled(1, 1)},
			[]Process{{1, []Map{one, moved(one, 0x1800, 0x2800)}, stacks(1, 1)}}, []int{1}},
		{"another file in the place of a part", []record{sampled(1, 1), mapped(file(1, 9, 0x1400, 0x1500)), sampled(1, 1), sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 1)},
				{1, []Map{moved(one, 0x1000, 0x1400), moved(one, 0x1500, 0x2000), file(1, 9, 0x1400, 0x1500)}, stacks(1, 2)}}, []int{1}},
		{"the same file, moved", []record{sampled(1, 1), mapped(file(1, 1, 0x1400, 0x2400)), sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 1)},
				{1, []Map{moved(one, 0x1000, 0x1400), file(1, 1, 0x1400, 0x2400)}, stacks(1, 1)}}, []int{1}},
		{"replaced before a sample", []record{mapped(file(1, 9, 0x1000, 0x2000)), sampled(1, 1)},
			[]Process{{1, []Map{file(1, 9, 0x1000, 0x2000)}, stacks(1, 1)}}, []int{1}},
		{"compiled code beside compiled code", []record{mapped(Map{PID: 1, Start: 1, End: 5}), mapped(Map{PID: 1, Start: 3, End: 9}), sampled(1, 1)},
			[]Process{{1, []Map{one, {PID: 1, Start: 1, End: 5}, {PID: 1, Start: 3, End: 9}}, stacks(1, 1)}}, []int{1}},
		{"another program", []record{sampled(1, 1), execAt(1, 101), mapped(file(1, 9, 0, 0x9000)), sampled(1, 2)},
			[]Process{{1, []Map{one}, stacks(1, 1)}, {1, []Map{file(1, 9, 0, 0x9000)}, stacks(2, 1)}}, []int{1}},
		{"another program before the look", []record{sampled(1, 1), execAt(1, 99), mapped(file(1, 9, 0, 0x9000)), sampled(1, 2)},
			[]Process{{1, nil, stacks(1, 1)}, {1, []Map{file(1, 9, 0, 0x9000)}, stacks(2, 1)}}, []int{1}},
		{"another name", []record{sampled(1, 1), {kind: unix.PERF_RECORD_COMM, pid: 1}, sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 2)}}, []int{1}},
		{"a child", []record{mapped(file(1, 9, 0x5000, 0x6000)), forked(1, 2), mapped(file(1, 8, 0x7000, 0x8000)), sampled(2, 1)},
			[]Process{{2, []Map{file(2, 1, 0x1000, 0x2000), file(2, 9, 0x5000, 0x6000)}, stacks(1, 1)}}, []int{1}},
		{"a child of one that is not known", []record{forked(1, 2), sampled(2, 1)},
			[]Process{{2, []Map{file(2, 1, 0x1000, 0x2000)}, stacks(1, 1)}}, []int{1}},
		{"a child loads a library", []record{forked(1, 2), mapped(file(2, 9, 0x5000, 0x6000)), sampled(1, 1), sampled(2, 1)},
			[]Process{{1, []Map{one}, stacks(1, 1)}, {2, []Map{file(2, 1, 0x1000, 0x2000), file(2, 9, 0x5000, 0x6000)}, stacks(1, 1)}}, []int{1}},
		{"parent and child load a library each", []record{mapped(file(1, 5, 0x3000, 0x4000)), mapped(file(1, 6, 0x4000, 0x5000)), forked(1, 2),
			mapped(file(1, 7, 0x5000, 0x6000)), mapped(file(2, 8, 0x5000, 0x6000)), sampled(1, 1), sampled(2, 1)},
			[]Process{{1, []Map{one, file(1, 5, 0x3000, 0x4000), file(1, 6, 0x4000, 0x5000), file(1, 7, 0x5000, 0x6000)}, stacks(1, 1)},
				{2, []Map{file(2, 1, 0x1000, 0x2000), file(2, 5, 0x3000, 0x4000), file(2, 6, 0x4000, 0x5000), file(2, 8, 0x5000, 0x6000)}, stacks(1, 1)}}, []int{1}},
		{"a thread", []record{sampled(1, 1), {kind: unix.PERF_RECORD_FORK, pid: 1, tid: 5, parent: 1}, sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 2)}}, []int{1}},
		{"a number that is used again", []record{sampled(2, 1), ended(2, 2), forked(1, 2), sampled(2, 1)},
			[]Process{{2, []Map{two}, stacks(1, 1)}, {2, []Map{file(2, 1, 0x1000, 0x2000)}, stacks(1, 1)}}, []int{2, 1}},
		{"one that ended without a sample is forgotten", []record{mapped(file(1, 9, 0x5000, 0x6000)), ended(1, 1), sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 1)}}, []int{1, 1}},
		{"a thread that ended is not its process", []record{mapped(file(1, 9, 0x5000, 0x6000)), ended(1, 5), sampled(1, 1)},
			[]Process{{1, []Map{one, file(1, 9, 0x5000, 0x6000)}, stacks(1, 1)}}, []int{1}},
		{"the first thread ends before the others", []record{sampled(1, 1), ended(1, 1), sampled(1, 1)},
			[]Process{{1, []Map{one}, stacks(1, 2)}}, []int{1}},
	}
	for _, tt := range tests {
		var looked []int
		tally := newTally(func(pid int) ([]Map, uint64) {
			looked = append(looked, pid)
			return found(pid)
		})
		for _, r := range tt.records {
			tally.add(r)
		}
		if got := tally.result().Processes; !reflect.DeepEqual(got, tt.want) || !slices.Equal(looked, tt.looked) {
			t.Errorf("%s: after looks at %v\n%+v, want\n%+v", tt.name, looked, got, tt.want)
		}
	}
}

// Samples at the same address with other registers or another stack count each by themselves.
func TestStacksInMemory(t *testing.T) {
	tally := newTally(func(int) ([]Map, uint64) { return nil, 100 })
	for _, m := range []memory{{1, 2, "a"}, {1, 2, "b"}, {1, 3, "a"}, {4, 2, "a"}, {1, 2, "b"}} {
		r := sampled(1, 0x1001)
		r.user = m
		tally.add(r)
	}
	at := []uint64{0x1001}
	want := []Stack{
		{User: at, Frame: 1, Pointer: 2, Memory: []byte("b"), Count: 2}, {User: at, Frame: 1, Pointer: 2, Memory: []byte("a"), Count: 1},
		{User: at, Frame: 4, Pointer: 2, Memory: []byte("a"), Count: 1}, {User: at, Frame: 1, Pointer: 3, Memory: []byte("a"), Count: 1},
	}
	if got := tally.result().Processes[0].Stacks; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// No more stacks are kept than are allowed, of all processes together, and what is known
// is counted nevertheless.
func TestTallyIsBounded(t *testing.T) {
	tally := newTally(func(int) ([]Map, uint64) { return nil, 0 })
	tally.maxStacks = 2
	for _, r := range []record{
		sampled(1, 1), sampled(2, 1), sampled(1, 2), sampled(3, 1), sampled(1, 1), // 2 are new, 2 too many, 1 is known
		{kind: unix.PERF_RECORD_LOST, lost: 5}, {kind: unix.PERF_RECORD_LOST, lost: 6}, {kind: unix.PERF_RECORD_THROTTLE},
	} {
		tally.add(r)
	}
	want := &Samples{Processes: []Process{{1, nil, stacks(1, 2)}, {2, nil, stacks(1, 1)}}, Dropped: 2, Lost: 11, Throttled: 1}
	if got := tally.result(); !reflect.DeepEqual(got, want) || got.Count() != 3 {
		t.Errorf("%+v", got)
	}
	many := newTally(func(int) ([]Map, uint64) { return make([]Map, maxMaps-1), 0 })
	for n := range uint64(3) {
		many.add(mapped(file(1, 1, 10*n, 10*n+5)))
	}
	if got := len(many.current[1].maps); got != maxMaps {
		t.Errorf("%d mappings", got)
	}
}

// Records of two CPUs are added in the order of their times; those that a record of
// another CPU may still precede wait for a round.
func TestRounds(t *testing.T) {
	rings := fakeRings(2)
	r := &reader{rings: rings, tally: newTally(func(int) ([]Map, uint64) { return nil, 0 })}
	exec := written(unix.PERF_RECORD_COMM, unix.PERF_RECORD_MISC_COMM_EXEC, uint32(1), uint32(1), "x", uint32(1), uint32(1), uint64(15))
	counted := func() (all []uint64) {
		for _, p := range r.tally.result().Processes {
			all = append(all, (&Samples{Processes: []Process{p}}).Count())
		}
		return all
	}
	write(rings[1], sampleAt(5), sampleAt(20), sampleAt(30))
	r.round(10)
	if got := counted(); !slices.Equal(got, []uint64{1}) {
		t.Errorf("until 10: %v", got)
	}
	write(rings[0], sampleAt(12), exec, sampleAt(40))
	r.round(35)
	if got := counted(); !slices.Equal(got, []uint64{2, 2}) {
		t.Errorf("until 35: %v, want those of 5 and 12 before exec, those of 20 and 30 after it", got)
	}
	r.round(math.MaxUint64)
	if got := counted(); !slices.Equal(got, []uint64{2, 3}) || r.err != nil {
		t.Errorf("in the end: %v, %v", got, r.err)
	}
}

// While samples are taken they are read again and again, and those younger than a round
// are only added at the end.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rings := fakeRings(1)
		r := &reader{rings: rings, tally: newTally(func(int) ([]Map, uint64) { return nil, 0 })}
		stop, ended := make(chan struct{}), make(chan bool)
		go func() {
			r.run(stop)
			close(ended)
		}()
		counted := func() uint64 { return r.tally.result().Count() }
		for n := range uint64(10) {
			write(rings[0], sampleAt(1), sampleAt(now()+uint64(time.Hour)))
			time.Sleep(2 * readEvery)
			synctest.Wait()
			if got := counted(); got != n+1 {
				t.Errorf("after %d writes: %d samples", n+1, got)
			}
		}
		close(stop)
		if <-ended; counted() != 20 || r.err != nil {
			t.Errorf("in the end %d samples, %v", counted(), r.err)
		}
	})
}

// Records that could not be read are reported at the end.
func TestRunFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rings := fakeRings(1)
		s := &Sampler{groups: []group{}, rings: rings, stop: make(chan struct{}), read: make(chan *reader)}
		r := &reader{rings: rings, tally: newTally(nil)}
		write(rings[0], make([]byte, 8))
		go func() {
			r.run(s.stop)
			s.read <- r
		}()
		time.Sleep(10 * readEvery)
		if _, err := s.Stop(); err == nil || !strings.Contains(err.Error(), "perf: samples: a record of 0 bytes, with 8 left to read") {
			t.Errorf("error %v", err)
		}
	})
}

// fakeRings are some that nobody else knows, in which records soon lie over the end.
func fakeRings(n int) (rings []ring) {
	for range n {
		r := ring{memory: make([]byte, os.Getpagesize()+ringSize)}
		r.page().Data_head, r.page().Data_tail = ringSize-50, ringSize-50
		rings = append(rings, r)
	}
	return rings
}

// write writes records as the kernel does.
func write(r ring, records ...[]byte) {
	head := r.page().Data_head
	for _, b := range slices.Concat(records...) {
		r.memory[os.Getpagesize()+int(head%ringSize)] = b
		head++
	}
	atomic.StoreUint64(&r.page().Data_head, head)
}

func sampleAt(time uint64) []byte {
	return written(unix.PERF_RECORD_SAMPLE, 0, uint64(1), uint32(1), uint32(1), time, uint64(2), inUser, uint64(1))
}

// ringSize is that of rings in tests: a power of 2, no multiple of their records.
const ringSize = 256

// Only what can be executed is a Map.
func TestExecutable(t *testing.T) {
	var holding []string
	for _, m := range Executable(os.Getpid()) {
		if at := uint64(reflect.ValueOf(burn).Pointer()); m.Start <= at && at < m.End {
			holding = append(holding, m.Path)
		}
		if at := uint64(reflect.ValueOf(&burned).Pointer()); m.Start <= at && at < m.End {
			t.Errorf("a variable lies in %+v", m)
		}
	}
	if want := []string{must(os.Executable())}; !slices.Equal(holding, want) {
		t.Errorf("a function lies in %q, want %q", holding, want)
	}
	if maps := Executable(-1); maps != nil {
		t.Errorf("of nobody: %v", maps)
	}
}
