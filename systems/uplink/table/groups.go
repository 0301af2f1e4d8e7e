package table

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"contend/systems/uplink/lorawan"
)

// MaxGroupName bounds Group.Name, in characters.
const MaxGroupName = 255

// A Group is a multicast group. Its address is unique among those of its customer.
type Group struct {
	Addr    lorawan.DevAddr
	Name    string
	Created time.Time     // UTC, whole microseconds
	Devices []lorawan.EUI // ascending, never nil
}

// A GroupUpdate holds new values; nil: it stays.
type GroupUpdate struct {
	Addr *lorawan.DevAddr
	Name *string
}

// CreateGroup adds an empty group. It fails with ErrGroupExists, ErrInvalid.
func (t *Table) CreateGroup(ctx context.Context, c Customer, addr lorawan.DevAddr, name string) (Group, error) {
	if err := validGroup(c, name); err != nil {
		return Group{}, err
	}
	created := now()
	key := groupKey{c, addr}
	err := t.writeGroups(ctx, []groupKey{key}, func(ctx context.Context, tx *sql.Tx) error {
		return changed(tx.ExecContext(ctx, `
			INSERT INTO multicast_groups (customer, addr, name, created) VALUES ($1, $2, $3, $4)
			ON CONFLICT (customer, addr) DO NOTHING`, string(c), int64(addr), name, created))(ErrGroupExists)
	}, func(g *groups) {
		g.put(key, &group{name: name, created: created, devices: map[lorawan.EUI]struct{}{}})
	})
	return Group{Addr: addr, Name: name, Created: timeOf(created), Devices: []lorawan.EUI{}}, err
}

func validGroup(c Customer, name string) error {
	errs := []error{validText("customer", string(c), 255), validText("name", name, utf8.UTFMax*MaxGroupName)}
	if n := utf8.RuneCountInString(name); n > MaxGroupName {
		errs = append(errs, fmt.Errorf("%w: name has %d characters; expected up to %d", ErrInvalid, n, MaxGroupName))
	}
	return errors.Join(errs...)
}

// UpdateGroup gives a group a new address or name. It fails with ErrGroupNotFound,
// ErrGroupExists (the new address is another group's), ErrInvalid.
func (t *Table) UpdateGroup(ctx context.Context, c Customer, addr lorawan.DevAddr, u GroupUpdate) (Group, error) {
	before, after := groupKey{c, addr}, groupKey{c, addr}
	if u.Addr != nil {
		after.addr = *u.Addr
	}
	if u.Name != nil {
		if err := validGroup(c, *u.Name); err != nil {
			return Group{}, err
		}
	}
	var updated Group
	var name string
	var created int64
	err := t.writeGroups(ctx, []groupKey{before, after}, func(ctx context.Context, tx *sql.Tx) error {
		if err := exists(tx.QueryRowContext(ctx, selectGroup, string(c), int64(addr)), ErrGroupNotFound); err != nil {
			return err
		}
		if after != before {
			err := exists(tx.QueryRowContext(ctx, selectGroup, string(c), int64(after.addr)), ErrGroupNotFound)
			if !errors.Is(err, ErrGroupNotFound) {
				return cmp.Or(err, ErrGroupExists)
			}
		}
		return tx.QueryRowContext(ctx, `
			UPDATE multicast_groups SET addr = $3, name = COALESCE(CAST($4 AS TEXT), name)
			WHERE customer = $1 AND addr = $2 RETURNING name, created`,
			string(c), int64(addr), int64(after.addr), u.Name).Scan(&name, &created)
	}, func(g *groups) {
		updated = g.move(before, after, group{name: name, created: created})
	})
	return updated, err
}

