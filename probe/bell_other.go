//go:build !linux

package probe

// A bell wakes one thread that sleeps on it: a channel, whose receiver is locked
// to its thread.
type bell struct{ rings chan struct{} }

func newBell() (bell, error) { return bell{make(chan struct{}, 1)}, nil }

func (b bell) ring() {
	select {
	case b.rings <- struct{}{}:
	default: // it rings already
	}
}

func (b bell) sleep() error {
	<-b.rings
	return nil
}

func (b bell) close() {}
