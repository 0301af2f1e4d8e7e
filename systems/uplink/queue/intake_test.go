package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/message"
)

func TestIntakeReadsAcknowledgesAndTrims(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		const n = 3000
		produce(t, r, frames(0, n))
		log := journalOf(r)
		c, stop := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
		until(t, "all are read", func() bool { return c.count() == n })
		until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == n })
		c.once(t, n)
		// Redis trims whole nodes only, of up to 100 entries.
		until(t, "all partitions are trimmed", func() bool { return c.in.Stats().Trimmed >= n-8*100 })
		st := c.in.Stats()
		if lines := log.failed(); st.Read != n || st.InFlight != 0 || st.Unknown != 0 || lines != nil || len(st.Partitions) != 8 {
			t.Errorf("%+v, %q", st, lines)
		}
		stop()
		for i := range 8 {
			if n := pendingIn(t, r, keyUplinks+strconv.Itoa(i)); n != 0 {
				t.Errorf("partition %d has %d pending entries", i, n)
			}
		}
	})
}

// A partition whose key is not a stream stops no other one, is reported again and again,
// and is read as soon as its key is a stream.
func TestASpoiltPartitionStopsNoOther(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		const n, spoilt = 2000, 3
		key := keyUplinks + strconv.Itoa(spoilt)
		must(t, r, "SET", key, "x")
		c, _ := startIntake(t, r, IntakeConfig{Instance: "one", Lease: time.Second}, true)
		var good, bad []*message.Uplink
		for _, u := range frames(0, n) {
			if partitionOf(u.PHY, 8) == spoilt {
				bad = append(bad, u)
			} else {
				good = append(good, u)
			}
		}
		produce(t, r, good)
		until(t, "all others arrive", func() bool { return c.count() == len(good) })
		until(t, "all others are acknowledged", func() bool { return c.in.Stats().Acked == uint64(len(good)) })
		if c.in.Stats().Errors == 0 {
			t.Error("nothing was counted")
		}
		must(t, r, "DEL", key)
		produce(t, r, bad)
		until(t, "its own arrive", func() bool { return c.count() == n })
		c.once(t, n)
	})
}

// Nor do the streams of a customer and of what is set aside stop others, if they are none.
func TestOtherSpoiltKeys(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		for _, key := range []string{keyBad, keyCustomer + "acme"} {
			must(t, r, "SET", key, "x")
		}
		addRaw(t, r, keyUplinks+"0", [][]string{{"v", "3"}})
		const n = 100
		c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
		until(t, "what is malformed is counted", func() bool { return c.in.Stats().Malformed[fieldVersion] == 1 })
		produce(t, r, frames(0, n))
		until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == n+1 })
		before := c.in.Stats().Errors
		forward(t, c.in, "acme", frames(0, 7))
		if st := c.in.Stats(); st.Dropped != 7 || st.Errors == before || before == 0 {
			t.Errorf("%+v, %d errors before", st, before)
		}
	})
}

// Uplinks in hand whose key becomes something else are lost, and hold up nothing.
func TestAPartitionIsSpoiltWhileItIsRead(t *testing.T) {
	t.Parallel()
	eachRealRedis(t, func(t *testing.T, r *Redis) {
		const n = 1000
		c, _ := startIntake(t, r, IntakeConfig{Instance: "one", Lease: time.Second}, false)
		produce(t, r, frames(0, n))
		until(t, "all are read", func() bool { return c.count() == n })
		must(t, r, "SET", keyUplinks+"3", "x")
		c.settle(n)
		until(t, "nothing is in flight", func() bool { return c.in.Stats().InFlight == 0 })
		if st := c.in.Stats(); st.Lost == 0 || st.Lost+st.Acked != n {
			t.Errorf("%+v", st)
		}
		var good []*message.Uplink
		for _, u := range frames(n, 2*n) {
			if partitionOf(u.PHY, 8) != 3 {
				good = append(good, u)
			}
		}
		produce(t, r, good)
		until(t, "others arrive", func() bool { return c.count() == n+len(good) })
	})
}

// An entry that is acknowledged when it is read stays in flight until it is settled.
func TestIntakeAcknowledgesWhatItReads(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		const n = 1000
		produce(t, r, frames(0, n))
		c, stop := startIntake(t, r, IntakeConfig{Instance: "one", AckRead: true}, false)
		until(t, "all are read and acknowledged", func() bool { return c.count() == n && c.in.Stats().Acked == n })
		c.settle(400)
		if st := c.in.Stats(); st.InFlight != n-400 || st.Unknown != 0 {
			t.Errorf("%+v", st)
		}
		c.in.Ack([]message.Origin{{Millis: 1}})
		c.settle(n)
		stop()
		if st := c.in.Stats(); st.InFlight != 0 || st.Acked != n || st.Unknown != 1 {
			t.Errorf("%+v", st)
		}
		for i := range 8 {
			if n := pendingIn(t, r, keyUplinks+strconv.Itoa(i)); n != 0 {
				t.Errorf("partition %d has %d pending entries", i, n)
			}
		}
	})
}

func pendingIn(t *testing.T, r *Redis, key string) int {
	t.Helper()
	items, err := r.do(t.Context(), "XPENDING", key, group, "-", "+", "100000").ToArray()
	if err != nil {
		t.Fatal(err)
	}
	return len(items)
}

// cutShort is a client whose first acknowledgements are cut short and stay in hand, as those of a
// connection that does not write.
type cutShort struct {
	rueidis.Client
	kept  atomic.Pointer[[]rueidis.Completed]
	words [][]string // as they were
}

