//go:build !linux

package load

import "time"

func machineTime() (time.Duration, int) { return 0, 0 }

func waitedForCores([]int) time.Duration { return 0 }

func threadID() int { return 0 }

func cpuSet() int { return 0 }
