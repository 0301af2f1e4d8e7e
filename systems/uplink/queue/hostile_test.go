package queue

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/internal/testenv"
	"contend/systems/uplink/message"
)

// An entry of more than a million names and values is set aside as any malformed one.
func TestAnEntryOfAMillionFields(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	fields := []string{"v", "3"}
	for len(fields) < 1<<20+100 {
		fields = append(fields, "a", "b")
	}
	addRaw(t, r, keyUplinks+"0", [][]string{fields})
	const n = 100
	produce(t, r, frames(0, n))
	errs := journalOf(r)
	c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == n+1 })
	c.once(t, n)
	if st := c.in.Stats(); st.Malformed[fieldVersion] != 1 || errs.failed() != nil {
		t.Errorf("%+v, %s", st, errs.failed())
	}
}

// An entry whose reply never comes, since Redis closes the connection over its size, is set aside unread, and those
// around it arrive.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	const n, large = 1000, 16 << 20
	produce(t, r, frames(0, n))
	addRaw(t, r, keyUplinks+"0", [][]string{with("phy", strings.Repeat("x", large))})
	produce(t, r, frames(n, 2*n))
	server.Do("CONFIG", "SET", "client-output-buffer-limit", "normal 4mb 0 0")
	c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == 2*n+1 })
	c.once(t, 2*n)
	bad := entriesOf(t, r, keyBad)
	if len(bad) != 1 || bad[0].FieldValues["kind"] != kindPoison || bad[0].FieldValues["stream"] != keyUplinks+"0" {
		t.Errorf("set aside: %v", bad)
	}
	if st := c.in.Stats(); st.Poison != 1 || st.Lost != 0 || len(st.Malformed) > 0 {
		t.Errorf("%+v", st)
	}
}

// A reply may take as long as its parts keep coming.
func TestLongReplies(t *testing.T) {
	for _, tt := range []struct {
		pause time.Duration
		comes bool
	}{{replyTime - time.Second, true}, {replyTime + time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			w := &respConn{conn: ours, close: func() { ours.Close() }, buf: make([]byte, respBuffer), renew: true}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				theirs.Read(make([]byte, 1000))
				for _, part := range []string{"*1\r\n*2\r\n", bulks("s"), "*1\r\n*2\r\n" + bulks("1-2"), "*2\r\n", bulks("a", "b")} {
					time.Sleep(tt.pause)
					theirs.Write([]byte(part))
				}
			}()
			if err := w.send(0, "PING"); err != nil {
				t.Fatal(err)
			}
			var n notebook
			if err := w.streams(&n); (err == nil) != tt.comes {
				t.Errorf("with pauses of %v: %v, %q", tt.pause, err, n.lines)
			}
			w.close()
			<-ended
			theirs.Close()
		})
	}
}

// Whoever writes an entry with the greatest ID, after which a stream takes no more, stops a partition for a moment only.
func TestTheGreatestID(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"it is read", "it is trimmed away"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			eachRealRedis(t, func(t *testing.T, r *Redis) {
				const n, at = 100, 3
				key, last := keyUplinks+strconv.Itoa(at), "18446744073709551615-18446744073709551615"
				var mine []*message.Uplink
				for i := 0; len(mine) < 2*n; i++ {
					if u := frame(i); partitionOf(u.PHY, defaultPartitions) == at {
						mine = append(mine, u)
					}
				}
				c, stop := startIntake(t, r, quick("one"), true)
				produce(t, r, mine[:n])
				until(t, "the first are acknowledged", func() bool { return c.in.Stats().Acked == n })
				cmd := []string{"XADD", key}
				if way == "it is trimmed away" {
					stop()
					cmd = append(cmd, "MAXLEN", "0")
				}
				cmd = append(append(cmd, last), entryOf(mine[0])...)
				must(t, r, cmd...)
				if way == "it is trimmed away" {
					c, _ = startIntake(t, r, quick("two"), true)
				}
				before := c.count()
				produce(t, r, mine[n:]) // which waits
				until(t, "those that follow arrive", func() bool { return c.count() == before+n })
				until(t, "all are acknowledged", func() bool { return c.in.Stats().InFlight == 0 })
				for _, u := range mine[n:] {
					if c.seen[number4(u)] != 1 {
						t.Fatalf("%d came %d times", number4(u), c.seen[number4(u)])
					}
				}
			})
		})
	}
}

// An ID of the future dates nothing that follows it.
func TestIDsOfTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, millis := range []uint64{uint64(now.Add(time.Hour).UnixMilli()), 1<<63 - 1, 1<<64 - 1} {
		if got := newSource("s", 0).arrived(entryID{millis, 0}, 0, now); !got.Equal(now) {
			t.Errorf("%d: %v", millis, got)
		}
	}
}

// The results of downlinks go on after one with the greatest ID.
func TestTheGreatestIDOfResults(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		startIntake(t, r, quick("one"), true)
		add := func(id, tx string) error {
			return r.do(t.Context(), "XADD", keyResults, id, "v", "1", "mailbox", "1", "customer", "c", "tx", tx, "code", "0", "text", "").Error()
		}
		seen := make(chan uint64, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Results(ctx, "0-0", func(list []DownlinkResult) {
				for _, d := range list {
					seen <- d.Transaction
				}
			})
		}()
		if err := add("18446744073709551615-18446744073709551615", "1"); err != nil {
			t.Fatal(err)
		}
		until(t, "a gateway can write again", func() bool { return add("*", "2") == nil })
		until(t, "that is read", func() bool { return <-seen == 2 })
		cancel()
		for done := false; !done; {
			select {
			case <-seen:
			case <-ended:
				done = true
			}
		}
	})
}

