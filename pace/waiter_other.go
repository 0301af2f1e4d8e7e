//go:build !linux

package pace

import "context"

func newPreciseWaiter(ctx context.Context) (Waiter, Timer) {
	return newRuntimeWaiter(ctx), Runtime
}
