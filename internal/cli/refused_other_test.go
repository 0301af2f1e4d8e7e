//go:build !linux

package cli

const seccompCall = 0 // nothing can be refused
