//go:build !linux

package load

import "context"

func newPreciseWaiter(ctx context.Context) (Waiter, Timer) {
	return newRuntimeWaiter(ctx), RuntimeTimer
}
