package table

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/systems/uplink/lorawan"
)

const high = lorawan.EUI(0xfedcba9876543210) // negative as a signed number

func TestInsertAndLookUp(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		before := time.Now().Truncate(time.Microsecond)
		both, err := table.Insert(ctx, "a", NewDevice{DevEUI: high, JoinEUI: ptr(high), DevAddr: ptr(lorawan.DevAddr(0xffffffff)),
			Details: ptr(`{"text":"ä"}`)})
		if err != nil {
			t.Fatal(err)
		}
		want := Device{DevEUI: high, JoinEUI: ptr(high), Active: ptr(lorawan.DevAddr(0xffffffff)), Details: ptr(`{"text":"ä"}`),
			Created: both.Created}
		if !reflect.DeepEqual(both, want) {
			t.Errorf("inserted %+v, want %+v", both, want)
		}
		if both.Created.Before(before) || both.Created.After(time.Now()) || both.Created.Location() != time.UTC ||
			both.Created.Nanosecond()%1000 != 0 {
			t.Errorf("created at %v", both.Created)
		}
		join, err := table.Insert(ctx, "b", NewDevice{DevEUI: 0, JoinEUI: ptr(lorawan.EUI(0))})
		if err != nil || join.Active != nil || join.Target != nil || join.Details != nil || *join.JoinEUI != 0 {
			t.Errorf("%+v, %v", join, err)
		}
		abp, err := table.Insert(ctx, "b", NewDevice{DevEUI: 7, DevAddr: ptr(lorawan.DevAddr(0xffffffff))})
		if err != nil || abp.JoinEUI != nil {
			t.Errorf("%+v, %v", abp, err)
		}
		row, ok := table.ByDevEUI(high)
		wantRow := Row{Customer: "a", DevEUI: high, JoinEUI: high, HasJoin: true, Active: 0xffffffff, HasActive: true,
			Created: both.Created.UnixMicro()}
		if !ok || row != wantRow {
			t.Errorf("row %+v, want %+v", row, wantRow)
		}
		if _, ok := table.ByDevEUI(8); ok {
			t.Error("found a device that is not there")
		}
		if owners := ownersAt(table, 0xffffffff); !slices.Equal(owners, []Customer{"a", "b"}) {
			t.Errorf("the shared address belongs to %v", owners)
		}
		if owners := ownersAt(table, 0); owners != nil {
			t.Errorf("address 0 of rows without one belongs to %v", owners)
		}
	})
}

func ownersAt(table *Table, addr lorawan.DevAddr) (owners []Customer) {
	for _, row := range table.ByAddr(nil, addr) {
		owners = append(owners, row.Customer)
	}
	slices.Sort(owners)
	return owners
}

func TestInsertErrors(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url, DeviceLimit: 2})
		ctx := t.Context()
		addr, join := ptr(lorawan.DevAddr(1)), ptr(lorawan.EUI(1))
		for _, tt := range []struct {
			customer Customer
			give     NewDevice
			want     error
		}{
			{"a", NewDevice{DevEUI: 1, JoinEUI: join}, nil},
			{"a", NewDevice{DevEUI: 1, JoinEUI: join}, ErrDeviceExists},
			{"b", NewDevice{DevEUI: 1, DevAddr: addr}, ErrDeviceExists}, // another customer's
			{"a", NewDevice{DevEUI: 2}, ErrInvalid},
			{"", NewDevice{DevEUI: 2, JoinEUI: join}, ErrInvalid},
			{"a", NewDevice{DevEUI: 2, JoinEUI: join, Details: ptr("a\x00b")}, ErrInvalid},
			{"a", NewDevice{DevEUI: 2, JoinEUI: join, Details: ptr("\xff")}, ErrInvalid},
			{"a", NewDevice{DevEUI: 2, JoinEUI: join, Details: ptr(strings.Repeat("x", MaxDetails+1))}, ErrInvalid},
			{"a", NewDevice{DevEUI: 2, JoinEUI: join, Details: ptr(strings.Repeat("x", MaxDetails))}, nil},
			{"a", NewDevice{DevEUI: 3, JoinEUI: join}, ErrDeviceLimit},
			{"a", NewDevice{DevEUI: 2, JoinEUI: join}, ErrDeviceExists}, // even at the limit
			{"b", NewDevice{DevEUI: 3, JoinEUI: join}, nil},             // which has none yet
		} {
			if _, err := table.Insert(ctx, tt.customer, tt.give); !errors.Is(err, tt.want) {
				t.Errorf("%s inserts %+v: %v, want %v", tt.customer, tt.give, err, tt.want)
			}
		}
		if _, err := table.Drop(ctx, "a", []lorawan.EUI{2}); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Insert(ctx, "a", NewDevice{DevEUI: 4, JoinEUI: join}); err != nil {
			t.Errorf("below the limit again: %v", err)
		}
	})
}

