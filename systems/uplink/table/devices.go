package table

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"contend/systems/uplink/lorawan"
)

// MaxDetails bounds Device.Details, in bytes.
const MaxDetails = 4096

// maxShared bounds the devices of one customer that have the same address: every
// frame with it is offered for all of them. Beyond it a write fails with ErrInvalid.
const maxShared = 1024

// A Device is a row as its customer sees it.
type Device struct {
	DevEUI         lorawan.EUI
	JoinEUI        *lorawan.EUI // nil: it does not join
	Active, Target *lorawan.DevAddr
	Details        *string   // the customer's own remarks
	Created        time.Time // UTC, whole microseconds
}

// A NewDevice is one to be inserted, with at least one of JoinEUI and DevAddr.
type NewDevice struct {
	DevEUI  lorawan.EUI
	JoinEUI *lorawan.EUI
	DevAddr *lorawan.DevAddr
	Details *string
}

// An Update holds new addresses; nil: it stays.
type Update struct{ Active, Target *lorawan.DevAddr }

// Insert adds a device. It fails with ErrDeviceExists, ErrDeviceLimit, ErrInvalid.
func (t *Table) Insert(ctx context.Context, c Customer, d NewDevice) (Device, error) {
	if err := errors.Join(validDevice(c, d), t.validAddr(c, d.DevEUI, d.DevAddr)); err != nil {
		return Device{}, err
	}
	if limit := t.config.DeviceLimit; limit > 0 {
		if err := t.index.reserve(c, d.DevEUI, limit); err != nil {
			return Device{}, err
		}
		defer t.index.unreserve(c)
	}
	w := write{euis: []lorawan.EUI{d.DevEUI}, missing: ErrDeviceExists, statement: `
		INSERT INTO devices (dev_eui, customer, join_eui, active, details, created)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (dev_eui) DO NOTHING RETURNING ` + columns,
		args: []any{signed(d.DevEUI), string(c), orNull(d.JoinEUI), orNull(d.DevAddr), d.Details, now()},
	}
	return t.one(ctx, w)
}

func validDevice(c Customer, d NewDevice) error {
	errs := []error{validText("customer", string(c), 255)}
	if c == "" {
		errs = append(errs, fmt.Errorf("%w: customer is empty", ErrInvalid))
	}
	if d.JoinEUI == nil && d.DevAddr == nil {
		errs = append(errs, fmt.Errorf("%w: device %v has neither JoinEUI nor DevAddr", ErrInvalid, d.DevEUI))
	}
	if d.Details != nil {
		errs = append(errs, validText("details", *d.Details, MaxDetails))
	}
	return errors.Join(errs...)
}

// validAddr reports whether a customer may use an address for a device.
func (t *Table) validAddr(c Customer, eui lorawan.EUI, addr *lorawan.DevAddr) error {
	if addr != nil && t.index.others(c, eui, *addr) >= maxShared {
		return fmt.Errorf("%w: address %v belongs to %d devices, which is the most", ErrInvalid, *addr, maxShared)
	}
	return nil
}

// validText reports whether both databases can hold a text.
func validText(name, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%w: %s has %d bytes; expected up to %d", ErrInvalid, name, len(text), limit)
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return fmt.Errorf("%w: %s is not UTF-8 without zero bytes", ErrInvalid, name)
	}
	return nil
}

// Update changes the addresses of a device, which is named by its DevEUI and its
// JoinEUI, or fails with ErrDeviceNotFound. A target address that becomes the active
// one is a target no more.
func (t *Table) Update(ctx context.Context, c Customer, eui, join lorawan.EUI, u Update) (Device, error) {
	if err := errors.Join(t.validAddr(c, eui, u.Active), t.validAddr(c, eui, u.Target)); err != nil {
		return Device{}, err
	}
	return t.one(ctx, write{euis: []lorawan.EUI{eui}, missing: ErrDeviceNotFound, statement: `
		UPDATE devices SET
			active = COALESCE(CAST($4 AS BIGINT), active),
			target = NULLIF(COALESCE(CAST($5 AS BIGINT), target), CAST($4 AS BIGINT))
		WHERE customer = $1 AND dev_eui = $2 AND join_eui = $3 RETURNING ` + columns,
		args: []any{string(c), signed(eui), signed(join), orNull(u.Active), orNull(u.Target)},
	})
}

// SetTarget notes the address that a join accept offers to a device, or fails with
// ErrDeviceNotFound.
func (t *Table) SetTarget(ctx context.Context, c Customer, eui lorawan.EUI, addr lorawan.DevAddr) error {
	if err := t.validAddr(c, eui, &addr); err != nil {
		return err
	}
	_, err := t.one(ctx, write{euis: []lorawan.EUI{eui}, missing: ErrDeviceNotFound, statement: `
		UPDATE devices SET target = $3 WHERE customer = $1 AND dev_eui = $2 RETURNING ` + columns,
		args: []any{string(c), signed(eui), int64(addr)},
	})
	return err
}

