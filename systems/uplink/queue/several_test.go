package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"contend/systems/uplink/message"
)

// quick is a configuration in which the dead are missed soon.
func quick(name string) IntakeConfig {
	return IntakeConfig{Instance: name, Lease: 2 * time.Second}
}

// soon is one whose absence is noticed at once; a live one that is slow may also be taken for absent.
func soon(name string) IntakeConfig {
	return IntakeConfig{Instance: name, Lease: 500 * time.Millisecond}
}

// long is one whose silence nobody notices.
func long(name string) IntakeConfig { return IntakeConfig{Instance: name, Lease: time.Hour} }

func partitionsOf(c *collector) []int {
	list := c.in.Stats().Partitions
	slices.Sort(list)
	return list
}

func TestInstancesShareThePartitions(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		a, _ := startIntake(t, r, quick("a"), true)
		until(t, "a owns all", func() bool { return len(partitionsOf(a)) == 8 })
		b, stopB := startIntake(t, r, quick("b"), true)
		until(t, "they take turns", func() bool {
			return slices.Equal(partitionsOf(a), []int{0, 2, 4, 6}) && slices.Equal(partitionsOf(b), []int{1, 3, 5, 7})
		})
		const n = 2000
		produce(t, r, frames(0, n))
		until(t, "all are read", func() bool { return a.count()+b.count() == n })
		if a.count() == 0 || b.count() == 0 {
			t.Errorf("a read %d, b %d", a.count(), b.count())
		}
		stopB()
		until(t, "a owns all again", func() bool { return len(partitionsOf(a)) == 8 })
		produce(t, r, frames(n, 2*n))
		until(t, "a reads the rest", func() bool { return a.count()+b.count() == 2*n })
	})
}

func TestEntriesOfADeadInstanceAreClaimed(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		const n = 1200
		produce(t, r, frames(0, n))
		// An instance that reads and is never heard of again.
		dead, err := NewIntake(t.Context(), r, soon("dead"))
		if err != nil {
			t.Fatal(err)
		}
		seen := &collector{in: dead, seen: map[int]int{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- dead.Run(ctx, seen.handle) }()
		until(t, "it read all", func() bool { return seen.count() == n })
		cancel()
		<-done
		dead.stop() // and no Close: no word of farewell
		dead.routines.Wait()
		produce(t, r, frames(n, 2*n)) // which are not read before
		live, _ := startIntake(t, r, soon("live"), true)
		until(t, "all are claimed", func() bool { return live.in.Stats().Acked == 2*n })
		live.once(t, 2*n)
		if live.late > 0 {
			t.Errorf("%d were read after newer ones", live.late)
		}
		until(t, "the dead one is forgotten", func() bool {
			names, err := r.do(t.Context(), "SMEMBERS", keyInstances).AsStrSlice()
			return err == nil && slices.Equal(names, []string{"live"})
		})
		if st := live.in.Stats(); st.Claimed != n || live.most != 2 {
			t.Errorf("%+v, delivered %d times", st, live.most)
		}
	})
}

// The entries that an instance had in hand when it left come again at once, however long leases are.
func TestEntriesOfAnInstanceThatLeft(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) { // of the embedded one nothing is left
		const n = 1200
		left, err := NewIntake(t.Context(), r, long("left"))
		if err != nil {
			t.Fatal(err)
		}
		left.Hold("acme") // and its own entries of a customer's stream
		forward(t, left, "acme", frames(n, n+10))
		seen := &collector{in: left, seen: map[int]int{}}
		receiving, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- left.Receive(receiving, "acme", seen.handle) }()
		go func() { done <- left.Run(receiving, seen.handle) }()
		produce(t, r, frames(0, n))
		until(t, "it read all", func() bool { return seen.count() == n+10 })
		seen.settle(100)
		live, _ := startIntake(t, r, long("live"), true)
		go live.in.Receive(t.Context(), "acme", live.handle)
		cancel()
		if err := errors.Join(<-done, <-done, left.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		until(t, "the rest arrives", func() bool {
			live.in.wakeKeeper() // the hint may have come before it listened
			return live.count() == n+10-100
		})
		until(t, "it is acknowledged", func() bool { return live.in.Stats().Acked == n+10-100 })
		if live.most != 2 {
			t.Errorf("delivered %d times", live.most)
		}
	})
}

