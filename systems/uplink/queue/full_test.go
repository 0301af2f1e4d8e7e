package queue

import (
	"strconv"
	"strings"
	"testing"

	"contend/internal/redisserver/redistest"
)

// A Redis without free memory accepts no uplinks, and routers empty it: also routers that start then, for customers
// of other instances, and despite entries that cannot be used.
func TestAFullRedisIsEmptied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	const n = 1000
	produce(t, r, frames(0, n))
	addRaw(t, r, keyUplinks+"0", [][]string{{"v", "3"}})
	server.Do("CONFIG", "SET", "maxmemory", "1")
	secret, err := r.Secret(t.Context())
	if again, _ := r.Secret(t.Context()); err != nil || again != secret {
		t.Errorf("the secret of routers: %v", err)
	}
	p := newProducer(t, openURL(t, server.URL()), ProducerConfig{})
	log := journalOf(r)
	written := make(chan error, 1)
	go func() { written <- p.Add(t.Context(), frames(n, n+1)) }()

	c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
	until(t, "all arrive", func() bool { return c.count() == n })
	until(t, "what is malformed is set aside", func() bool { return c.in.Stats().Malformed[fieldVersion] == 1 })
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == n+1 })
	c.in.Hold("acme")
	forward(t, c.in, "acme", frames(0, n))
	acme, stop := receive(t, c, "acme")
	defer stop()
	until(t, "the customer's arrive", func() bool { return acme.count() == n })
	acme.once(t, n)
	if lines := log.failed(); lines != nil {
		t.Errorf("%q", lines)
	}
	if err := r.do(t.Context(), "XADD", keyBad, "*", "v", "1").Error(); err == nil || !strings.HasPrefix(err.Error(), "OOM ") {
		t.Errorf("it is not full: %v", err)
	}
	server.Do("CONFIG", "SET", "maxmemory", "0")
	if err := <-written; err != nil {
		t.Error(err)
	}
	until(t, "what had to wait arrives", func() bool { return c.count() == n+1 })
	c.once(t, n+1)
}

// Where the operator does not allow INFO, that is known, and in the log once.
func TestWhoMayNotAskForTheMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	log := journalOf(r)
	c, stop := startIntake(t, r, IntakeConfig{}, true)
	server.Do("CONFIG", "SET", "maxmemory", strconv.Itoa(1<<30))
	until(t, "the limit is known", func() bool { m := c.in.Memory(); return m.Limit == 1<<30 && !m.Hidden })
	server.Do("ACL", "SETUSER", "default", "-info")
	until(t, "it is hidden", func() bool { m := c.in.Memory(); return m.Limit == 0 && m.Hidden })
	stop()
	for range 2 {
		if err := c.in.tidyOnce(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if text := log.String(); strings.Count(text, "may not use INFO") != 1 {
		t.Error(text)
	}
	server.Do("ACL", "SETUSER", "default", "+info")
	until(t, "it is known again", func() bool {
		err, m := c.in.tidyOnce(t.Context()), c.in.Memory()
		return err == nil && m.Limit == 1<<30 && !m.Hidden
	})
}

// However many uplinks wait for customers who are away, those of others are accepted: an absent customer has a share
// of what Redis has left. A customer that was away before there was a limit also has to make room, as much as is
// needed. In a cluster each server has its limit.
func TestWhoIsAwayDoesNotFillRedis(t *testing.T) {
	t.Parallel()
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		testAway(t, server.URL(), server)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.StartCluster(t, 3, true)
		testAway(t, cluster.URL(), cluster.Masters...)
	})
}

func testAway(t *testing.T, url string, masters ...*redistest.Server) {
	r := openURL(t, url)
	c, _ := startIntake(t, r, IntakeConfig{}, true)
	const each = 5000
	long := frames(0, each) // large, so that few fill a server: about 6 MB of all
	for _, u := range long {
		u.PHY = append(u.PHY, make([]byte, 1000)...)
	}
	leave := func(customer string) {
		for i := 0; i < each; i += 500 {
			forward(t, c.in, customer, long[i:i+500])
		}
	}
	left := func(customer string) int { return length(t, r, keyCustomer+customer) }
	most := func() (used int64) { // of one server
		for _, s := range masters {
			n, err := strconv.ParseInt(infoField(s.Do("INFO"), "used_memory"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			used = max(used, n)
		}
		return used
	}
	limit := func(bytes int64) {
		for _, s := range masters {
			s.Do("CONFIG", "SET", "maxmemory", strconv.FormatInt(bytes, 10))
		}
	}
	leave("before")
	whole := most() // with all of one customer's
	until(t, "room is made", func() bool {
		if left("before") == each {
			limit(most() * 20 / 19) // nearly full, also when the buffers of replicas are gone
		}
		return left("before") <= each/2 && !c.in.Memory().NearlyFull()
	})
	if n := left("before"); n < each/8 {
		t.Errorf("%d of %d are left", n, each)
	}
	enough := 3 * whole // one customer has a quarter of it, more than half of its uplinks
	limit(enough)
	until(t, "there is room", func() bool { return c.in.Memory().Limit == enough })
	for i := range 6 * len(masters) {
		leave("away" + strconv.Itoa(i))
	}
	if now := most(); now > enough*6/10 { // half, and what is not exact
		t.Errorf("%d of %d bytes are used", now, enough)
	}
	if left("away0") < each/2 || c.in.Stats().Dropped < each {
		t.Errorf("the first has %d, %+v", left("away0"), c.in.Stats())
	}
	produce(t, r, frames(0, 3000))
	until(t, "the others' arrive", func() bool { return c.count() == 3000 })
}

// Results of downlinks are cut off however large they are.
func TestResultsOfAnySize(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	text := strings.Repeat("x", 1<<20)
	const n = 3 * maxResultBytes >> 20
	for range n {
		addRaw(t, r, keyResults, [][]string{{"v", "1", "text", text}})
	}
	startIntake(t, r, IntakeConfig{}, true)
	until(t, "few are kept", func() bool {
		kept := length(t, r, keyResults)
		if kept < n/8 {
			t.Fatalf("%d of %d are kept", kept, n)
		}
		return kept <= n/3
	})
}
