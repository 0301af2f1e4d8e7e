package script

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"contend/load"
)

// A memory ends a run whose virtual users together take more memory than they may. The memory of
// interpreters cannot be measured separately, so the heap of the process is.
type memory struct {
	perVU int64
	base  int64 // of the process without virtual users

	mu  sync.Mutex
	vus map[*vu]bool
	end chan struct{} // nil: nobody looks
	all sync.WaitGroup
}

const (
	// memoryEvery is the time between two looks: memory taken in between may exceed the limit.
	memoryEvery = 25 * time.Millisecond
	// memoryApart is what the process may take for itself, in bytes.
	memoryApart = 64 << 20
)

// heap returns the bytes of objects in the heap, including garbage.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// enter adds a virtual user; with the first one it begins to look.
func (m *memory) enter(v *vu) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.perVU == 0 {
		return
	}
	if m.vus == nil {
		m.vus = map[*vu]bool{}
	}
	m.vus[v] = true
	if m.end == nil {
		m.end = make(chan struct{})
		end := m.end
		m.all.Go(func() { m.look(end) })
	}
}

// leave takes a virtual user away; with the last one it ends looking.
func (m *memory) leave(v *vu) {
	m.mu.Lock()
	delete(m.vus, v)
	end := m.end
	if len(m.vus) > 0 || end == nil {
		m.mu.Unlock()
		return
	}
	m.end = nil
	m.mu.Unlock()
	close(end)
	m.all.Wait()
}

// look looks until the end.
func (m *memory) look(end <-chan struct{}) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	var seen int64 // at the last collection of garbage; the next one is due at twice as much
	for {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		limit := m.limit()
		if now := heap(); now <= max(limit, 2*seen) {
			continue
		}
		runtime.GC()
		if seen = heap(); seen > limit {
			m.interrupt(&load.Abort{Reason: fmt.Sprintf("the script takes %d MB of memory, more than --vu-memory allows its callers: %d MB together", seen>>20, limit>>20)})
			return
		}
	}
}

func (m *memory) limit() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.base + memoryApart + m.perVU*int64(len(m.vus))
}

// interrupt ends what all virtual users are at.
func (m *memory) interrupt(why *load.Abort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for v := range m.vus {
		v.rt.Interrupt(why)
	}
}
