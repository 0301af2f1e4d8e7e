package table

import (
	"context"
	"maps"
	"slices"
	"sync"

	"contend/systems/uplink/lorawan"
)

// groups are the multicast groups in memory.
type groups struct {
	mu sync.RWMutex
	of map[Customer]map[lorawan.DevAddr]*group
	// in holds the groups of each device that is in one.
	in map[lorawan.EUI]map[groupKey]struct{}
}

type group struct {
	name    string
	created int64
	devices map[lorawan.EUI]struct{}
}

func newGroups() *groups {
	return &groups{of: map[Customer]map[lorawan.DevAddr]*group{}, in: map[lorawan.EUI]map[groupKey]struct{}{}}
}

// Groups returns a customer's groups with these addresses, all if there are none, in
// order of their creation and then of their address.
func (t *Table) Groups(c Customer, addrs []lorawan.DevAddr) []Group {
	g := t.groups
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(addrs) == 0 {
		addrs = slices.Collect(maps.Keys(g.of[c]))
	}
	found := []Group{}
	for _, addr := range slices.Compact(slices.Sorted(slices.Values(addrs))) {
		if one, ok := g.of[c][addr]; ok {
			found = append(found, one.group(addr))
		}
	}
	slices.SortStableFunc(found, func(a, b Group) int { return a.Created.Compare(b.Created) })
	return found
}

func (g *group) group(addr lorawan.DevAddr) Group {
	devices := slices.AppendSeq(make([]lorawan.EUI, 0, len(g.devices)), maps.Keys(g.devices))
	slices.Sort(devices)
	return Group{Addr: addr, Name: g.name, Created: timeOf(g.created), Devices: devices}
}

// put adds a group or replaces it.
func (g *groups) put(key groupKey, one *group) {
	g.remove(key)
	if g.of[key.customer] == nil {
		g.of[key.customer] = map[lorawan.DevAddr]*group{}
	}
	g.of[key.customer][key.addr] = one
	for eui := range one.devices {
		g.note(key, eui)
	}
}

func (g *groups) note(key groupKey, eui lorawan.EUI) {
	if g.in[eui] == nil {
		g.in[eui] = map[groupKey]struct{}{}
	}
	g.in[eui][key] = struct{}{}
}

func (g *groups) unnote(key groupKey, eui lorawan.EUI) {
	delete(g.in[eui], key)
	if len(g.in[eui]) == 0 {
		delete(g.in, eui)
	}
}

// remove takes out a group, if it exists.
func (g *groups) remove(key groupKey) {
	one, ok := g.of[key.customer][key.addr]
	if !ok {
		return
	}
	for eui := range one.devices {
		g.unnote(key, eui)
	}
	delete(g.of[key.customer], key.addr)
}

// move replaces one group by another, with its devices. A group that is not known
// yet, as another instance has just made it, will be read again.
func (g *groups) move(before, after groupKey, one group) Group {
	one.devices = map[lorawan.EUI]struct{}{}
	if old, ok := g.of[before.customer][before.addr]; ok {
		one.devices = old.devices
	}
	g.remove(before)
	g.put(after, &one)
	return one.group(after.addr)
}

// join adds a device to a group; leave undoes it.
func (g *groups) join(key groupKey, eui lorawan.EUI) {
	if one, ok := g.of[key.customer][key.addr]; ok {
		one.devices[eui] = struct{}{}
		g.note(key, eui)
	}
}

func (g *groups) leave(key groupKey, eui lorawan.EUI) {
	if one, ok := g.of[key.customer][key.addr]; ok {
		delete(one.devices, eui)
		g.unnote(key, eui)
	}
}

// forget takes devices that are gone out of all groups.
func (g *groups) forget(euis []lorawan.EUI) {
	if len(euis) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, eui := range euis {
		for key := range g.in[eui] {
			g.leave(key, eui)
		}
	}
}

// refreshGroups reads a group again, all of them if key is nil.
func (t *Table) refreshGroups(ctx context.Context, key *groupKey) error {
	release, err := t.turns.take(ctx, all)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, t.db.timeout)
	defer cancel()
	read, err := t.db.readGroups(ctx, key)
	if err != nil {
		return err
	}
	t.groups.mu.Lock()
	defer t.groups.mu.Unlock()
	if key != nil {
		t.groups.remove(*key)
	} else {
		clear(t.groups.of)
		clear(t.groups.in)
	}
	for k, one := range read {
		t.groups.put(k, one)
	}
	return nil
}

// readGroups reads a group, all of them if key is nil.
func (db *database) readGroups(ctx context.Context, key *groupKey) (map[groupKey]*group, error) {
	statement := `SELECT customer, addr, name, created, dev_eui
		FROM multicast_groups LEFT JOIN multicast_devices USING (customer, addr)`
	var args []any
	if key != nil {
		statement += " WHERE customer = $1 AND addr = $2"
		args = []any{string(key.customer), int64(key.addr)}
	}
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	read := map[groupKey]*group{}
	for rows.Next() {
		var k groupKey
		var one group
		var eui *int64
		if err := rows.Scan(&k.customer, &k.addr, &one.name, &one.created, &eui); err != nil {
			return nil, err
		}
		if read[k] == nil {
			one.devices = map[lorawan.EUI]struct{}{}
			read[k] = &one
		}
		if eui != nil {
			read[k].devices[lorawan.EUI(*eui)] = struct{}{}
		}
	}
	return read, rows.Err()
}
