package router

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/outbox"
	"contend/systems/uplink/table"
)

// A router is ready while it can have uplinks, and again without a restart.
func TestReady(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, redis.URL(), nil)
	s.until("it is ready", func() bool {
		status, text := s.readiness()
		return status == http.StatusOK && text == "ready\n"
	})
	for range 2 {
		redis.Kill()
		s.until("it is not ready without Redis", func() bool {
			status, text := s.readiness()
			return status == http.StatusServiceUnavailable && text == "not ready: Redis does not answer\n"
		})
		redis.Restart()
		s.until("it is ready again", func() bool { status, _ := s.readiness(); return status == http.StatusOK })
	}
	if err := s.table.Close(); err != nil {
		t.Fatal(err)
	}
	s.until("it is ready without the database, and says so", func() bool {
		status, text := s.readiness()
		return status == http.StatusOK && text != "ready\n"
	})
}

// If the disk is full routing goes on, and the text says what is wrong.
func TestReadyWithAFullDisk(t *testing.T) {
	t.Parallel()
	s := start(t, "", nil)
	for full, want := range map[error]string{nil: "ready\n", table.ErrFull: "The disk of the database is full", table.ErrUnavailable: "The database does not answer"} {
		s.backends.mu.Lock()
		s.backends.looked, s.backends.redis, s.backends.database = time.Now().Add(time.Hour), true, full
		s.backends.mu.Unlock()
		status, text := s.readiness()
		if status != http.StatusOK || !strings.Contains(text, want) || (text == "ready\n") != (full == nil) {
			t.Errorf("%v: %d %q, want %q", full, status, text, want)
		}
	}
}

// A full Redis is full for all routers, so each stays ready, and its text says why nothing comes.
func TestReadyWhenRedisIsFull(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, redis.URL(), nil)
	used := 0
	for _, state := range []struct {
		limit      func() int
		want, also string
	}{
		{func() int { return 1 << 30 }, "ready\n", "contend_router_redis_memory_limit_bytes 1.073741824e+09"},
		{func() int { return used + used/20 }, "Redis is nearly full", ""},
		{func() int { return used / 2 }, "Redis is full", ""},
		{func() int { return 0 }, "ready\n", "contend_router_redis_memory_limit_bytes 0"},
	} {
		limit := strconv.Itoa(state.limit())
		redis.Do("CONFIG", "SET", "maxmemory", limit)
		s.until("with a limit of "+limit+": "+state.want, func() bool {
			status, text := s.readiness()
			return status == http.StatusOK && strings.Contains(text, state.want) && (text == "ready\n") == (state.want == "ready\n") &&
				strings.Contains(s.scrape(), state.also)
		})
		if used == 0 {
			used = int(s.intake.Memory().Used)
		}
	}
	redis.Do("ACL", "SETUSER", "default", "-info")
	s.until("it says that nobody tells", func() bool {
		status, text := s.readiness()
		return status == http.StatusOK && strings.Contains(text, "may not use INFO")
	})
}

// However many ask, Redis and the database are asked once.
func TestReadyAsksOnce(t *testing.T) {
	s := start(t, "", nil)
	s.reachable()
	looked := s.backends.looked
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { s.reachable() })
	}
	group.Wait()
	if now := s.backends.looked; now != looked && now.Sub(looked) < reachFor {
		t.Errorf("asked again after %v", now.Sub(looked))
	}
}

// A customer who answers nothing does not keep the uplinks of others in a Redis that is nearly full.
func TestWhoDoesNotAnswerDoesNotFillRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, redis.URL(), func(c *Config) { c.Trust, c.Partitions = outbox.TrustConfig{Start: 2}, 1 })
	d := s.insert(acme, 0)
	redis.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(1<<30))
	began := time.Now()
	s.connect(acme, "upstream/") // and it reads nothing
	long := func(frame []byte) []byte { return append(frame, make([]byte, 250-len(frame))...) }
	const n, of = 20_000, 20 // so each piece of a stream, 4 kB, has one of its uplinks, and others that are of nobody
	lost := lorawan.DemoDevice(9, 0)
	for i := 0; i < n; i += 1000 {
		var frames [][]byte
		for j := i; j < i+1000; j++ {
			from := lost
			if j%of == 0 {
				from = d
			}
			frames = append(frames, long(frame(from, uint32(j))))
		}
		s.send(frames...)
	}
	s.until("all are read", func() bool { return s.boxStats().Put == n/of && s.fates[unroutable].Load() == n-n/of })
	s.until("the memory is known", func() bool { return s.intake.Memory().Used > n*250/2 })
	used := s.intake.Memory().Used
	redis.Do("CONFIG", "SET", "maxmemory", strconv.FormatInt(used+used/20, 10))
	s.until("it is nearly full, or was", func() bool {
		out := s.boxStats().Outcomes
		return s.intake.Memory().NearlyFull() || out[outbox.DroppedOverflow]+out[outbox.Expired] > 0
	})
	s.until("room is made", func() bool { return !s.intake.Memory().NearlyFull() })
	// Messages expire after a minute, which also makes room.
	if out := s.boxStats().Outcomes; out[outbox.Expired] > 0 && time.Since(began) < time.Minute || out[outbox.DroppedOverflow]+out[outbox.Expired] == 0 {
		t.Errorf("%+v", out)
	}
}
