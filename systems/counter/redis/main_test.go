package redis

import (
	"flag"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
)

// rueidis sleeps before it refreshes its view of a cluster, whether closed or not.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8") // these tests wait for Redis more than they compute
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// patience is for a busy machine.
const patience = 30 * time.Second

// at is the Redis of a URL, "" for an embedded one.
func at(t testing.TB, cfg redisserver.Config) *redisserver.Server {
	t.Helper()
	server, err := redisserver.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// newProxy is one in front of a Redis, and through is the Redis at its address.
func newProxy(t testing.TB, r *redistest.Server) *redistest.Proxy {
	return redistest.StartProxy(t, func() (net.Conn, error) { return net.Dial("tcp", r.Addr()) })
}

func through(t testing.TB, p *redistest.Proxy) *redisserver.Server {
	return at(t, redisserver.Config{URL: "redis://" + p.Addr()})
}

// open makes a counter that is closed with the test.
func open(t testing.TB, cfg Config) *Counter {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = patience
	}
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// servers are the kinds of Redis that a test runs with: each call of the function
// starts one, or takes the same.
func servers(t *testing.T, run func(*testing.T, *redisserver.Server)) {
	t.Run("embedded", func(t *testing.T) { run(t, at(t, redisserver.Config{})) })
	t.Run("server", func(t *testing.T) {
		run(t, at(t, redisserver.Config{URL: redistest.Start(t).URL()}))
	})
}
