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

func usedCPU(info string) (sum time.Duration, err error) {
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		value := infoField(info, name)
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("queue: CPU time: %s is %.40q", name, value)
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum, nil
}

// infoField is a value in the text of INFO; "": Redis does not tell.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if field, value, _ := strings.Cut(strings.TrimSpace(line), ":"); field == name {
			return value
		}
	}
	return ""
}
