//go:build !unix

package queue

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
