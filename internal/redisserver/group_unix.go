//go:build unix

package redisserver

import "syscall"

// ownGroup keeps the interrupt key of the terminal from Redis, which has to
// outlive the router's draining.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
