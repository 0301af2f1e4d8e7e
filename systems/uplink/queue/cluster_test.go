package queue

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/internal/redisserver"
	"contend/internal/redisserver/redistest"
)

// stopped is for how long all of a cluster is away.
var stopped = flag.Duration("stopped", time.Second, "how long all servers of a cluster are stopped in the test of faults")

// What happens to a cluster of three masters with a replica each, in the middle of a stream.
var clusterFaults = []struct {
	name     string
	fault    func(t *testing.T, c *redistest.Cluster)
	replicas int // that confirm what is written
	// mayLose: replication is asynchronous, and what a replica has not yet is gone with its master.
	mayLose bool
}{
	{"a replica is promoted", promoteReplica, 0, false},
	{"a replica is promoted that has confirmed all", promoteReplica, 1, false},
	{"slots are moved", moveSlots, 0, false},
	{"slots are moved whose replicas confirm", moveSlots, 1, false},
	{"two masters name each other", misleading, 0, false},
	{"all are stopped", func(_ *testing.T, c *redistest.Cluster) {
		all := slices.Concat(c.Masters, c.Replicas)
		for _, s := range all {
			s.Kill()
		}
		time.Sleep(*stopped)
		for _, s := range all {
			s.Restart()
		}
	}, 0, false},
	{"a master is killed", killMaster, 0, true},
	{"a master is killed, whose replica has confirmed all", killMaster, 1, false},
}

func moveSlots(_ *testing.T, c *redistest.Cluster) {
	for i := range defaultPartitions {
		key := keyUplinks + strconv.Itoa(i)
		_, from := slotOf(c.Masters[0], key)
		c.MoveSlot(key, from, (from+1)%len(c.Masters))
	}
}

// misleading has two nodes of a cluster say of a slot that the other has it, for a while. A command follows
// neither for ever.
func misleading(t *testing.T, c *redistest.Cluster) {
	slot, owner := slotOf(c.Masters[0], keyUplinks+"0")
	a, b := c.Masters[owner], c.Masters[(owner+1)%3]
	a.Do("CLUSTER", "DELSLOTS", slot)
	a.Do("CLUSTER", "SETSLOT", slot, "NODE", b.Do("CLUSTER", "MYID"))
	time.Sleep(*stopped)
	a.Do("CLUSTER", "SETSLOT", slot, "NODE", a.Do("CLUSTER", "MYID"))
	var moved int
	_, count, _ := strings.Cut(a.Do("INFO", "errorstats"), "errorstat_MOVED:count=")
	fmt.Sscan(count, &moved)
	if most := 500 * (1 + int(stopped.Seconds())); moved == 0 || moved > most { // without an end: 20,000 a second
		t.Errorf("%d redirections, want 1 to %d", moved, most)
	}
}

func promoteReplica(_ *testing.T, c *redistest.Cluster) { c.Replicas[1].Promote() }

func killMaster(t *testing.T, c *redistest.Cluster) {
	c.Masters[0].Kill()
	until(t, "its replica is a master", func() bool { return c.Replicas[0].IsMaster() })
	c.Masters[0].Restart()
}

// slotOf is the slot of a key, and the number of the master that has it first; the asked server must be alive.
func slotOf(asked *redistest.Server, key string) (slot string, master int) {
	slot = asked.Do("CLUSTER", "KEYSLOT", key)
	n, _ := strconv.Atoi(slot)
	return slot, slices.IndexFunc([]int{1, 2, 3}, func(i int) bool { return n < i*16384/3 })
}

// Uplinks that a cluster has confirmed arrive whatever happens to it, at least once.
func TestClusterFaults(t *testing.T) {
	t.Parallel()
	for _, test := range clusterFaults {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := redistest.StartCluster(t, 3, true)
			r := openURL(t, cluster.URL())
			r.Replicas = test.replicas
			inMidStream(t, r, func() { test.fault(t, cluster) }, test.mayLose)
		})
	}
}

// A server is killed and restarted twice, in the middle of a stream.
func TestNothingIsLostWhenRedisIsRestarted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	inMidStream(t, r, func() {
		for range 2 {
			server.Kill()
			time.Sleep(100 * time.Millisecond)
			server.Restart()
		}
	}, false)
	for i := range defaultPartitions {
		until(t, "nothing is pending", func() bool { return pendingIn(t, r, keyUplinks+strconv.Itoa(i)) == 0 })
	}
}

