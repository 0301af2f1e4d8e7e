package table

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"contend/systems/uplink/lorawan"
)

// A model is a routing table of the simplest kind: what the table must behave like.
type model struct {
	devices map[lorawan.EUI]*modelDevice
	groups  map[groupKey]map[lorawan.EUI]bool
}

type modelDevice struct {
	customer       Customer
	join           lorawan.EUI
	active, target *lorawan.DevAddr
	proven         *lorawan.DevAddr
	trust          int
	suspended      bool
	created        int64
}

func (m *model) of(c Customer, eui lorawan.EUI) *modelDevice {
	if d := m.devices[eui]; d != nil && d.customer == c {
		return d
	}
	return nil
}

// A trial holds a table and its model, and draws what to do.
type trial struct {
	*Table
	*model
	ctx context.Context
}

func (s *trial) customer(t *rapid.T) Customer {
	return Customer(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "customer"))
}

func (s *trial) eui(t *rapid.T) lorawan.EUI {
	return rapid.SampledFrom([]lorawan.EUI{0, 1, 2, high, high + 1}).Draw(t, "eui")
}

func (s *trial) addr(t *rapid.T) lorawan.DevAddr {
	return rapid.SampledFrom([]lorawan.DevAddr{0, 1, 0xffffffff}).Draw(t, "addr")
}

func (s *trial) maybe(t *rapid.T) *lorawan.DevAddr {
	if rapid.Bool().Draw(t, "none") {
		return nil
	}
	return ptr(s.addr(t))
}

func check(t rapid.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func (s *trial) insert(t *rapid.T) {
	c, eui, join, addr := s.customer(t), s.eui(t), s.eui(t), s.maybe(t)
	var want error
	if s.devices[eui] != nil {
		want = ErrDeviceExists
	}
	d, err := s.Insert(s.ctx, c, NewDevice{DevEUI: eui, JoinEUI: &join, DevAddr: addr})
	if check(t, err, want); want == nil {
		s.devices[eui] = &modelDevice{customer: c, join: join, active: addr, created: d.Created.UnixMicro()}
	}
}

func (s *trial) update(t *rapid.T) {
	c, eui, join, u := s.customer(t), s.eui(t), s.eui(t), Update{s.maybe(t), s.maybe(t)}
	want := ErrDeviceNotFound
	if d := s.of(c, eui); d != nil && d.join == join {
		want = nil
		d.active, d.target = cmp.Or(u.Active, d.active), cmp.Or(u.Target, d.target)
		if u.Active != nil && d.target != nil && *d.target == *u.Active {
			d.target = nil
		}
	}
	_, err := s.Update(s.ctx, c, eui, join, u)
	check(t, err, want)
}

func (s *trial) join(t *rapid.T) {
	c, eui, offered, used := s.customer(t), s.eui(t), s.addr(t), s.addr(t)
	want := ErrDeviceNotFound
	if d := s.of(c, eui); d != nil {
		d.target, want = &offered, nil
	}
	check(t, s.SetTarget(s.ctx, c, eui, offered), want)
	want = ErrDeviceNotFound
	switch d := s.devices[eui]; {
	case d == nil:
	case d.active != nil && *d.active == used:
		want = nil
	case d.target != nil && *d.target == used:
		d.active, d.target, want = &used, nil, nil
	}
	check(t, s.Promote(s.ctx, eui, used), want)
}

func (s *trial) judge(t *rapid.T) {
	eui, before, size := s.eui(t), rapid.Int64Range(0, 1).Draw(t, "an earlier row"), rapid.IntRange(0, 4).Draw(t, "size")
	want, created, proven := ErrDeviceNotFound, int64(0), s.maybe(t)
	if d := s.devices[eui]; d != nil {
		created = d.created - before
		if before == 0 {
			d.suspended, d.trust, want = true, size, nil
			d.proven = cmp.Or(proven, d.proven)
		}
	}
	check(t, s.Suspend(s.ctx, eui, created), want)
	trust := Trust{DevEUI: eui, Created: created, Size: size}
	if proven != nil {
		trust.Proven, trust.HasProven = *proven, true
	}
	check(t, s.SaveTrust(s.ctx, []Trust{trust}), nil)
}

func (s *trial) drop(t *rapid.T) {
	c, euis := s.customer(t), []lorawan.EUI{s.eui(t), s.eui(t)}
	drop := func() (int, error) { return s.Drop(s.ctx, c, euis) }
	if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
		euis = slices.Collect(maps.Keys(s.devices))
		drop = func() (int, error) { return s.DropAll(s.ctx, c) }
	}
	want := 0
	for _, eui := range euis {
		if s.of(c, eui) == nil {
			continue
		}
		want++
		delete(s.devices, eui)
		for _, members := range s.model.groups {
			delete(members, eui)
		}
	}
	n, err := drop()
	if check(t, err, nil); n != want {
		t.Fatalf("dropped %d, want %d", n, want)
	}
}

