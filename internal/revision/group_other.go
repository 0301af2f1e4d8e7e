//go:build !unix

package revision

import "os/exec"

// Here a process is ended alone: what it started ends on its own.
func group(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
