package guard_test

import (
	"sync"
	"testing"
)

// The baselines are what two designs would be without the contract: no context,
// no Close. A design must not look slow, or fast, for what surrounds it.

// bareMutex is lock, add, unlock.
func bareMutex(*testing.B) func(*testing.PB) {
	var (
		mu    sync.Mutex
		value int64
	)
	return func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			value++
			mu.Unlock()
		}
	}
}

// bareInputQ is the published queue: a channel of any, a reply channel per call.
func bareInputQ(b *testing.B) func(*testing.PB) {
	type increment struct {
		by    int64
		reply chan int64
	}
	in := make(chan any)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		var value int64
		for message := range in {
			switch m := message.(type) {
			case increment:
				value += m.by
				m.reply <- value
			default:
				panic("unknown message")
			}
		}
	}()
	b.Cleanup(func() { close(in); <-stopped })
	return func(pb *testing.PB) {
		for pb.Next() {
			reply := make(chan int64, 1)
			in <- increment{1, reply}
			<-reply
		}
	}
}
