package table

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"contend/systems/uplink/lorawan"
)

// The index agrees with a map after any sequence of puts and removals. Few devices
// and fewer addresses make them meet.
func TestIndexIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, model := newIndex(), map[lorawan.EUI]entry{}
		euis, addrs := rapid.Uint64Range(0, 30), rapid.Uint32Range(0, 4)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				e := entry{Row: Row{Created: rapid.Int64Range(0, 3).Draw(t, "created")}, trust: rapid.Uint16().Draw(t, "trust")}
				e.DevEUI = lorawan.EUI(euis.Draw(t, "eui"))
				e.Customer = Customer(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "customer"))
				e.Active, e.HasActive = lorawan.DevAddr(addrs.Draw(t, "active")), rapid.Bool().Draw(t, "has active")
				e.Target, e.HasTarget = lorawan.DevAddr(addrs.Draw(t, "target")), rapid.Bool().Draw(t, "has target")
				e.JoinEUI, e.HasJoin = lorawan.EUI(euis.Draw(t, "join")), rapid.Bool().Draw(t, "has join")
				e.Suspended = rapid.Bool().Draw(t, "suspended")
				e.Proven, e.HasProven = lorawan.DevAddr(addrs.Draw(t, "proven")), rapid.Bool().Draw(t, "has proven")
				if rapid.Bool().Draw(t, "has details") {
					e.details = ptr(rapid.String().Draw(t, "details"))
				}
				x.putAll([]entry{e})
				model[e.DevEUI] = e
			},
			"remove": func(t *rapid.T) {
				eui := lorawan.EUI(euis.Draw(t, "eui"))
				x.removeAll([]lorawan.EUI{eui})
				delete(model, eui)
			},
			"": func(t *rapid.T) { agree(t, x, model) },
		})
	})
}

func agree(t *rapid.T, x *index, model map[lorawan.EUI]entry) {
	for eui := range lorawan.EUI(31) {
		row, ok := x.byDevEUI(eui)
		want, wantOK := model[eui]
		if ok != wantOK || row != want.Row || x.trustOf(eui) != (Trust{row.DevEUI, row.Created, int(want.trust), row.Proven, row.HasProven}) {
			t.Fatalf("%v: %+v, want %+v", eui, row, want.Row)
		}
	}
	for addr := range lorawan.DevAddr(5) {
		var want []lorawan.EUI
		for _, e := range model {
			if e.HasActive && e.Active == addr || e.HasTarget && e.Target == addr {
				want = append(want, e.DevEUI)
			}
		}
		var got []lorawan.EUI
		for _, row := range x.appendByAddr(nil, addr) {
			got = append(got, row.DevEUI)
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("address %v: %v, want %v", addr, got, want)
		}
	}
	table := &Table{index: x}
	for _, c := range []Customer{"a", "b"} {
		var want []Device
		for _, eui := range slices.Sorted(maps.Keys(model)) {
			if e := model[eui]; e.Customer == c {
				want = append(want, e.device())
			}
		}
		slices.SortStableFunc(want, func(a, b Device) int { return a.Created.Compare(b.Created) })
		if got := table.Select(c, Filter{Limit: -1}); !slices.EqualFunc(got, want, equalDevices) {
			t.Fatalf("customer %s: %v, want %v", c, got, want)
		}
	}
	remarks := 0
	for _, e := range model {
		if e.details != nil {
			remarks++
		}
	}
	if table.Len() != len(model) || len(x.details) != remarks {
		t.Fatalf("%d rows, %d with details; want %d, %d", table.Len(), len(x.details), len(model), remarks)
	}
}

// Rows that are written while a reload runs win over what the reload read before.
func TestReloadIsOlderThanWrites(t *testing.T) {
	x := newIndex()
	row := func(eui lorawan.EUI, active lorawan.DevAddr) entry {
		return entry{Row: Row{Customer: "a", DevEUI: eui, Active: active, HasActive: true}}
	}
	x.putAll([]entry{row(1, 1), row(2, 1), row(3, 1), row(4, 1)})
	x.begin()
	x.putAll([]entry{row(2, 2), row(5, 2)})
	x.removeAll([]lorawan.EUI{3})
	var met seen
	x.merge([]entry{row(1, 3), row(2, 3), row(3, 3)}, &met) // it read neither 4 nor 5
	gone := x.sweep(met)
	x.end()
	got := map[lorawan.EUI]lorawan.DevAddr{}
	for _, d := range (&Table{index: x}).Select("a", Filter{Limit: -1}) {
		got[d.DevEUI] = *d.Active
	}
	want := map[lorawan.EUI]lorawan.DevAddr{1: 3, 2: 2, 5: 2}
	if !maps.Equal(got, want) || !slices.Equal(gone, []lorawan.EUI{4}) {
		t.Errorf("%v without %v, want %v", got, gone, want)
	}
}

