//go:build !linux

package cpu

import "time"

func machineTime() (time.Duration, int) { return 0, 0 }

func waitedForCores([]int) time.Duration { return 0 }

func fakeClock() bool { return false } // there is nothing to spare

// Thread returns 0: threads have no id here.
func Thread() int { return 0 }

// Allowed returns 0: the number of CPUs is not known.
func Allowed() int { return 0 }
