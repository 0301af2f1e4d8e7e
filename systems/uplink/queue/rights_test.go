package queue

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/message"
)

// The rights that docs/deployment.md gives to routers and to gateways are enough for them.
func TestRights(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	cluster := redistest.StartCluster(t, 3, false)
	as := func(user string) *Redis {
		found := regexp.MustCompile("(?m)^user " + user + ` on >\$` + user + ` (.*)$`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("docs/deployment.md has no user %s", user)
		}
		rights := regexp.MustCompile(`\([^)]*\)|[^ ]+`).FindAllString(string(found[1]), -1)
		for _, s := range cluster.Masters {
			s.Do(append([]string{"ACL", "SETUSER", user, "on", ">secret"}, rights...)...)
		}
		return openURL(t, strings.Replace(cluster.URL(), "://", "://"+user+":secret@", 1))
	}
	router := as("router")
	log := journalOf(router)
	c, _ := startIntake(t, router, quick("one"), true)
	addRaw(t, openURL(t, cluster.URL()), keyUplinks+"0", [][]string{{"v", "3"}, entryOf(frame(0))})
	const n = 100
	p := newProducer(t, as("gateway"), ProducerConfig{})
	if err := p.Add(t.Context(), frames(1, n)); err != nil {
		t.Fatal(err)
	}
	until(t, "all are handled", func() bool { return c.count() == n && c.in.Stats().Malformed[fieldVersion] == 1 })
	forward(t, c.in, "acme", frames(0, n))
	acme, stop := receive(t, c, "acme")
	until(t, "the customer's arrive", func() bool { return acme.count() == n })
	stop()
	forward(t, c.in, "acme", frames(n, 2*n))
	if err := c.in.Retreat(t.Context(), "acme", []*message.Uplink{}); err != nil {
		t.Error(err)
	}
	if err := openURL(t, cluster.URL()).do(t.Context(), append([]string{"XADD", keyUplinks + "1", "18446744073709551615-18446744073709551615"}, entryOf(frame(0))...)...).Error(); err != nil {
		t.Fatal(err)
	}
	until(t, "the stream begins anew", func() bool { return length(t, router, keyUplinks+"1") == 0 })
	until(t, "all is acknowledged", func() bool { return c.in.Stats().InFlight == 0 })
	if lines := log.failed(); lines != nil {
		t.Errorf("%q", lines)
	}
}
