//go:build !linux

package load

import "context"

func newPreciseWaiter(ctx context.Context) (waiter, Timer) {
	return newRuntimeWaiter(ctx), RuntimeTimer
}
