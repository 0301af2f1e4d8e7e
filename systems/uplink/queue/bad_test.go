package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"
)

// addRaw writes entries as they are.
func addRaw(t *testing.T, r *Redis, key string, entries [][]string) {
	t.Helper()
	for len(entries) > 0 {
		n := min(len(entries), 1000)
		var cmds []rueidis.Completed
		for _, fields := range entries[:n] {
			cmds = append(cmds, r.cmd(append([]string{"XADD", key, "*"}, fields...)...))
		}
		for _, reply := range r.client.DoMulti(t.Context(), cmds...) {
			if err := reply.Error(); err != nil {
				t.Fatal(err)
			}
		}
		entries = entries[n:]
	}
}

func TestMalformedEntriesAreSetAsideWhileGoodOnesFlow(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		kinds := []string{"v", "phy", "gw", "ts", "freq", "mod", "sf", "rssi", "snr", "lat"}
		const each, n = 100, 500
		before := 0
		if !r.Embedded() {
			before = maxBad // as many as are kept
			addRaw(t, r, keyBad, slices.Repeat([][]string{{"v", "1"}}, before))
		}
		var entries [][]string
		for range each {
			for _, kind := range kinds {
				entries = append(entries, with(kind, "!"+strings.Repeat("x", 300)))
			}
		}
		addRaw(t, r, keyUplinks+"3", entries)
		produce(t, r, frames(0, n))
		c, _ := startIntake(t, r, IntakeConfig{}, true)
		until(t, "all are acknowledged", func() bool { return c.in.Stats().Acked == uint64(n+len(entries)) })
		c.once(t, n)
		want := map[string]uint64{}
		for _, kind := range kinds {
			want[kind] = uint64(each)
		}
		if got := c.in.Stats().Malformed; !maps.Equal(got, want) {
			t.Errorf("malformed %v, want %v", got, want)
		}
		if n := length(t, r, keyBad); n > maxBad+200 || n < min(maxBad, before+len(entries)) {
			t.Errorf("%d set aside", n)
		}
		last, _ := newest(t, r, keyBad)
		if f := last.FieldValues; f["kind"] != "lat" || f["stream"] != keyUplinks+"3" || !strings.Contains(f["reason"], "lat is") || f["gw"] != "0102030405060708" {
			t.Errorf("%v", f)
		}
	})
}

func TestHostileEntriesAreCutShort(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		huge := []string{"v", strings.Repeat("1", 1<<20)}
		for i := range 1000 {
			huge = append(huge, fmt.Sprintf("f%d", i), strings.Repeat("x", 500))
		}
		addRaw(t, r, keyUplinks+"0", [][]string{huge})
		c, _ := startIntake(t, r, IntakeConfig{}, true)
		until(t, "it is set aside", func() bool { return c.in.Stats().Malformed["v"] == 1 })
		entries := entriesOf(t, r, keyBad)
		if len(entries) != 1 {
			t.Fatal(entries)
		}
		size := 0
		for name, value := range entries[0].FieldValues {
			size += len(name) + len(value)
		}
		if size < maxBadBytes-502 || size > 4000 {
			t.Errorf("%d bytes are kept of it", size)
		}
	})
}

func TestPoisonMessageIsDeliveredFiveTimes(t *testing.T) {
	eachRedis(t, func(t *testing.T, r *Redis) {
		produce(t, r, frames(0, 1))
		for i := range maxDeliveries {
			c, stop := startIntake(t, r, IntakeConfig{Instance: "one"}, false)
			until(t, "it is read", func() bool { return c.count() == 1 })
			if c.most != i+1 {
				t.Errorf("delivery %d says %d", i+1, c.most)
			}
			stop()
		}
		c, _ := startIntake(t, r, IntakeConfig{Instance: "one"}, false)
		until(t, "it is set aside", func() bool { return c.in.Stats().Acked == 1 })
		if st := c.in.Stats(); st.Poison != 1 || c.count() != 0 {
			t.Errorf("%+v, %d handled", st, c.count())
		}
		entries := entriesOf(t, r, keyBad)
		if len(entries) != 1 || entries[0].FieldValues["kind"] != "poison" || entries[0].FieldValues["reason"] != "delivered 5 times" {
			t.Errorf("set aside: %v", entries)
		}
	})
}