func (c *cutShort) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if len(multi) == 0 || multi[0].Commands()[0] != "XACK" || c.kept.Load() != nil {
		return c.Client.DoMulti(ctx, multi...)
	}
	results := make([]rueidis.RedisResult, len(multi))
	for i := range multi {
		words := slices.Clone(multi[i].Commands())
		for j := range words {
			words[j] = strings.Clone(words[j])
		}
		c.words = append(c.words, words)
		results[i] = rueidis.NewErrorResult(context.DeadlineExceeded)
	}
	c.kept.Store(&multi)
	return results
}

// Acknowledgements that were cut short may be sent later, and what they acknowledge does not change by then.
func TestAcknowledgementsCutShort(t *testing.T) {
	t.Parallel()
	r := openURL(t, "")
	client := &cutShort{Client: r.client}
	r.client = client
	c, _ := startIntake(t, r, long("one"), true)
	produce(t, r, frames(0, 100))
	until(t, "one is cut short", func() bool { return client.kept.Load() != nil })
	produce(t, r, frames(100, 500))
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == 500 })
	for i, cmd := range *client.kept.Load() {
		if now := cmd.Commands(); !slices.Equal(now, client.words[i]) {
			t.Errorf("%d was %v and is %v", i, client.words[i], now)
		}
	}
}

func TestIntakeGivesUnacknowledgedEntriesAgain(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		const n = 1000
		produce(t, r, frames(0, n))
		first, stop := startIntake(t, r, IntakeConfig{Instance: "one"}, false)
		until(t, "all are read", func() bool { return first.count() == n })
		first.mu.Lock()
		first.in.Ack(first.origins[:400])
		first.in.Ack(first.origins[:10]) // a second time: counted, not sent
		first.mu.Unlock()
		stop()
		if st := first.in.Stats(); st.Acked != 400 || st.Unknown != 10 || st.InFlight != n-400 {
			t.Errorf("%+v", st)
		}
		second, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, true)
		until(t, "the rest comes again", func() bool { return second.count() == n-400 })
		if second.most != 2 {
			t.Errorf("delivered %d times", second.most)
		}
		until(t, "the rest is acknowledged", func() bool { return second.in.Stats().Acked == n-400 })
		if st := second.in.Stats(); st.Claimed != n-400 || st.Unknown != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestIntakeGoesOnWithARedisThatWasEmptied(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		produce(t, r, frames(0, 100))
		c, _ := startIntake(t, r, quick("one"), true)
		until(t, "the first are acknowledged", func() bool { return c.in.Stats().Acked == 100 })
		for _, node := range r.client.Nodes() {
			if err := node.Do(t.Context(), r.cmd("FLUSHALL")).Error(); err != nil {
				t.Fatal(err)
			}
		}
		produce(t, r, frames(100, 200))
		until(t, "the others, too", func() bool { return c.in.Stats().Acked == 200 })
		c.once(t, 200)
		until(t, "the partitions are known again", func() bool {
			n, err := r.do(t.Context(), "GET", keyLease+"7").ToString()
			return err == nil && n == "one "
		})
	})
}

// One customer that does not answer must not make the stream grow for all.
func TestAnOldEntryDoesNotHoldTheOthers(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		old := frame(0)
		key := keyUplinks + strconv.Itoa(partitionOf(old.PHY, 8))
		var list []*message.Uplink // of the same partition
		for i := 1; len(list) < 1000; i++ {
			if u := frame(i); partitionOf(u.PHY, 8) == partitionOf(old.PHY, 8) {
				list = append(list, u)
			}
		}
		produce(t, r, []*message.Uplink{old})
		silent, _ := startIntake(t, r, quick("one"), false)
		until(t, "it is read", func() bool { return silent.count() == 1 })
		until(t, "others are deleted behind it", func() bool {
			silent.mu.Lock()
			silent.in.Ack(silent.origins[1:])
			silent.origins = silent.origins[:1]
			silent.mu.Unlock()
			n := min(len(list), 10)
			produce(t, r, list[:n])
			list = list[n:]
			time.Sleep(50 * time.Millisecond)
			return silent.in.Stats().Trimmed > 0
		})
		until(t, "the rest is acknowledged", func() bool {
			silent.mu.Lock()
			defer silent.mu.Unlock()
			silent.in.Ack(silent.origins[1:])
			silent.origins = silent.origins[:1]
			return silent.in.Stats().InFlight == 1
		})
		entries := entriesOf(t, r, key, "COUNT", "1")
		if len(entries) != 1 || entries[0].FieldValues[fieldPHY] != string(old.PHY) {
			t.Errorf("the old entry: %v", entries)
		}
	})
}

// Uplinks that come one after another are read some at a time: no read follows one that found something
// within the time that readers linger.
func TestReadersLinger(t *testing.T) {
	r := openURL(t, redistest.Start(t).URL())
	const linger = 500 * time.Microsecond
	c, _ := startIntake(t, r, IntakeConfig{Instance: "one", Linger: linger}, true)
	produce(t, r, frames(0, 1))
	until(t, "the first is acknowledged", func() bool { return c.in.Stats().Acked == 1 })
	must(t, r, "CONFIG", "RESETSTAT")
	p := newProducer(t, r, ProducerConfig{})
	const n = 2000
	began := time.Now()
	for i := range n {
		if err := p.Add(t.Context(), frames(1+i, 2+i)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == 1+n })
	most := int(time.Since(began)/linger) + 3 // the read under way, and those before and after
	info, err := r.do(t.Context(), "INFO", "commandstats").ToString()
	if err != nil {
		t.Fatal(err)
	}
	_, calls, _ := strings.Cut(info, "cmdstat_xreadgroup:calls=")
	calls, _, _ = strings.Cut(calls, ",")
	if reads, err := strconv.Atoi(calls); err != nil || reads > most || reads == 0 {
		t.Errorf("%q reads, want at most %d, %v", calls, most, err)
	}
}