// Pages begin where the last one ended.
func TestSelectOfManyPages(t *testing.T) {
	x := newIndex()
	const devices = 4*batchRows + 7
	for i := range devices {
		e := entry{Row: Row{Created: int64(i / 3), Customer: "a", DevEUI: ^lorawan.EUI(0) - lorawan.EUI(i)}}
		x.putAll([]entry{e})
	}
	table := &Table{index: x}
	everything := table.Select("a", Filter{Limit: -1})
	if len(everything) != devices || !slices.IsSortedFunc(everything, func(a, b Device) int { return rankOf(a).compare(rankOf(b)) }) {
		t.Fatalf("%d devices, want %d in order", len(everything), devices)
	}
	for _, f := range []Filter{{Offset: 1, Limit: batchRows}, {Offset: batchRows - 1, Limit: batchRows + 1},
		{Offset: 5, Limit: 3 * batchRows}, {Offset: devices - 1, Limit: 9}} {
		want := everything[f.Offset:min(devices, f.Offset+f.Limit)]
		if got := table.Select("a", f); !slices.EqualFunc(got, want, equalDevices) {
			t.Errorf("%+v: %d devices, want %d", f, len(got), len(want))
		}
	}
	for range table.Devices("a", Filter{Limit: -1}) {
		break // a reader may leave
	}
}

// A hash table agrees with a map whatever the hash values are.
func TestHashesIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h hashes
		model := map[uint32]uint32{} // number to hash
		hashes := rapid.OneOf(rapid.Uint32Range(0, 9), rapid.Uint32Range(0xfffff0, 0x100000f), rapid.Uint32())
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				number := uint32(len(model) + 1)
				for model[number] != 0 {
					number++
				}
				hash := hashes.Draw(t, "hash") | 1
				h.add(hash, number)
				model[number] = hash
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				number := rapid.SampledFrom(slices.Sorted(maps.Keys(model))).Draw(t, "number")
				h.remove(model[number], number)
				delete(model, number)
			},
			"": func(t *rapid.T) {
				for number, hash := range model {
					if got := h.find(hash, func(n uint32) bool { return n == number }); got != number {
						t.Fatalf("hash %x has %d, not %d", hash, got, number)
					}
				}
				if got := h.find(2, func(uint32) bool { return true }); got != 0 {
					t.Fatalf("found %d", got)
				}
			},
		})
	})
}

// An ordered keeps rows in order through splitting and merging, and pages find them.
func TestOrderedIsSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o ordered
		ranks := []rank{{}} // by row
		of := func(row uint32) rank { return ranks[row] }
		compare := func(a, b uint32) int { return of(a).compare(of(b)) }
		var model []uint32
		for range rapid.IntRange(1, 20).Draw(t, "rounds") {
			added := rapid.IntRange(0, 2000).Draw(t, "added")
			step := rapid.SampledFrom([]int64{1, -1, 7919}).Draw(t, "order")
			for i := range added {
				ranks = append(ranks, rank{(int64(i) * step) % 5003, uint64(len(ranks))})
				o.add(uint32(len(ranks)-1), of)
				model = append(model, uint32(len(ranks)-1))
			}
			slices.SortFunc(model, compare)
			first := rapid.IntRange(0, len(model)).Draw(t, "first")
			last := rapid.IntRange(first, len(model)).Draw(t, "last")
			for _, row := range model[first:last] {
				o.remove(row, of)
			}
			model = slices.Delete(model, first, last)
			offset, n := rapid.IntRange(0, len(model)+1).Draw(t, "offset"), rapid.IntRange(0, 3000).Draw(t, "n")
			checkOrdered(t, &o, model, offset, n)
		}
	})
}

func checkOrdered(t *rapid.T, o *ordered, model []uint32, offset, n int) {
	var got []uint32
	block, i := o.skip(offset)
	o.take(block, i, n, func(row uint32) { got = append(got, row) })
	want := model[min(offset, len(model)):]
	want = want[:min(n, len(want))]
	if !slices.Equal(got, want) || o.len != len(model) {
		t.Fatalf("%d from %d on: %d rows of %d, want %d of %d", n, offset, len(got), o.len, len(want), len(model))
	}
	for _, rows := range o.blocks {
		if len(rows) == 0 || len(rows) > blockRows {
			t.Fatalf("a block of %d rows", len(rows))
		}
	}
}

// The next rank is the next also at the end of the DevEUIs.
func TestRankNext(t *testing.T) {
	for give, want := range map[rank]rank{{1, 5}: {1, 6}, {1, ^uint64(0)}: {2, 0}} {
		if got := give.next(); got != want {
			t.Errorf("after %v: %v", give, got)
		}
	}
}

// Equal hash values of addresses are equal addresses: fold and the multiplication by
// an odd number are one to one. 2^18 of them would collide with probability
// 1 - exp(-2^36/2^33) if they were drawn.
func TestAddressesHaveTheirOwnHash(t *testing.T) {
	m, met := newMixer(), map[uint32]bool{}
	for addr := range uint32(1 << 18) {
		met[m.addr(addr<<14)] = true
		if len(met) != int(addr)+1 {
			t.Fatalf("address %08x has the hash value of another", addr<<14)
		}
	}
}
