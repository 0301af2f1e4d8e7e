//go:build !linux

package probe

// allowed returns nil: threads cannot be pinned here.
func allowed() []int { return nil }

func pin(int) (restore func() error) { return func() error { return nil } }
