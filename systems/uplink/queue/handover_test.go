package queue

import (
	"slices"
	"sync"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/message"
)

// namesOn returns the names of two instances whose keys a master does not have. The second gets the even partitions.
func namesOn(c *redistest.Cluster, without int) [2]string {
	return [2]string{"b" + keyOn(c, false, without, keyInstance+"b"), "a" + keyOn(c, false, without, keyInstance+"a")}
}

// numbered are uplinks of these senders in turns, with numbers of their own.
func numbered(senders []*message.Uplink, from, to int) (list []*message.Uplink) {
	for i := from; i < to; i++ {
		u := frame(number4(senders[i%len(senders)]))
		u.PHY[6], u.PHY[7], u.PHY[8] = byte(i>>16), byte(i>>8), byte(i)
		list = append(list, u)
	}
	return list
}

// inOrder checks that the numbered uplinks of each sender are in their order in a stream, whatever is there again, and counts them.
func inOrder(t *testing.T, r *Redis, key string) int {
	t.Helper()
	newest, seen := map[string]string{}, map[string]bool{}
	for _, e := range entriesOf(t, r, key) {
		phy := e.FieldValues[fieldPHY]
		number, sender := phy[6:9], phy[1:5]
		if !seen[number] && number < newest[sender] {
			t.Fatalf("in %s %x follows %x", key, number, newest[sender])
		}
		newest[sender], seen[number] = max(newest[sender], number), true
	}
	return len(seen)
}

// While uplinks wait for a customer's stream whose server is away, partitions stay with the instance that has these uplinks, as
// what another one read of them would be written there before.
func TestPartitionsStayWhileUplinksWait(t *testing.T) {
	eachLoss(t, func(t *testing.T, r *Redis, cluster *redistest.Cluster, lose, find func(*redistest.Server)) {
		const lost, n = 2, 2000 // that master has not the key of all instances
		customer := keyOn(cluster, true, lost, keyCustomer)
		names, senders := namesOn(cluster, lost), present(cluster, lost, 0, 16)
		forwarder := func(name string) *collector {
			cfg := quick(name)
			cfg.InFlight = 400_000 // relays have room for some 50 000
			c, _ := startIntake(t, r, cfg, false)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.to = customer
			return c
		}
		a := forwarder(names[0])
		until(t, "the first has all partitions", func() bool { return len(partitionsOf(a)) == defaultPartitions })
		lose(cluster.Masters[lost])
		produce(t, r, numbered(senders, 0, n/2))
		until(t, "half of them wait", func() bool { return a.in.relayed.Load() >= n/2 && a.in.stuck() })
		b := forwarder(names[1])
		for end := time.Now().Add(3 * time.Second); len(partitionsOf(b)) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		}
		produce(t, r, numbered(senders, n/2, n))
		until(t, "all wait", func() bool { return a.in.relayed.Load()+b.in.relayed.Load() >= n })
		find(cluster.Masters[lost])
		until(t, "all are written", func() bool { return a.in.Stats().Forwarded+b.in.Stats().Forwarded >= n })
		if got := inOrder(t, r, keyCustomer+customer); got != n {
			t.Errorf("%d of %d are there", got, n)
		}
		until(t, "the second has its share", func() bool { return len(partitionsOf(b)) == defaultPartitions/2 })
	})
}

// A partition whose lease is on a server that is away is read by the instance that had it.
func TestALeaseOnAServerThatIsAway(t *testing.T) {
	eachLoss(t, func(t *testing.T, r *Redis, cluster *redistest.Cluster, lose, find func(*redistest.Server)) {
		const lost = 2 // that has leases of the second's partitions, whose streams it has not
		names := namesOn(cluster, lost)
		a, _ := startIntake(t, r, quick(names[0]), true)
		until(t, "the first has all partitions", func() bool { return len(partitionsOf(a)) == defaultPartitions })
		lose(cluster.Masters[lost])
		b, _ := startIntake(t, r, quick(names[1]), true)
		until(t, "the second has some", func() bool { return len(partitionsOf(b)) > 0 })
		some := present(cluster, lost, 0, 1000)
		produce(t, r, some)
		until(t, "all are read", func() bool { return a.count()+b.count() == len(some) })
		find(cluster.Masters[lost])
		until(t, "they take turns", func() bool {
			return slices.Equal(partitionsOf(a), []int{1, 3, 5, 7}) && slices.Equal(partitionsOf(b), []int{0, 2, 4, 6})
		})
	})
}

// Nobody takes a partition that another instance has, also if its server has lost the lease, and what was known of that instance.
func TestALostLease(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	slow := func(name string) IntakeConfig { return IntakeConfig{Instance: name, Lease: 20 * time.Second} }
	a, _ := startIntake(t, r, slow("a"), true)
	until(t, "the first has all partitions", func() bool { return len(partitionsOf(a)) == defaultPartitions })
	a.in.parts[1].begin() // it handles what it read
	done := sync.OnceFunc(a.in.parts[1].end)
	t.Cleanup(done)
	b, _ := startIntake(t, r, slow("b"), true)
	until(t, "the second has the others", func() bool { return slices.Equal(partitionsOf(b), []int{3, 5, 7}) })
	for range 50 {
		for _, key := range []string{keyLease + "1", keyInstance + "a"} {
			must(t, r, "DEL", key)
		}
		b.in.wakeKeeper()
		time.Sleep(20 * time.Millisecond)
		if got := partitionsOf(b); slices.Contains(got, 1) {
			t.Fatalf("the second has %v", got)
		}
	}
	done()
	until(t, "the second has its share", func() bool {
		a.in.wakeKeeper()
		return slices.Equal(partitionsOf(b), []int{1, 3, 5, 7})
	})
}
