//go:build !linux

package gen

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
