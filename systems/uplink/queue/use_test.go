package queue

import (
	"testing"
	"time"
)

func TestUsedCPU(t *testing.T) {
	const info = "# CPU\r\nused_cpu_sys:1.250000\r\nused_cpu_user:0.500000\r\nused_cpu_sys_children:9.0\r\n"
	if got, err := usedCPU(info); err != nil || got != 1750*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"", "used_cpu_sys:1\n", "used_cpu_sys:x\nused_cpu_user:1\n"} {
		if got, err := usedCPU(wrong); err == nil {
			t.Errorf("%q is %v", wrong, got)
		}
	}
}