// DeleteGroups removes those of the groups that exist and returns their number.
func (t *Table) DeleteGroups(ctx context.Context, c Customer, addrs []lorawan.DevAddr) (int, error) {
	keys := make([]groupKey, len(addrs))
	for i, addr := range addrs {
		keys[i] = groupKey{c, addr}
	}
	var deleted int64
	err := t.writeGroups(ctx, keys, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM multicast_groups WHERE customer = $1 AND addr IN "+
			t.db.set("$2"), string(c), list(addrs))
		if err != nil {
			return err
		}
		deleted, err = result.RowsAffected()
		return err
	}, func(g *groups) {
		for _, key := range keys {
			g.remove(key)
		}
	})
	if err != nil {
		return 0, err
	}
	return int(deleted), nil
}

// AddToGroup adds one of the customer's devices. It fails with ErrGroupNotFound,
// ErrDeviceNotFound, ErrGroupContains.
func (t *Table) AddToGroup(ctx context.Context, c Customer, addr lorawan.DevAddr, eui lorawan.EUI) error {
	key := groupKey{c, addr}
	return t.writeGroups(ctx, []groupKey{key}, func(ctx context.Context, tx *sql.Tx) error {
		if err := exists(tx.QueryRowContext(ctx, selectGroup, string(c), int64(addr)), ErrGroupNotFound); err != nil {
			return err
		}
		device := tx.QueryRowContext(ctx, "SELECT 1 FROM devices WHERE customer = $1 AND dev_eui = $2",
			string(c), signed(eui))
		if err := exists(device, ErrDeviceNotFound); err != nil {
			return err
		}
		return changed(tx.ExecContext(ctx, `
			INSERT INTO multicast_devices (customer, addr, dev_eui) VALUES ($1, $2, $3)
			ON CONFLICT (customer, addr, dev_eui) DO NOTHING`, string(c), int64(addr), signed(eui)))(ErrGroupContains)
	}, func(g *groups) { g.join(key, eui) })
}

// RemoveFromGroup removes a device from a group and reports whether it was there.
func (t *Table) RemoveFromGroup(ctx context.Context, c Customer, addr lorawan.DevAddr, eui lorawan.EUI) (bool, error) {
	key := groupKey{c, addr}
	err := t.writeGroups(ctx, []groupKey{key}, func(ctx context.Context, tx *sql.Tx) error {
		return changed(tx.ExecContext(ctx, `
			DELETE FROM multicast_devices WHERE customer = $1 AND addr = $2 AND dev_eui = $3`,
			string(c), int64(addr), signed(eui)))(ErrDeviceNotFound)
	}, func(g *groups) { g.leave(key, eui) })
	if errors.Is(err, ErrDeviceNotFound) {
		return false, nil
	}
	return err == nil, err
}

const selectGroup = "SELECT 1 FROM multicast_groups WHERE customer = $1 AND addr = $2"

// exists returns missing if the query found nothing.
func exists(row *sql.Row, missing error) error {
	var one int
	err := row.Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return missing
	}
	return err
}

// changed returns what tells a statement without effect.
func changed(result sql.Result, err error) func(without error) error {
	return func(without error) error {
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return without
	}
}

// writeGroups runs do in a transaction, tells the other instances and then shows the
// outcome in memory. Groups are written seldom: it takes every turn, so that no
// device comes or goes in between.
func (t *Table) writeGroups(ctx context.Context, keys []groupKey, do func(context.Context, *sql.Tx) error,
	show func(*groups)) error {
	keys = slices.Compact(slices.Clone(keys))
	release, err := t.turns.take(ctx, all)
	if err != nil {
		return err
	}
	defer release()
	var texts []string
	for _, key := range keys {
		texts = append(texts, t.groupChanged(key))
	}
	err = t.db.transaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(do(ctx, tx), t.tell(ctx, tx, texts))
	})
	if err != nil {
		if errors.Is(err, ErrUnavailable) {
			t.doubt(change{groups: keys})
		}
		return err
	}
	t.groups.mu.Lock()
	show(t.groups)
	t.groups.mu.Unlock()
	return nil
}
