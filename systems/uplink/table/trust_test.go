package table

import (
	"errors"
	"slices"
	"testing"

	"contend/systems/uplink/lorawan"
)

func TestTrust(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		created := map[lorawan.EUI]int64{}
		for eui := range lorawan.EUI(5) {
			created[eui] = insert(t, table, "a", eui, 10).Created.UnixMicro()
		}
		save := func(sizes map[lorawan.EUI]int) error {
			var list []Trust
			for eui, size := range sizes {
				list = append(list, Trust{DevEUI: eui, Created: created[eui], Size: size})
			}
			return table.SaveTrust(ctx, list)
		}
		for _, sizes := range []map[lorawan.EUI]int{
			{0: 4096, 1: 2, 2: 2, 99: 2}, // 99 is nobody's
			{1: 2, 2: 4, 3: 65535},
			nil,
		} {
			if err := save(sizes); err != nil {
				t.Error(err)
			}
		}
		for _, size := range []int{-1, 65536} {
			if err := save(map[lorawan.EUI]int{1: size}); !errors.Is(err, ErrInvalid) {
				t.Errorf("size %d: %v", size, err)
			}
		}
		// A device that comes again begins again, although its earlier row is saved late.
		if _, err := table.Drop(ctx, "a", []lorawan.EUI{0}); err != nil {
			t.Fatal(err)
		}
		insert(t, table, "a", 0, 10)
		if err := save(map[lorawan.EUI]int{0: 8, 1: 2}); err != nil {
			t.Error(err)
		}
		// Other writes leave it as it is.
		if err := table.SetTarget(ctx, "a", 3, 1); err != nil {
			t.Fatal(err)
		}
		for name, table := range map[string]*Table{"written": table, "opened again": reopen(t, table)} {
			for eui, want := range map[lorawan.EUI]int{0: 0, 1: 2, 2: 4, 3: 65535, 4: 0, 99: 0} {
				if got := table.Trust(eui).Size; got != want {
					t.Errorf("%s: size of %v is %d, want %d", name, eui, got, want)
				}
			}
		}
	})
}

// The proofs of a device belong to its row and to an address: they stay when the size
// of the challenge is saved without them, and when the customer gives the device
// another address, which they do not cover. The next row has proved nothing.
func TestProven(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx, join := t.Context(), lorawan.EUI(10)
		created := insert(t, table, "a", 1, join).Created.UnixMicro()
		insert(t, table, "a", 2, join)
		provenAt := func(what string, want ...lorawan.DevAddr) {
			t.Helper()
			row, _ := table.ByDevEUI(1)
			for addr := range lorawan.DevAddr(30) {
				if row.ProvenAt(addr) != slices.Contains(want, addr) {
					t.Errorf("%s: proven at %v is %v, want %v alone", what, addr, row.ProvenAt(addr), want)
				}
			}
		}
		save := func(size int, addr lorawan.DevAddr, has bool) {
			t.Helper()
			if err := table.SaveTrust(ctx, []Trust{{1, created, size, addr, has}, {DevEUI: 2, Size: 2, Proven: addr, HasProven: has}}); err != nil {
				t.Error(err)
			}
		}
		provenAt("inserted")
		save(2048, 10, true)
		provenAt("solved", 10)
		save(1024, 0, false)
		provenAt("only the size", 10)
		if _, err := table.Update(ctx, "a", 1, join, Update{Active: ptr(lorawan.DevAddr(20))}); err != nil {
			t.Fatal(err)
		}
		provenAt("another address", 10)
		save(1024, 0, true)
		provenAt("solved with the address 0", 0)
		table = reopen(t, table)
		provenAt("opened again", 0)
		if got, want := table.Trust(1), (Trust{1, created, 1024, 0, true}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if row, _ := table.ByDevEUI(2); row.HasProven {
			t.Error("saved for a row of another moment")
		}
		if _, err := table.Drop(ctx, "a", []lorawan.EUI{1}); err != nil {
			t.Fatal(err)
		}
		insert(t, table, "a", 1, join)
		save(2, 10, true)
		provenAt("inserted again")
	})
}