// Devices of one customer may share an address, up to a number.
func TestSharedAddresses(t *testing.T) {
	url := sqliteBackend.fresh(t)
	fill(t, url, "a", maxShared)
	directly(t, url, "UPDATE devices SET active = 7")
	table := open(t, Config{URL: url})
	ctx, addr, join := t.Context(), lorawan.DevAddr(7), lorawan.EUI(1)
	for customer, want := range map[Customer]error{"a": ErrInvalid, "b": nil} {
		other := insert(t, table, customer, high+lorawan.EUI(customer[0]), join)
		_, err := table.Update(ctx, customer, other.DevEUI, join, Update{Active: &addr})
		check(t, err, want)
		_, err = table.Update(ctx, customer, other.DevEUI, join, Update{Target: &addr})
		check(t, err, want)
		check(t, table.SetTarget(ctx, customer, other.DevEUI, addr), want)
		_, err = table.Insert(ctx, customer, NewDevice{DevEUI: other.DevEUI + 100, DevAddr: &addr})
		check(t, err, want)
	}
	if _, err := table.Update(ctx, "a", 1, 1, Update{Active: &addr}); err != nil {
		t.Errorf("the address that it has: %v", err)
	}
	if n := len(table.ByAddr(nil, addr)); n != maxShared+2 {
		t.Errorf("%d rows, want those of b besides", n)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	addr := func(n lorawan.DevAddr) *lorawan.DevAddr { return &n }
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		insert(t, table, "a", 1, 10)
		for _, tt := range []struct {
			customer       Customer
			eui, join      lorawan.EUI
			give           Update
			active, target *lorawan.DevAddr
			want           error
		}{
			{"a", 1, 9, Update{Target: addr(5)}, nil, nil, ErrDeviceNotFound},  // another JoinEUI
			{"b", 1, 10, Update{Target: addr(5)}, nil, nil, ErrDeviceNotFound}, // another customer
			{"a", 2, 10, Update{Target: addr(5)}, nil, nil, ErrDeviceNotFound},
			{"a", 1, 10, Update{Target: addr(5)}, nil, addr(5), nil},
			{"a", 1, 10, Update{Active: addr(4)}, addr(4), addr(5), nil},                   // another than the target
			{"a", 1, 10, Update{Active: addr(5)}, addr(5), nil, nil},                       // the target
			{"a", 1, 10, Update{Active: addr(6), Target: addr(7)}, addr(6), addr(7), nil},  // both
			{"a", 1, 10, Update{}, addr(6), addr(7), nil},                                  // nothing
			{"a", 1, 10, Update{Active: addr(0), Target: addr(0)}, addr(0), nil, nil},      // the same
			{"a", 1, 10, Update{Target: addr(0xffffffff)}, addr(0), addr(0xffffffff), nil}, // unsigned
		} {
			got, err := table.Update(ctx, tt.customer, tt.eui, tt.join, tt.give)
			if !errors.Is(err, tt.want) {
				t.Errorf("%s updates %+v: %v, want %v", tt.customer, tt.give, err, tt.want)
			}
			if err == nil && (!reflect.DeepEqual(got.Active, tt.active) || !reflect.DeepEqual(got.Target, tt.target)) {
				t.Errorf("%+v: active %v, target %v", tt.give, got.Active, got.Target)
			}
		}
		if table.ByAddr(nil, 5) != nil || len(table.ByAddr(nil, 0)) != 1 || len(table.ByAddr(nil, 0xffffffff)) != 1 {
			t.Error("the index does not follow")
		}
		if _, err := table.Insert(ctx, "a", NewDevice{DevEUI: 3, DevAddr: addr(3)}); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Update(ctx, "a", 3, 0, Update{Active: addr(4)}); !errors.Is(err, ErrDeviceNotFound) {
			t.Errorf("a device without JoinEUI: %v", err)
		}
	})
}

