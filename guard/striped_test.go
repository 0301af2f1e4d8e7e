package guard

import (
	"sync"
	"testing"
)

// Goroutines must not all share one cell, or striping is of no use.
func TestStripedSpreads(t *testing.T) {
	s := newStriped().(*striped)
	goroutines := 8 * len(s.cells)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range goroutines {
		wg.Go(func() {
			<-start // all stacks exist at the same time
			s.Add(1)
		})
	}
	close(start)
	wg.Wait()
	used := 0
	for i := range s.cells {
		if s.cells[i].value.Load() > 0 {
			used++
		}
	}
	if used < len(s.cells)/2 {
		t.Errorf("%d goroutines used %d of %d cells: want at least half", goroutines, used, len(s.cells))
	}
}
