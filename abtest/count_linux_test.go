package abtest

import (
	"os"
	"syscall"
	"testing"

	"contend/internal/perf"
	"contend/internal/testenv"
)

// pageFaults are counters of page faults, which every Linux has. They replace those of
// instructions.
type pageFaults struct{ *perf.Counters }

func openPageFaults(...perf.Event) (counters, error) {
	c, err := perf.Own(perf.PageFaults)
	return pageFaults{c}, err
}

func (p pageFaults) Stop() (perf.Counts, error) {
	counts, err := p.Counters.Stop()
	return perf.Counts{perf.Instructions: counts[perf.PageFaults]}, err
}

// toucher has a page fault for every fourth unit of an operation.
func toucher(name string, units int) Func {
	pages := units / 4
	return Func{name, func(n int) {
		for range n {
			memory, err := syscall.Mmap(-1, 0, pages*os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
			if err != nil {
				panic(err)
			}
			_ = syscall.Madvise(memory, syscall.MADV_NOHUGEPAGE) // a kernel without huge pages refuses
			for page := 0; page < len(memory); page += os.Getpagesize() {
				memory[page] = 1
			}
			if err := syscall.Munmap(memory); err != nil {
				panic(err)
			}
		}
	}}
}

// The figures of real counters of all threads, for machines whose processor has none.
func TestPlantedPageFaults(t *testing.T) {
	c, err := openPageFaults()
	if err != nil {
		testenv.Missing(t, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	planted(t, Config{InstructionsOnly: true, Rounds: 6, Block: 1e6, open: openPageFaults}, toucher)
}
