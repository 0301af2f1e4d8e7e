package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/message"
)

// losses are the ways in which a server of a cluster may be lost.
var losses = []struct {
	name          string
	away, isThere func(*redistest.Server)
}{
	{"killed", (*redistest.Server).Kill, (*redistest.Server).Restart},
	{"silent", (*redistest.Server).Freeze, (*redistest.Server).Thaw},
}

// eachLoss runs a test with a cluster of three masters, and what loses one and finds it again.
func eachLoss(t *testing.T, test func(t *testing.T, r *Redis, c *redistest.Cluster, lose, find func(*redistest.Server))) {
	t.Parallel()
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, 3, false)
			test(t, openURL(t, c.URL()), c, loss.away, loss.isThere)
		})
	}
}

// keyOn finds a key whose slot a master has, or has not.
func keyOn(c *redistest.Cluster, has bool, master int, prefix string) string {
	for i := 0; ; i++ {
		key := fmt.Sprint(prefix, i)
		if _, at := slotOf(c.Masters[0], key); (at == master) == has {
			return key[len(prefix):]
		}
	}
}

// present are uplinks whose partitions a master does not have.
func present(c *redistest.Cluster, without, from, to int) (list []*message.Uplink) {
	var there [defaultPartitions]bool
	for i := range there {
		_, at := slotOf(c.Masters[0], keyUplinks+strconv.Itoa(i))
		there[i] = at != without
	}
	return slices.DeleteFunc(frames(from, to), func(u *message.Uplink) bool { return !there[partitionOf(u.PHY, defaultPartitions)] })
}

// While the server of a customer's stream is away, uplinks of others are passed on, however many there are for that
// customer. Those that have room wait, and come in their order when it is back.
func TestForwardingToAServerThatIsAway(t *testing.T) {
	eachLoss(t, func(t *testing.T, r *Redis, cluster *redistest.Cluster, lose, find func(*redistest.Server)) {
		const lost, n = 1, 8000
		gone, other := keyOn(cluster, true, lost, keyCustomer), keyOn(cluster, false, lost, keyCustomer)
		c, _ := startIntake(t, r, IntakeConfig{Instance: "one", InFlight: 3200}, true)
		to, stop := receive(t, c, other)
		defer stop()
		until(t, "the other is read", func() bool { yes, err := c.in.CaughtUp(t.Context(), other); return yes && err == nil })
		lose(cluster.Masters[lost])
		forwarded := make(chan struct{})
		go func() {
			defer close(forwarded)
			for i := 0; i < n; i += 200 {
				c.in.Forward(gone, frames(i, i+200))
				c.in.Forward(other, frames(i, i+200))
			}
		}()
		until(t, "the other has all", func() bool { return to.count() == n })
		<-forwarded
		dropped := c.in.Stats().Dropped
		if dropped == 0 || dropped > n-3200/relayShare/2 {
			t.Errorf("%d of %d are dropped", dropped, n)
		}
		find(cluster.Masters[lost])
		late, stopLate := receive(t, c, gone)
		defer stopLate()
		until(t, "the rest comes", func() bool { return late.count() == n-int(dropped) })
		if late.late > 0 {
			t.Errorf("%d came after newer ones", late.late)
		}
	})
}

// While the server that has what is set aside is away, malformed entries stop nothing.
func TestSettingAsideOnAServerThatIsAway(t *testing.T) {
	eachLoss(t, func(t *testing.T, r *Redis, cluster *redistest.Cluster, lose, find func(*redistest.Server)) {
		_, lost := slotOf(cluster.Masters[0], keyBad)
		c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
		first := present(cluster, lost, 0, 1000)
		produce(t, r, first)
		until(t, "the first arrive", func() bool { return c.count() == len(first) })
		lose(cluster.Masters[lost])
		all := len(first)
		for i := range 10 {
			some := present(cluster, lost, 1000+100*i, 1100+100*i)
			all += len(some)
			for _, u := range some {
				key := keyUplinks + strconv.Itoa(partitionOf(u.PHY, defaultPartitions))
				addRaw(t, r, key, [][]string{{"v", "3"}, entryOf(u)})
			}
		}
		until(t, "the others arrive", func() bool { return c.count() == all })
		if n := len(c.in.Stats().Malformed); n > 0 {
			t.Errorf("%d kinds are counted before they are kept", n)
		}
		find(cluster.Masters[lost])
		until(t, "what is malformed is set aside", func() bool { return c.in.Stats().Malformed[fieldVersion] == uint64(all-len(first)) })
	})
}