// inMidStream has something happen while uplinks are written, about 500/s for two seconds and as long as the
// writer has to wait, and looks at what arrives.
func inMidStream(t *testing.T, r *Redis, fault func(), mayLose bool) {
	t.Helper()
	c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
	p := newProducer(t, r, ProducerConfig{})
	const each, batches = 10, 100
	began := make(chan struct{})
	written := make(chan error, 1)
	go func() {
		for i := range batches {
			if i == batches/4 {
				close(began)
			}
			if err := p.Add(t.Context(), frames(i*each, (i+1)*each)); err != nil {
				written <- err
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		written <- nil
	}()
	select {
	case <-began:
		fault()
	case err := <-written:
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	c.arrived(t, each*batches, mayLose)
	until(t, "nothing is in hand any more", func() bool { return c.in.Stats().InFlight == 0 })
}

// While a master is away that no replica takes the place of, what is in the others is passed on.
func TestTheOtherMastersGoOn(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false)
	r := openURL(t, cluster.URL())
	c, _ := startIntake(t, r, quick("one"), true)
	produce(t, r, frames(0, 100))
	until(t, "the first are acknowledged", func() bool { return c.in.Stats().Acked == 100 })
	_, lost := slotOf(cluster.Masters[0], keyUplinks+"0")
	cluster.Masters[lost].Kill()
	const n = 500
	sent, entries := 100, make([][][]string, defaultPartitions)
	for i := 100; i < n; i++ {
		at := partitionOf(frame(i).PHY, defaultPartitions)
		entries[at] = append(entries[at], entryOf(frame(i)))
	}
	for i := range defaultPartitions {
		key := keyUplinks + strconv.Itoa(i)
		if _, master := slotOf(cluster.Masters[(lost+1)%3], key); master != lost {
			addRaw(t, r, key, entries[i])
			sent += len(entries[i])
		}
	}
	if sent == 100 {
		t.Fatal("all partitions are on one master")
	}
	until(t, "the others arrive", func() bool { return c.count() == sent })
	cluster.Masters[lost].Restart()
	produce(t, r, frames(n, n+100))
	until(t, "those of all arrive again", func() bool { return c.count() == sent+100 })
}

// arrived waits for n uplinks, and says how many came twice.
func (c *collector) arrived(t *testing.T, n int, mayLose bool) {
	t.Helper()
	last, since := 0, time.Now()
	until(t, fmt.Sprintf("%d arrived", n), func() bool {
		if now := c.count(); now != last {
			last, since = now, time.Now()
		}
		return last == n || mayLose && time.Since(since) > 5*time.Second
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	twice := 0
	for _, times := range c.seen {
		if times > 1 {
			twice++
		}
	}
	t.Logf("%s: %d of %d arrived, %d of them more than once; the longest pause was %v", t.Name(), len(c.seen), n, twice, c.pause.Round(time.Millisecond))
	if lost := n - len(c.seen); lost > n/100 || !mayLose && lost > 0 {
		t.Errorf("%d of %d are lost", lost, n)
	}
}

// A server with sentinels is one server, whose addresses need not be known; when it is lost, a replica replaces it.
func TestSentinel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		fault    func(*redistest.Server)
		replicas int
	}{
		{"killed", (*redistest.Server).Kill, 0},
		{"silent, and a replica confirms", (*redistest.Server).Freeze, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			master := redistest.Start(t)
			one, other := redistest.StartReplica(t, master), redistest.StartReplica(t, master)
			r := openURL(t, "redis://"+redistest.StartSentinel(t, master)+"?master_set="+redistest.SentinelSet)
			r.Replicas = test.replicas
			inMidStream(t, r, func() {
				test.fault(master)
				until(t, "a replica is the master", func() bool { return one.IsMaster() || other.IsMaster() })
			}, true)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := r.Ping(ctx); err == nil {
				t.Error("an answer after the end")
			}
		})
	}
}

// A client that requires replicas to confirm waits for them, and learns what is missing.
func TestReplicasThatAreNotThere(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	r := openURL(t, master.URL())
	r.Replicas = 1
	p := newProducer(t, r, ProducerConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	added := make(chan error, 1)
	go func() { added <- p.Add(ctx, frames(0, 1)) }()
	until(t, "it waits", func() bool { return strings.Contains(master.Do("INFO", "clients"), "blocked_clients:1") })
	cancel()
	if err := <-added; err == nil || !strings.Contains(err.Error(), "not known to be on 1 replica") {
		t.Errorf("without a replica: %v", err)
	}
	written := make(chan error, 1)
	go func() { written <- p.Add(t.Context(), frames(1, 2)) }()
	redistest.StartReplica(t, master)
	if err := <-written; err != nil {
		t.Errorf("once there is one: %v", err)
	}
	if got := master.Do("XLEN", keyUplinks+strconv.Itoa(partitionOf(frame(1).PHY, defaultPartitions))); got == "0" {
		t.Error("nothing was written")
	}
}

// The error for a wrong URL of a Redis says what the URL lacks.
func TestOpenSaysWhatIsWrongWithTheURL(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false)
	node := cluster.Masters[0].TCP()
	server, locked := redistest.Start(t), redistest.Start(t, "--requirepass", "secret")
	replica := redistest.StartReplica(t, server)
	sentinel := "redis://" + redistest.StartSentinel(t, server)
	for url, want := range map[string]string{
		node:                                    "?addr=HOST:PORT",
		server.TCP() + "?addr=" + server.Addr(): "without addr",
		server.TCP() + "?master_set=m":          "it is no sentinel",
		sentinel:                                "?master_set=NAME",
		sentinel + "?addr=" + strings.TrimPrefix(sentinel, "redis://"): "?master_set=NAME",
		sentinel + "?master_set=other":                                 `master_set is "other"`,
		locked.TCP():                                                   "it wants a password",
		node + "?addr=" + cluster.Masters[1].Addr() + "&":              "",
		"rediss" + strings.TrimPrefix(server.TCP(), "redis"):           "it is silent; if it does not speak TLS",
	} {
		r, err := Open(t.Context(), redisserver.Config{URL: url}, nil)
		if err == nil {
			err = r.Close()
		}
		if got := fmt.Sprint(err); !strings.Contains(got, want) || (want == "") != (err == nil) {
			t.Errorf("%s: %s", url, got)
		}
	}
	r := openURL(t, replica.TCP())
	if _, err := NewIntake(t.Context(), r, IntakeConfig{}); err == nil || !strings.Contains(err.Error(), "it is a replica") {
		t.Errorf("a replica: %v", err)
	}
}