// Promote makes the target address of a device the active one, as the device has
// shown that it uses it. Nothing happens if it is the active one already; without a
// device that has this target it fails with ErrDeviceNotFound.
func (t *Table) Promote(ctx context.Context, eui lorawan.EUI, addr lorawan.DevAddr) error {
	if r, ok := t.ByDevEUI(eui); ok && r.HasActive && r.Active == addr {
		return nil
	}
	_, err := t.one(ctx, write{euis: []lorawan.EUI{eui}, missing: ErrDeviceNotFound, statement: `
		UPDATE devices SET active = target, target = NULL WHERE dev_eui = $1 AND target = $2 RETURNING ` + columns,
		args: []any{signed(eui), int64(addr)},
	})
	return err
}

// Suspend ends the delivery of a device's frames as long as it has the row that was
// created then, or fails with ErrDeviceNotFound. The next row is not suspended.
func (t *Table) Suspend(ctx context.Context, eui lorawan.EUI, created int64) error {
	_, err := t.one(ctx, write{euis: []lorawan.EUI{eui}, missing: ErrDeviceNotFound, statement: `
		UPDATE devices SET suspended = 1 WHERE dev_eui = $1 AND created = $2 RETURNING ` + columns,
		args: []any{signed(eui), created},
	})
	return err
}

// Drop removes those of the devices that are the customer's, and returns their
// number. An error may come after some of them are gone: n says how many.
func (t *Table) Drop(ctx context.Context, c Customer, euis []lorawan.EUI) (n int, err error) {
	for chunk := range slices.Chunk(euis, chunkRows) {
		gone, err := t.drop(ctx, c, chunk)
		n += gone
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// chunkRows is how many rows one statement writes or names at most: long statements
// would let others wait.
const chunkRows = 2000

func (t *Table) drop(ctx context.Context, c Customer, euis []lorawan.EUI) (int, error) {
	gone, err := t.write(ctx, write{euis: euis, drops: true, statement: `
		DELETE FROM devices WHERE customer = $1 AND dev_eui IN ` + t.db.set("$2") + ` RETURNING ` + columns,
		args: []any{string(c), list(euis)},
	})
	return len(gone), err
}

// DropAll removes all devices that the customer has when it begins, and returns
// their number, as Drop does.
func (t *Table) DropAll(ctx context.Context, c Customer) (int, error) {
	euis, err := t.db.devicesOf(ctx, c)
	if err != nil {
		return 0, err
	}
	return t.Drop(ctx, c, euis)
}

// A write is a statement about devices that returns their rows.
type write struct {
	euis      []lorawan.EUI
	statement string
	args      []any
	missing   error // what it means if no row comes back
	drops     bool  // the rows that come back are gone
}

// one writes a single device.
func (t *Table) one(ctx context.Context, w write) (Device, error) {
	rows, err := t.write(ctx, w)
	if err != nil {
		return Device{}, err
	}
	if len(rows) == 0 {
		return Device{}, w.missing
	}
	return rows[0].device(), nil
}

// write runs a statement in its turn, tells the other instances and shows the outcome
// in memory. If nobody knows whether it was carried out, the devices are read again as
// soon as possible.
func (t *Table) write(ctx context.Context, w write) ([]entry, error) {
	release, err := t.turns.take(ctx, turnsOf(w.euis...))
	if err != nil {
		return nil, err
	}
	defer release()
	var rows []entry
	err = t.db.transaction(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if rows, err = query(ctx, tx, scan, w.statement, w.args...); err != nil {
			return err
		}
		return t.tell(ctx, tx, t.devicesChanged(rows))
	})
	if err != nil {
		if errors.Is(err, ErrUnavailable) {
			t.doubt(change{euis: w.euis})
		}
		return nil, err
	}
	if w.drops {
		gone := make([]lorawan.EUI, len(rows))
		for i := range rows {
			gone[i] = rows[i].DevEUI
		}
		t.hide(gone)
	} else {
		t.show(rows)
	}
	return rows, nil
}

func (e *entry) device() Device {
	d := Device{DevEUI: e.DevEUI, Details: e.details, Created: timeOf(e.Created)}
	if e.HasJoin {
		d.JoinEUI = &e.JoinEUI
	}
	if e.HasActive {
		d.Active = &e.Active
	}
	if e.HasTarget {
		d.Target = &e.Target
	}
	return d
}
