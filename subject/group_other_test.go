//go:build !linux

package subject

import "os/exec"

func ownGroup(*exec.Cmd) {}
