package redis

import (
	"fmt"
	"sync/atomic"
	"testing"

	"contend/guard"
	"contend/guard/guardtest"
	"contend/internal/redisserver"
)

func TestConformance(t *testing.T) {
	servers(t, func(t *testing.T, server *redisserver.Server) {
		for _, d := range Designs() {
			t.Run(d.Name, func(t *testing.T) {
				var keys atomic.Int64
				options := guardtest.Options{Callers: 16, Calls: 40, Timeout: 2 * patience, Indeterminate: true}
				guardtest.Run(t, options, func(t *testing.T) guard.Counter {
					return open(t, Config{Server: server, Design: d.Name, Key: fmt.Sprintf("%s:%d", d.Name, keys.Add(1))})
				})
			})
		}
	})
}