// One of two that read a customer's stream takes over what a third had in hand.
func TestOneTakesOverWhatWasLeft(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) { // of the embedded one nothing is left
		const n = 3000
		reader := func(name string) (*collector, func()) {
			c, stop := startIntake(t, r, long(name), false)
			got, end := receive(t, c, "acme")
			return got, func() {
				end()
				stop()
			}
		}
		left, leave := reader("left")
		for i := range n / 500 {
			forward(t, left.in, "acme", frames(500*i, 500*(i+1)))
		}
		until(t, "it read all", func() bool { return left.count() == n })
		a, _ := reader("a")
		b, _ := reader("b")
		leave()
		until(t, "all arrives", func() bool {
			a.in.wakeKeeper()
			b.in.wakeKeeper()
			return a.count()+b.count() >= n
		})
		time.Sleep(100 * time.Millisecond) // for what would come twice
		if got := a.count() + b.count(); got != n {
			t.Errorf("%d of %d were taken over", got, n)
		}
	})
}

func TestEntriesOfALiveInstanceAreNotClaimed(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		const n = 400
		produce(t, r, frames(0, n))
		const lease = 3 * time.Second
		slow, _ := startIntake(t, r, IntakeConfig{Instance: "a", Lease: lease}, false)
		until(t, "a read all", func() bool { return slow.count() == n })
		other, _ := startIntake(t, r, IntakeConfig{Instance: "b", Lease: lease}, true)
		until(t, "b owns its share", func() bool { return len(partitionsOf(other)) == 4 })
		time.Sleep(lease + time.Second) // so long nothing happens to them
		if other.count() != 0 {
			t.Errorf("b claimed %d", other.count())
		}
		// a may acknowledge what it read of partitions that are b's now.
		slow.in.Ack(slow.origins)
		until(t, "all are acknowledged", func() bool { return slow.in.Stats().Acked == n })
	})
}

func TestASecondProcessOfTheSameNameReplacesTheFirst(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		first, err := NewIntake(t.Context(), r, quick("a"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- first.Run(t.Context(), func([]*message.Uplink) {}) }()
		second, _ := startIntake(t, r, quick("a"), true)
		if err := <-done; !errors.Is(err, ErrNameTaken) {
			t.Errorf("the first ends with %v", err)
		}
		if err := first.Close(t.Context()); err != nil {
			t.Error(err)
		}
		produce(t, r, frames(0, 100))
		until(t, "the second reads", func() bool { return second.count() == 100 })
	})
}

// A process that leaves before it has noticed that another one has its name leaves all that bears it to that one.
func TestAnOldProcessLeavesNothingOfItsSuccessor(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		first, err := NewIntake(t.Context(), r, IntakeConfig{Instance: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- first.Run(ctx, func([]*message.Uplink) {}) }()
		until(t, "the first has the partitions", func() bool { return len(first.Stats().Partitions) == 8 })
		second, _ := startIntake(t, r, IntakeConfig{Instance: "a"}, true)
		until(t, "the second has them", func() bool { return len(partitionsOf(second)) == 8 })
		stop()
		<-ended
		if err := first.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if known, err := r.do(t.Context(), "SISMEMBER", keyInstances, "a").AsInt64(); known != 1 || err != nil {
			t.Errorf("the second is not known any more, %v", err)
		}
		for i := range 8 {
			if owner, err := r.do(t.Context(), "GET", keyLease+strconv.Itoa(i)).ToString(); owner != "a " || err != nil {
				t.Errorf("partition %d is of %q, %v", i, owner, err)
			}
		}
	})
}

func TestIntakePausesAtTheLimit(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		const n, limit = 5000, 500
		for i, ackRead := range []bool{false, true} {
			produce(t, r, frames(i*n, (i+1)*n))
			c, stop := startIntake(t, r, IntakeConfig{InFlight: limit, Batch: 10, AckRead: ackRead}, false)
			until(t, "it reads up to the limit", func() bool { return c.in.Stats().InFlight >= limit })
			highest := 0
			until(t, "all are read, a part at a time", func() bool {
				highest = max(highest, c.in.Stats().InFlight)
				c.settle(n)
				return c.count() == n
			})
			if highest > limit+80 { // one read of 10 from each of the 8 partitions comes on top
				t.Errorf("acknowledging what is read %v: %d in flight, limit %d", ackRead, highest, limit)
			}
			c.settle(n)
			stop()
		}
	})
}