// An instance says that it lives while a server of the cluster is silent, so that nobody takes what it reads, and goes on
// with what is on the others.
func TestLivesWhileAServerIsSilent(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false)
	r := openURL(t, cluster.URL())
	const lost, lease = 1, 3 * time.Second
	name := keyOn(cluster, false, lost, keyInstance)
	_, witness := slotOf(cluster.Masters[0], keyInstance+name)
	c, _ := startIntake(t, r, IntakeConfig{Instance: name, Lease: lease}, true)
	until(t, "it has all partitions", func() bool { return len(partitionsOf(c)) == defaultPartitions })
	p := newProducer(t, r, ProducerConfig{})
	cluster.Masters[lost].Freeze()
	sent := 0
	for end := time.Now().Add(4 * lease); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if cluster.Masters[witness].Do("EXISTS", keyInstance+name) != "1" {
			t.Fatal("it is taken for dead")
		}
		some := present(cluster, lost, sent*10, sent*10+10)
		sent++
		if err := p.Add(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	want := len(present(cluster, lost, 0, sent*10))
	until(t, "those of the others arrive", func() bool { return c.count() == want })
	c.mu.Lock()
	pause := c.pause
	c.mu.Unlock()
	t.Logf("the longest pause was %v", pause)
	cluster.Masters[lost].Thaw()
	produce(t, r, frames(sent*10, sent*10+100))
	until(t, "those of all arrive again", func() bool { return c.count() == want+100 })
}

// Entries that are done on the other servers are cut off while one server is silent.
func TestTrimmingWhileAServerIsSilent(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false)
	r := openURL(t, cluster.URL())
	const lost, n, node = 1, 1000, 100 // entries, and those of one node of a stream
	sources := []*source{newSource(keyCustomer+keyOn(cluster, true, lost, keyCustomer), -1), newSource(keyCustomer+keyOn(cluster, false, lost, keyCustomer), -2)}
	for _, s := range sources {
		addRaw(t, r, s.key, slices.Repeat([][]string{{"v", "1"}}, n))
		_, s.newest = newest(t, r, s.key)
		s.dirty = true
		must(t, r, "XGROUP", "CREATE", s.key, group, "$")
	}
	in := &Intake{redis: r, owned: newSourceSet(), forwarded: newSourceSet()}
	in.forwarded.update(func([]*source) []*source { return sources })
	cluster.Masters[lost].Freeze()
	err := in.trim(t.Context())
	cluster.Masters[lost].Thaw()
	if cut := in.count.trimmed.Load(); cut < n-node || err == nil {
		t.Errorf("%d of %d are cut off, %v", cut, n, err)
	}
}

// Where a cluster refuses a part of what a producer writes, as a server that is full for a moment, the entries of an address
// keep their order.
func TestOrderWhereAClusterRefuses(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, false)
	r := openURL(t, cluster.URL())
	p := newProducer(t, r, ProducerConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	var flipping sync.WaitGroup
	for _, node := range openURL(t, cluster.URL()).client.Nodes() { // on connections of their own, between two commands of the producer's
		flipping.Go(func() { flipMemory(ctx, t, node) })
	}
	const n = 8 * maxPipeline
	if err := p.Add(t.Context(), numbered(frames(0, 4), 0, n)); err != nil {
		t.Fatal(err)
	}
	cancel()
	flipping.Wait()
	all := 0
	for _, key := range p.keys {
		all += inOrder(t, r, key)
	}
	if all != n {
		t.Errorf("%d of %d are there", all, n)
	}
}

// What a router writes for a customer keeps its order where a Redis refuses a part of it, as one that is full for a moment.
func TestOrderWhereRedisIsFullForAMoment(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	flipping := openURL(t, server.URL())
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { flipMemory(ctx, t, flipping.client) })
	in := &Intake{redis: r}
	const n, each = 8000, 250
	for i := 0; i < n; i += each {
		if err := in.add(t.Context(), keyCustomer+"acme", numbered(frames(0, 1), i, i+each)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	done.Wait()
	if got := inOrder(t, r, keyCustomer+"acme"); got != n {
		t.Errorf("%d of %d are there", got, n)
	}
}

// flipMemory has a server full and not full by turns, until ctx ends.
func flipMemory(ctx context.Context, t *testing.T, node rueidis.Client) {
	limit := func(bytes string) {
		if err := node.Do(t.Context(), node.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", bytes).Build()).Error(); err != nil {
			t.Error(err)
		}
	}
	for full := true; ctx.Err() == nil; full = !full {
		limit(map[bool]string{true: "1", false: "0"}[full])
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	}
	limit("0")
}
