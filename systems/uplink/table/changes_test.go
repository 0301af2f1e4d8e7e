package table

import (
	"testing"

	"contend/systems/uplink/lorawan"
)

// pair opens two instances on one database.
func pair(t *testing.T, url string) (one, other *Table) {
	return open(t, Config{URL: url}), open(t, Config{URL: url})
}

func TestChangesReachTheOtherInstance(t *testing.T) {
	t.Parallel()
	one, other := pair(t, postgres(t).Fresh(t))
	ctx := t.Context()
	join := lorawan.EUI(1)
	steps := []struct {
		name string
		do   func() error
	}{
		{"insert", func() error { _, err := one.Insert(ctx, "a", NewDevice{DevEUI: high, JoinEUI: &join}); return err }},
		{"insert elsewhere", func() error { _, err := other.Insert(ctx, "a", NewDevice{DevEUI: 2, JoinEUI: &join}); return err }},
		{"target", func() error { return one.SetTarget(ctx, "a", high, 5) }},
		{"promote elsewhere", func() error { return other.Promote(ctx, high, 5) }},
		{"group", func() error { return create(one, "a", 7, "seven") }},
		{"member", func() error { return one.AddToGroup(ctx, "a", 7, high) }},
		{"member elsewhere", func() error { return other.AddToGroup(ctx, "a", 7, 2) }},
		{"move", func() error { return move(other, "a", 7, 8) }},
		{"drop a member", func() error { _, err := one.Drop(ctx, "a", []lorawan.EUI{high}); return err }},
		{"delete", func() error { _, err := other.DeleteGroups(ctx, "a", []lorawan.DevAddr{8}); return err }},
		{"drop the rest", func() error { _, err := one.DropAll(ctx, "a"); return err }},
		{"a new owner", func() error { _, err := other.Insert(ctx, "a", NewDevice{DevEUI: 2, JoinEUI: &join}); return err }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		eventually(t, step.name, func() bool { return same(one, other, "a") })
	}
	row, _ := one.ByDevEUI(2)
	if err := one.SaveTrust(ctx, []Trust{{DevEUI: 2, Created: row.Created, Size: 64, Proven: 9, HasProven: true}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "trust", func() bool {
		row, _ := other.ByDevEUI(2)
		return other.Trust(2).Size == 64 && row.ProvenAt(9) && !row.ProvenAt(8)
	})
}

// A drop of more devices than one text can name.
func TestLargeChangesReachTheOtherInstance(t *testing.T) {
	t.Parallel()
	url := postgres(t).Fresh(t)
	fill(t, url, "a", 3*chunkRows/2)
	one, other := pair(t, url)
	if n, err := one.DropAll(t.Context(), "a"); n != 3*chunkRows/2 || err != nil {
		t.Fatal(n, err)
	}
	eventually(t, "all gone", func() bool { return other.Len() == 0 })
}
