package router

import (
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
)

// A stop ends, whatever Redis does: it refuses to have an entry set aside, or is gone.
func TestStopEnds(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*redistest.Server){
		"refuses": func(redis *redistest.Server) {
			redis.Do("ACL", "SETUSER", "default", "resetkeys", "~ran:uplinks:[0-9]*", "~ran:[^u]*")
			redis.Do("XADD", "ran:customer:acme", "*", "v", "no version")
		},
		"is gone": (*redistest.Server).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stopsAfter(t, fail)
		})
	}
}

// It also ends while Redis says nothing any more. That waits for 20 s, so it begins with the first.
func TestStopEndsInSilence(t *testing.T) {
	t.Parallel()
	stopsAfter(t, (*redistest.Server).Freeze)
}

// unanswered is a router whose customer has got an uplink and reads no more.
func unanswered(t *testing.T) (*redistest.Server, *service) {
	t.Helper()
	redis := redistest.Start(t)
	s := start(t, redis.URL(), nil)
	d := s.insert(acme, 0)
	c := s.connect(acme, "upstream/")
	s.send(frame(d, 0))
	c.upstream()
	return redis, s
}

func stopsAfter(t *testing.T, fail func(*redistest.Server)) {
	redis, s := unanswered(t)
	fail(redis)
	s.until("Redis fails", func() bool { return s.intake.Stats().Errors > 0 })
	s.stopRouter()
}

// Copies are not awaited before the first uplink is read, and not after a stop.
func TestStopAwaitsNoCopies(t *testing.T) {
	t.Parallel()
	s := start(t, "", func(c *Config) { c.Dedup.Window, c.Dedup.Collect = time.Hour, time.Hour })
	s.send(frame(s.insert(acme, 0), 0))
	s.until("copies of a frame are awaited", func() bool { return s.dedup.longest(time.Now()) > 0 })
	handed := make(chan struct{})
	go func() {
		defer close(handed)
		s.handOver()
	}()
	s.stopRouter()
	select {
	case <-handed:
	case <-time.After(patience):
		t.Error("partitions are not handed over")
	}
}

// A router that stops gives everything back, also if a client does not answer the end of its connection.
func TestStopGivesBackDespiteADeafClient(t *testing.T) {
	t.Parallel()
	redis, s := unanswered(t)
	s.stopRouter()
	if redis.Do("EXISTS", "ran:instance:one") != "0" {
		t.Error("it has not left")
	}
	next := startWith(t, s.redis, s.table, func(c *Config) { c.Instance = "next" })
	defer next.stopRouter()
	next.connect(acme, "upstream/").wantFrames(1)
}
