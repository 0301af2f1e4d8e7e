package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// CPU returns the CPU time that the Redis has used, user and system: of a cluster all nodes together. An
// embedded one does not tell.
func (r *Redis) CPU(ctx context.Context) (sum time.Duration, err error) {
	for _, node := range r.client.Nodes() {
		text, err := node.Do(ctx, r.cmd("INFO", "cpu")).ToString()
		if err != nil {
			return 0, fmt.Errorf("queue: CPU time: %w", err)
		}
		used, err := usedCPU(text)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

func usedCPU(info string) (time.Duration, error) {
	sum, found := 0.0, 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_sys" && name != "used_cpu_user" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("queue: CPU time: %s is %.40q", name, value)
		}
		sum, found = sum+seconds, found+1
	}
	if found != 2 {
		return 0, fmt.Errorf("queue: CPU time: Redis does not tell")
	}
	return time.Duration(sum * float64(time.Second)), nil
}
