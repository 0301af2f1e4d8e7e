package queue

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contend/internal/redisserver/redistest"
	"contend/systems/uplink/message"
)

// One customer may have as many downlinks open as places are free: alone half of 40, then
// a second one half of what is left. A downlink that ends makes room, by its name or by
// time, and nothing else is removed. An entry that a gateway removed counts until its
// downlink ends.
func TestOpenDownlinksAreShared(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		r.MostDownlinks = 40
		names := map[string][]string{}
		fill := func(customer string, open time.Duration) (n int) {
			for ; ; n++ {
				name, err := r.SendDownlink(t.Context(), &Downlink{Customer: customer, Open: open, Downstream: message.Downstream{PHY: []byte("p")}})
				if errors.Is(err, ErrShare) {
					return n
				}
				if err != nil {
					t.Fatal(err)
				}
				names[customer] = append(names[customer], name)
			}
		}
		has := func() (list []string) {
			for _, e := range entriesOf(t, r, keyDownlinks) {
				list = append(list, e.ID+" "+e.FieldValues["customer"])
			}
			return list
		}
		end := func(names ...string) {
			if err := r.EndDownlinks(t.Context(), names...); err != nil {
				t.Fatal(err)
			}
		}
		for i, step := range []struct {
			customer string
			want     int
		}{
			{"a greedy one", 20}, // 40 - n > n up to there
			{"second", 10},       // 20 - n > n
			{"third", 5},         // 10 - n > n
			{"a greedy one", 0},
		} {
			if n := fill(step.customer, time.Hour); n != step.want {
				t.Errorf("step %d: %s has %d, want %d", i, step.customer, n, step.want)
			}
		}
		all := slices.Concat(names["a greedy one"], names["second"], names["third"])
		if got := has(); !slices.Equal(got, all) {
			t.Errorf("%q, want %q", got, all)
		}
		end(all[:15]...)
		end(all[:15]...) // once more, and what never was
		end("1-1 second")
		if got := has(); !slices.Equal(got, all[15:]) {
			t.Errorf("%q, want %q", got, all[15:])
		}
		id, _, _ := strings.Cut(all[19], " ")
		must(t, r, "XDEL", keyDownlinks, id) // as a gateway may
		end(all[19])
		// Of 40 are 19 open, 4 of the greedy one: 21 - n > 4 + n up to n = 9.
		if n := fill("a greedy one", time.Millisecond); n != 9 {
			t.Errorf("%d more", n)
		}
		until(t, "their time is over", func() bool { end(); return slices.Equal(has(), append(slices.Clone(all[15:19]), all[20:]...)) })
		end(all...)
		if n, err := r.openScript(t.Context(), "return redis.call('ZCARD', KEYS[2]) + redis.call('HLEN', KEYS[3])").AsInt64(); n != 0 || err != nil {
			t.Errorf("%d left, %v", n, err)
		}
	})
}

// All downlinks that may end within a second are ended at once: 20,000 that are open for ten seconds at least.
func TestDownlinksEndInTime(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	const n = mostDownlinks / 10
	for range n {
		if _, err := r.SendDownlink(t.Context(), &Downlink{Customer: "a", Open: time.Millisecond, Downstream: message.Downstream{PHY: []byte("p")}}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Millisecond)
	if err := r.EndDownlinks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := length(t, r, keyDownlinks); left != 0 {
		t.Errorf("%d of %d are left", left, n)
	}
}

// An open downlink takes about 1 kB at most, whatever a customer puts into it.
func TestOpenDownlinksAreSmall(t *testing.T) {
	t.Parallel()
	r := openURL(t, redistest.Start(t).URL())
	d := Downlink{Mailbox: 1<<64 - 1, Customer: strings.Repeat("c", 64), Open: time.Hour, Downstream: message.Downstream{
		Transaction: 1<<64 - 1, PHY: make([]byte, message.MaxPHY), Window: message.Window{TMMS: slices.Repeat([]uint64{1<<64 - 1}, 8),
			Radio: message.Radio{Modulation: message.FHSS, Frequency: 1<<32 - 1, ChannelWidth: 1<<32 - 1, CodingRate: "4/6"}}}}
	const n = 2000
	before := usedMemory(t, r)
	for range n {
		if _, err := r.SendDownlink(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	if each := (usedMemory(t, r) - before) / n; each > 1000 {
		t.Errorf("%d bytes each", each)
	}
}

// usedMemory is that of data: what waits to be written to clients and to the file depends on how busy the machine is.
func usedMemory(t *testing.T, r *Redis) (bytes int64) {
	t.Helper()
	text, err := r.do(t.Context(), "INFO").ToString()
	if err != nil {
		t.Fatal(err)
	}
	for i, field := range []string{"used_memory", "mem_clients_normal", "mem_aof_buffer"} {
		n, err := strconv.ParseInt(infoField(text, field), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			n = -n
		}
		bytes += n
	}
	return bytes
}
