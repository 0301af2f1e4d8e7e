package router

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/lorawan"
)

// While the server of a cluster is away that has one customer's stream, another customer gets its uplinks, and afterwards the
// first one gets all of its own.
func TestTheServerOfAnotherCustomersStreamIsAway(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false)
	s := start(t, cluster.URL(), nil)
	master := func(key string) int {
		slot, err := strconv.Atoi(cluster.Masters[0].Do("CLUSTER", "KEYSLOT", key))
		if err != nil {
			t.Fatal(err)
		}
		return slot * 3 / 16384
	}
	lost, next := master("ran:customer:other"), 0
	device := func(token string) lorawan.Device { // whose partition is on another server
		for ; ; next++ {
			partition := crc32.ChecksumIEEE(lorawan.Sender(frame(lorawan.DemoDevice(1, next), 1))) % 8
			if master(fmt.Sprint("ran:uplinks:", partition)) != lost {
				next++
				return s.insert(token, next-1)
			}
		}
	}
	// The streams of acme and other are on one server; that of third is not.
	const third = "third-token-0001"
	if err := s.config.Tokens.Reread(strings.NewReader(tokens + "third " + third + "\n")); err != nil || master("ran:customer:third") == lost {
		t.Fatal(err)
	}
	mine, others := device(third), device(other)
	c := s.connect(third, "upstream/")
	straight := func() bool {
		at := s.customer("third")
		at.order.Lock()
		defer at.order.Unlock()
		return at.direct
	}
	s.until("its uplinks go straight", straight)
	cluster.Masters[lost].Kill()
	const n = 10
	for i := range uint32(n) {
		s.send(frame(others, i))
		s.send(frame(mine, i))
		u := c.upstream()
		c.solve(&u, mine)
	}
	cluster.Masters[lost].Restart()
	late := s.connect(other, "upstream/")
	for i := range uint32(n) {
		u := late.upstream()
		if f, err := lorawan.Parse(append(u.PHYNoMIC, 0, 0, 0, 0)); err != nil || uint32(f.FCnt) != i {
			t.Fatalf("uplink %d is number %d, %v", i, f.FCnt, err)
		}
		late.solve(&u, others)
	}
}