func (s *trial) group(t *rapid.T) {
	key, to := groupKey{s.customer(t), s.addr(t)}, s.addr(t)
	after := groupKey{key.customer, to}
	var want error
	if s.model.groups[key] == nil {
		s.model.groups[key] = map[lorawan.EUI]bool{}
	} else {
		want = ErrGroupExists
	}
	check(t, create(s.Table, key.customer, key.addr, ""), want)
	want = nil
	if key != after && s.model.groups[after] != nil {
		want = ErrGroupExists
	} else {
		members := s.model.groups[key]
		delete(s.model.groups, key)
		s.model.groups[after] = members
	}
	check(t, move(s.Table, key.customer, key.addr, to), want)
	if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
		_, err := s.DeleteGroups(s.ctx, key.customer, []lorawan.DevAddr{key.addr})
		check(t, err, nil)
		delete(s.model.groups, key)
	}
}

func (s *trial) member(t *rapid.T) {
	key, eui := groupKey{s.customer(t), s.addr(t)}, s.eui(t)
	members := s.model.groups[key]
	if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		was, err := s.RemoveFromGroup(s.ctx, key.customer, key.addr, eui)
		if check(t, err, nil); was != members[eui] {
			t.Fatalf("removed: %v", was)
		}
		delete(members, eui)
		return
	}
	var want error
	switch {
	case members == nil:
		want = ErrGroupNotFound
	case s.of(key.customer, eui) == nil:
		want = ErrDeviceNotFound
	case members[eui]:
		want = ErrGroupContains
	default:
		members[eui] = true
	}
	check(t, s.AddToGroup(s.ctx, key.customer, key.addr, eui), want)
}

// agrees compares a table with the model.
func (s *trial) agrees(t *rapid.T, table *Table) {
	if table.Len() != len(s.devices) {
		t.Fatalf("%d devices, want %d", table.Len(), len(s.devices))
	}
	for eui, d := range s.devices {
		want := Row{Customer: d.customer, DevEUI: eui, JoinEUI: d.join, HasJoin: true, Suspended: d.suspended, Created: d.created}
		if d.active != nil {
			want.Active, want.HasActive = *d.active, true
		}
		if d.target != nil {
			want.Target, want.HasTarget = *d.target, true
		}
		if d.proven != nil {
			want.Proven, want.HasProven = *d.proven, true
		}
		if got, _ := table.ByDevEUI(eui); got != want || table.Trust(eui).Size != d.trust {
			t.Fatalf("%+v, challenge of %+v; want %+v, %d", got, table.Trust(eui), want, d.trust)
		}
	}
	for _, c := range []Customer{"a", "b"} {
		want := map[lorawan.DevAddr][]lorawan.EUI{}
		for key, members := range s.model.groups {
			if key.customer == c {
				want[key.addr] = slices.AppendSeq([]lorawan.EUI{}, maps.Keys(members))
				slices.Sort(want[key.addr])
			}
		}
		if got := members(table, c); !reflect.DeepEqual(got, want) {
			t.Fatalf("groups %v, want %v", got, want)
		}
	}
}

// Whatever is done, the table agrees with the model, and so does what is read from
// the database then.
func TestTableIsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &trial{ctx: context.Background(), model: &model{map[lorawan.EUI]*modelDevice{}, map[groupKey]map[lorawan.EUI]bool{}}}
		table, err := Open(s.ctx, Config{URL: "sqlite::memory:"})
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		s.Table = table
		t.Repeat(map[string]func(*rapid.T){
			"insert": s.insert, "update": s.update, "join": s.join, "judge": s.judge, "drop": s.drop,
			"group": s.group, "member": s.member, "": func(t *rapid.T) { s.agrees(t, table) },
		})
		again := &Table{db: table.db, config: table.config, index: newIndex(), groups: newGroups(), turns: newTurns()}
		if err := again.reload(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.agrees(t, again)
		if !same(table, again, "a") || !same(table, again, "b") {
			t.Fatal("the database differs")
		}
	})
}
