//go:build !linux

package table

func huge[T any](s []T) []T { return s }