func insert(t *testing.T, table *Table, c Customer, eui, join lorawan.EUI) Device {
	t.Helper()
	d, err := table.Insert(t.Context(), c, NewDevice{DevEUI: eui, JoinEUI: &join})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestJoinPromoteSuspend(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		created := insert(t, table, "a", 1, 10).Created.UnixMicro()
		for _, step := range []struct {
			name string
			do   func() error
			want error
			row  Row
		}{
			{"no target yet", func() error { return table.Promote(ctx, 1, 5) }, ErrDeviceNotFound, Row{}},
			{"another customer's", func() error { return table.SetTarget(ctx, "b", 1, 5) }, ErrDeviceNotFound, Row{}},
			{"target", func() error { return table.SetTarget(ctx, "a", 1, 5) }, nil, Row{Target: 5, HasTarget: true}},
			{"another target", func() error { return table.Promote(ctx, 1, 6) }, ErrDeviceNotFound, Row{Target: 5, HasTarget: true}},
			{"promote", func() error { return table.Promote(ctx, 1, 5) }, nil, Row{Active: 5, HasActive: true}},
			{"again", func() error { return table.Promote(ctx, 1, 5) }, nil, Row{Active: 5, HasActive: true}},
			{"suspend an earlier row", func() error { return table.Suspend(ctx, 1, created-1) }, ErrDeviceNotFound, Row{Active: 5, HasActive: true}},
			{"suspend", func() error { return table.Suspend(ctx, 1, created) }, nil, Row{Active: 5, HasActive: true, Suspended: true}},
			{"again", func() error { return table.Suspend(ctx, 1, created) }, nil, Row{Active: 5, HasActive: true, Suspended: true}},
			{"unknown", func() error { return table.Suspend(ctx, 2, created) }, ErrDeviceNotFound, Row{Active: 5, HasActive: true, Suspended: true}},
		} {
			if err := step.do(); !errors.Is(err, step.want) {
				t.Errorf("%s: %v, want %v", step.name, err, step.want)
			}
			want := step.row
			want.Customer, want.DevEUI, want.JoinEUI, want.HasJoin, want.Created = "a", 1, 10, true, created
			if got, _ := table.ByDevEUI(1); got != want {
				t.Errorf("%s: %+v, want %+v", step.name, got, want)
			}
		}
	})
}

// A JoinEUI of the frame matches the row's, or a row that has its DevEUI in place.
func TestJoins(t *testing.T) {
	for _, tt := range []struct {
		row  Row
		join lorawan.EUI
		want bool
	}{
		{Row{DevEUI: 1, JoinEUI: 2, HasJoin: true}, 2, true},
		{Row{DevEUI: 1, JoinEUI: 2, HasJoin: true}, 3, false},
		{Row{DevEUI: 1, JoinEUI: 1, HasJoin: true}, 3, true},
		{Row{DevEUI: 0}, 0, false}, // none
	} {
		if got := tt.row.Joins(tt.join); got != tt.want {
			t.Errorf("%+v joins %v: %v", tt.row, tt.join, got)
		}
	}
}

func TestSelectAndDrop(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, url string) {
		table := open(t, Config{URL: url})
		ctx := t.Context()
		var all []Device
		for _, eui := range []lorawan.EUI{high, 3, 2, 9} {
			all = append(all, insert(t, table, "a", eui, 10))
		}
		insert(t, table, "b", 4, 10)
		slices.SortFunc(all, func(a, b Device) int { return rankOf(a).compare(rankOf(b)) })
		for _, tt := range []struct {
			give Filter
			want []Device
		}{
			{Filter{Limit: -1}, all},
			{Filter{Limit: 2}, all[:2]},
			{Filter{Limit: 0}, nil},
			{Filter{Offset: 1, Limit: 2}, all[1:3]},
			{Filter{Offset: 3, Limit: 5}, all[3:]},
			{Filter{Offset: 4, Limit: -1}, nil},
			{Filter{Offset: 1 << 62, Limit: 1 << 62}, nil},
			// 4 is another customer's, 5 is nobody's, one is named twice.
			{Filter{DevEUIs: []lorawan.EUI{all[2].DevEUI, 4, all[0].DevEUI, 5, all[0].DevEUI}, Limit: -1}, []Device{all[0], all[2]}},
			{Filter{DevEUIs: []lorawan.EUI{all[2].DevEUI, all[0].DevEUI}, Offset: 1, Limit: -1}, []Device{all[2]}},
			{Filter{DevEUIs: []lorawan.EUI{all[2].DevEUI, all[0].DevEUI}, Limit: 1}, []Device{all[0]}},
			{Filter{DevEUIs: []lorawan.EUI{4}, Limit: -1}, nil},
		} {
			if got := table.Select("a", tt.give); got == nil || !slices.EqualFunc(got, tt.want, equalDevices) {
				t.Errorf("%+v: %+v, want %+v", tt.give, got, tt.want)
			}
		}
		if got := table.Select("nobody", Filter{Limit: -1}); len(got) != 0 {
			t.Errorf("nobody has %v", got)
		}
		for _, tt := range []struct {
			customer Customer
			give     []lorawan.EUI
			want     int
		}{
			{"a", nil, 0}, {"a", []lorawan.EUI{4, 5}, 0}, {"b", []lorawan.EUI{3}, 0}, {"a", []lorawan.EUI{3, 3, high, 77}, 2},
		} {
			if n, err := table.Drop(ctx, tt.customer, tt.give); n != tt.want || err != nil {
				t.Errorf("%s drops %v: %d, %v; want %d", tt.customer, tt.give, n, err, tt.want)
			}
		}
		if n, err := table.DropAll(ctx, "a"); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if _, ok := table.ByDevEUI(4); !ok || table.Len() != 1 {
			t.Errorf("%d devices left", table.Len())
		}
	})
}

func equalDevices(a, b Device) bool { return reflect.DeepEqual(a, b) }
