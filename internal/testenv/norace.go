//go:build !race

package testenv

// Race says that the race detector watches, which makes a program several times slower.
const Race = false
