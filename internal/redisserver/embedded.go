package redisserver

import (
	"time"

	"github.com/alicebob/miniredis/v2"
)

// startEmbedded starts a Redis in this process, at any address for "". Its clock
// for expiry is driven from here, because it has none of its own.
func startEmbedded(address string) (url string, stop func() error, err error) {
	const tick = 100 * time.Millisecond
	server := miniredis.NewMiniRedis()
	if address == "" {
		address = "127.0.0.1:0"
	}
	if err := server.StartAddr(address); err != nil {
		return "", nil, err
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				server.FastForward(tick)
			case <-done:
				return
			}
		}
	}()
	stop = func() error {
		close(done)
		<-ended
		server.Close()
		return nil
	}
	return "redis://" + server.Addr(), stop, nil
}
