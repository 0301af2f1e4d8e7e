//go:build !unix

package revision

import "os/exec"

// Here a process is ended alone: what it started ends by itself.
func group(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
