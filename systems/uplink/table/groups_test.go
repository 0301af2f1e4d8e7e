package table

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		insert(t, table, "a", high, 1)
		insert(t, table, "a", 2, 1)
		insert(t, table, "b", 3, 1)
		for _, step := range []struct {
			name string
			do   func() error
			want error
			has  map[lorawan.DevAddr][]lorawan.EUI // the groups of a
		}{
			{"none yet", func() error { return table.AddToGroup(ctx, "a", 5, high) }, ErrGroupNotFound, nil},
			{"create", func() error { return create(table, "a", 5, "five") }, nil, map[lorawan.DevAddr][]lorawan.EUI{5: {}}},
			{"again", func() error { return create(table, "a", 5, "six") }, ErrGroupExists, map[lorawan.DevAddr][]lorawan.EUI{5: {}}},
			{"another customer's address", func() error { return create(table, "b", 5, "") }, nil, map[lorawan.DevAddr][]lorawan.EUI{5: {}}},
			{"no such device", func() error { return table.AddToGroup(ctx, "a", 5, 9) }, ErrDeviceNotFound, map[lorawan.DevAddr][]lorawan.EUI{5: {}}},
			{"another customer's device", func() error { return table.AddToGroup(ctx, "a", 5, 3) }, ErrDeviceNotFound, map[lorawan.DevAddr][]lorawan.EUI{5: {}}},
			{"add", func() error { return table.AddToGroup(ctx, "a", 5, high) }, nil, map[lorawan.DevAddr][]lorawan.EUI{5: {high}}},
			{"again", func() error { return table.AddToGroup(ctx, "a", 5, high) }, ErrGroupContains, map[lorawan.DevAddr][]lorawan.EUI{5: {high}}},
			{"another", func() error { return table.AddToGroup(ctx, "a", 5, 2) }, nil, map[lorawan.DevAddr][]lorawan.EUI{5: {2, high}}},
			{"create another", func() error { return create(table, "a", 0xffffffff, "") }, nil,
				map[lorawan.DevAddr][]lorawan.EUI{5: {2, high}, 0xffffffff: {}}},
			{"address in use", func() error { return move(table, "a", 5, 0xffffffff) }, ErrGroupExists,
				map[lorawan.DevAddr][]lorawan.EUI{5: {2, high}, 0xffffffff: {}}},
			{"no such group", func() error { return move(table, "a", 6, 7) }, ErrGroupNotFound,
				map[lorawan.DevAddr][]lorawan.EUI{5: {2, high}, 0xffffffff: {}}},
			{"move", func() error { return move(table, "a", 5, 7) }, nil, map[lorawan.DevAddr][]lorawan.EUI{7: {2, high}, 0xffffffff: {}}},
			{"add after the move", func() error { return table.AddToGroup(ctx, "a", 7, 2) }, ErrGroupContains,
				map[lorawan.DevAddr][]lorawan.EUI{7: {2, high}, 0xffffffff: {}}},
			{"drop a device", func() error { _, err := table.Drop(ctx, "a", []lorawan.EUI{high}); return err }, nil,
				map[lorawan.DevAddr][]lorawan.EUI{7: {2}, 0xffffffff: {}}},
			{"it comes back alone", func() error {
				_, err := table.Insert(ctx, "a", NewDevice{DevEUI: high, JoinEUI: ptr(high)})
				return err
			}, nil, map[lorawan.DevAddr][]lorawan.EUI{7: {2}, 0xffffffff: {}}},
		} {
			if err := step.do(); !errors.Is(err, step.want) {
				t.Errorf("%s: %v, want %v", step.name, err, step.want)
			}
			if got := members(table, "a"); len(got)+len(step.has) > 0 && !reflect.DeepEqual(got, step.has) {
				t.Errorf("%s: %v, want %v", step.name, got, step.has)
			}
		}
		reopened := reopen(t, table)
		if got, want := reopened.Groups("a", nil), table.Groups("a", nil); !reflect.DeepEqual(got, want) {
			t.Errorf("opened again: %+v, want %+v", got, want)
		}
	})
}

func create(table *Table, c Customer, addr lorawan.DevAddr, name string) error {
	_, err := table.CreateGroup(context.Background(), c, addr, name)
	return err
}

func move(table *Table, c Customer, addr, to lorawan.DevAddr) error {
	_, err := table.UpdateGroup(context.Background(), c, addr, GroupUpdate{Addr: &to})
	return err
}

func members(table *Table, c Customer) map[lorawan.DevAddr][]lorawan.EUI {
	found := map[lorawan.DevAddr][]lorawan.EUI{}
	for _, g := range table.Groups(c, nil) {
		found[g.Addr] = g.Devices
	}
	return found
}

func TestGroupValues(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		longest := strings.Repeat("ä", MaxGroupName)
		first, err := table.CreateGroup(ctx, "a", 9, longest)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{longest + "ä", "a\x00", "\xff"} {
			if _, err := table.CreateGroup(ctx, "a", 1, name); !errors.Is(err, ErrInvalid) {
				t.Errorf("%.10q: %v", name, err)
			}
			if _, err := table.UpdateGroup(ctx, "a", 9, GroupUpdate{Name: &name}); !errors.Is(err, ErrInvalid) {
				t.Errorf("%.10q: %v", name, err)
			}
		}
		renamed, err := table.UpdateGroup(ctx, "a", 9, GroupUpdate{Name: ptr("")})
		if want := (Group{Addr: 9, Created: first.Created, Devices: []lorawan.EUI{}}); err != nil || !reflect.DeepEqual(renamed, want) {
			t.Errorf("%+v, %v; want %+v", renamed, err, want)
		}
		second, err := table.CreateGroup(ctx, "a", 8, "second")
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			give []lorawan.DevAddr
			want []Group
		}{
			{nil, []Group{renamed, second}},
			{[]lorawan.DevAddr{8, 7, 8}, []Group{second}},
			{[]lorawan.DevAddr{8, 9}, []Group{renamed, second}},
		} {
			if got := table.Groups("a", tt.give); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%v: %+v, want %+v", tt.give, got, tt.want)
			}
		}
		insert(t, table, "a", 1, 1)
		if err := table.AddToGroup(ctx, "a", 8, 1); err != nil {
			t.Fatal(err)
		}
		var removed []bool
		for _, key := range []struct {
			customer Customer
			addr     lorawan.DevAddr
			eui      lorawan.EUI
		}{{"b", 8, 1}, {"a", 7, 1}, {"a", 8, 2}, {"a", 8, 1}, {"a", 8, 1}} {
			was, err := table.RemoveFromGroup(ctx, key.customer, key.addr, key.eui)
			if err != nil {
				t.Error(err)
			}
			removed = append(removed, was)
		}
		if want := []bool{false, false, false, true, false}; !slices.Equal(removed, want) {
			t.Errorf("removed %v, want %v", removed, want)
		}
		for _, tt := range []struct {
			give []lorawan.DevAddr
			want int
		}{{nil, 0}, {[]lorawan.DevAddr{7}, 0}, {[]lorawan.DevAddr{7, 8, 8, 9}, 2}} {
			if n, err := table.DeleteGroups(ctx, "a", tt.give); n != tt.want || err != nil {
				t.Errorf("delete %v: %d, %v; want %d", tt.give, n, err, tt.want)
			}
		}
		if got := table.Groups("a", nil); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
	})
}