// Uplinks that are read of a customer's stream while there is no room for them stay there when the reading ends.
func TestReceivingEndsWhileThereIsNoRoom(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		const n = 2000
		leaveBehind(t, r, n)
		cfg := quick("next")
		cfg.InFlight = 100
		next, _ := startIntake(t, r, cfg, false)
		got, stop := receive(t, next, "c")
		until(t, "it reads up to its limit", func() bool { return next.in.flying.Load() >= 100 })
		stop()
		had := got.count()
		got.settle(n)
		time.Sleep(200 * time.Millisecond) // for what must not come
		if now := got.count(); now != had {
			t.Errorf("%d came after the end", now-had)
		}
		again, stop := receive(t, next, "c")
		until(t, "the rest comes", func() bool {
			again.settle(n)
			return had+again.count() >= n
		})
		stop()
	})
}

// leaveBehind has an instance take n uplinks of a customer's stream in hand, and leave.
func leaveBehind(t *testing.T, r *Redis, n int) {
	t.Helper()
	left, err := NewIntake(t.Context(), r, quick("left"))
	if err != nil {
		t.Fatal(err)
	}
	forward(t, left, "c", frames(0, n))
	all, stop := receive(t, &collector{in: left}, "c")
	until(t, "one has all in hand", func() bool { return all.count() == n })
	stop()
	if err := left.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Nobody goes straight while a part of what others left is still to be read.
func TestCaughtUpWhileMoreIsLeft(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		const n = 20 * claimAtOnce
		leaveBehind(t, r, n)
		next, _ := startIntake(t, r, quick("next"), true)
		got, stop := receive(t, next, "c")
		defer stop()
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				for end := time.Now().Add(testenv.Patience); time.Now().Before(end); {
					if yes, err := next.in.CaughtUp(t.Context(), "c"); yes && err == nil {
						if had := got.count(); had != n {
							t.Errorf("caught up with %d of %d", had, n)
						}
						return
					}
					time.Sleep(time.Millisecond)
				}
				t.Error("never caught up")
			})
		}
		asking.Wait()
	})
}

// Entries whose reply was lost go to whoever reads their partition next, though their consumer lives.
func TestLostRepliesOfAPartitionThatIsGivenUp(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		cfg := quick("a")
		cfg.InFlight = 1 // so that it reads nothing again
		a, _ := startIntake(t, r, cfg, false)
		produce(t, r, frames(0, 1))
		until(t, "it has one in hand", func() bool { return a.count() == 1 && len(partitionsOf(a)) == defaultPartitions })
		const n = 400
		produce(t, r, frames(1, n))
		for i := range defaultPartitions { // as it would, if the reply came
			must(t, r, "XREADGROUP", "GROUP", group, "a", "COUNT", "1000", "STREAMS", keyUplinks+strconv.Itoa(i), ">")
			a.in.parts[i].wantRecovery()
		}
		b, _ := startIntake(t, r, quick("b"), true)
		until(t, "b has its partitions", func() bool { return slices.Equal(partitionsOf(b), []int{1, 3, 5, 7}) })
		want := 0
		for _, u := range frames(1, n) {
			want += partitionOf(u.PHY, defaultPartitions) % 2
		}
		until(t, "b reads what was in them", func() bool { return b.count() == want })
		if b.most != 1 {
			t.Errorf("delivery %d, which was the first", b.most)
		}
	})
}

// The same of a customer's stream.
func TestLostRepliesOfACustomerThatLeaves(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		a, _ := startIntake(t, r, quick("a"), true)
		_, stop := receive(t, a, "c")
		until(t, "a reads", func() bool { yes, err := a.in.CaughtUp(t.Context(), "c"); return yes && err == nil })
		stop()
		const n = 50
		forward(t, a.in, "c", frames(0, n))
		must(t, r, "XREADGROUP", "GROUP", group, "a", "STREAMS", keyCustomer+"c", ">")
		a.in.customer("c").wantRecovery()
		if err := a.in.Retreat(t.Context(), "c", nil); err != nil {
			t.Fatal(err)
		}
		b, _ := startIntake(t, r, quick("b"), true)
		got, stop := receive(t, b, "c")
		defer stop()
		until(t, "b reads what was lost", func() bool { return got.count() == n })
	})
}

// A server that does not answer for a moment has the limit that it had.
func TestTheLimitOfASilentServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := openURL(t, server.URL())
	c, _ := startIntake(t, r, IntakeConfig{}, true)
	server.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(1<<30))
	until(t, "the limit is known", func() bool { return c.in.Memory().Limit == 1<<30 })
	before := c.in.Stats().Errors
	server.Freeze()
	until(t, "it is silent", func() bool { return c.in.Stats().Errors > before })
	if m := c.in.Memory(); m.Limit != 1<<30 {
		t.Errorf("%+v", m)
	}
	server.Thaw()
}

// All that is done is cut off at once, even for a device that sends more than Redis cuts off by default.
func TestOneTrimmingIsEnough(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	const n, node = 30_000, 100 // entries, and those of one node of a stream
	s := newSource(keyUplinks+"0", 0)
	addRaw(t, r, s.key, slices.Repeat([][]string{{"v", "1"}}, n))
	all := trimming{source: s}
	_, all.newest = newest(t, r, s.key)
	if cut, err := r.client.Do(t.Context(), all.command(r)).AsInt64(); cut < n-node || err != nil {
		t.Errorf("%d of %d are cut off, %v", cut, n, err)
	}
}
