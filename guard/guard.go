// Package guard holds interchangeable ways to protect shared state, from a
// mutex to a goroutine that owns the state, so that the design can be the only
// variable of a comparison.
//
// A design gives one or more of three things: Exclusive access to any state, a
// Counter whose Add returns the new value, or an Adder that returns nothing.
// Designs lists them with their constructors; NewExclusive makes one by name.
//
// # Contract of every Exclusive and Counter here
//
// All methods may be called concurrently. An operation is atomic, and takes
// effect at one moment between call and return (Herlihy and Wing,
// "Linearizability", TOPLAS 1990). An error means that it did not happen:
//
//   - A context that is done before the call gives its error.
//   - A context that ends while the call waits gives its error, unless the
//     operation has begun, which then completes. mutex and rwmutex notice it
//     only when the lock comes to them; atomic and cas never wait.
//   - After Close, and for some of the calls that overlap it, ErrClosed.
//
// Implementations over a network can promise less: any error but ErrClosed may then
// hide an operation that did happen.
//
// Close waits until no operation runs, ends the goroutine of a design that has
// one, and may be called again. A guard that is not closed keeps that goroutine
// for ever.
package guard

import (
	"context"
	"errors"
)

// ErrClosed is returned by calls on a closed guard. The operation did not happen.
var ErrClosed = errors.New("guard: closed")

// An Exclusive gives one caller at a time access to a state of type S.
type Exclusive[S any] interface {
	// Do runs f with the state, which f must not keep. f may run on another
	// goroutine. It must not panic, and must not call the same guard. When Do
	// returns an error f has not run and never will.
	Do(ctx context.Context, f func(*S)) error
	Close() error
}

// A Counter is a shared number that starts at 0. It wraps around on overflow.
type Counter interface {
	// Add adds n, which may be zero or negative, and returns the value just
	// after this addition.
	Add(ctx context.Context, n int64) (int64, error)
	Load(ctx context.Context) (int64, error)
	Close() error
}

// An Adder is a shared number that starts at 0 and whose additions return no
// value. It holds no resources, so it is not closed.
type Adder interface {
	Add(n int64)
	// Load returns the sum of all additions that returned before Load was
	// called, and of any subset of those that overlap it.
	Load() int64
}

// cacheLine is the distance in bytes that keeps two variables from false
// sharing. Lines are 64 bytes on amd64 and most of arm64; 128 also separates
// the pairs of lines that the adjacent-line prefetcher fetches together.
const cacheLine = 128

type pad [cacheLine]byte
