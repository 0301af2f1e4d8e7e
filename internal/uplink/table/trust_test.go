package table

import (
	"errors"
	"testing"

	"contend/internal/uplink/lorawan"
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
				list = append(list, Trust{eui, created[eui], size})
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
		// What else is written leaves it as it is.
		if err := table.SetTarget(ctx, "a", 3, 1); err != nil {
			t.Fatal(err)
		}
		for name, table := range map[string]*Table{"written": table, "opened again": reopen(t, table)} {
			for eui, want := range map[lorawan.EUI]int{0: 0, 1: 2, 2: 4, 3: 65535, 4: 0, 99: 0} {
				if got := table.Trust(eui); got != want {
					t.Errorf("%s: size of %v is %d, want %d", name, eui, got, want)
				}
			}
		}
	})
}
