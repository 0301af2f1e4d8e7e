package table

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"contend/systems/uplink/lorawan"
)

// A Trust is what is known from the challenges of a device, while it has the row that was
// created then: the size of the next, 0 to 65535 entries, and with which address it
// last solved one.
type Trust struct {
	DevEUI    lorawan.EUI
	Created   int64
	Size      int
	Proven    lorawan.DevAddr
	HasProven bool
}

// Trust returns what was saved of a device, with the size 0 if nothing was.
func (t *Table) Trust(eui lorawan.EUI) Trust { return t.index.trustOf(eui) }

// SaveTrust saves what is known of devices, once for each, for the time after a restart
// and for other instances. The address is kept if no other is given. What is saved
// already is not written again, and rows that are gone are left out. After an error
// some may be saved.
func (t *Table) SaveTrust(ctx context.Context, all []Trust) error {
	var changed []Trust
	for _, s := range all {
		if s.Size < 0 || s.Size > math.MaxUint16 {
			return fmt.Errorf("%w: challenge is %d entries; expected 0 to 65535", ErrInvalid, s.Size)
		}
		saved := t.Trust(s.DevEUI)
		if !s.HasProven {
			saved.Proven, saved.HasProven = 0, false
		}
		if saved != s {
			changed = append(changed, s)
		}
	}
	for chunk := range slices.Chunk(changed, chunkRows) {
		if err := t.saveTrust(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) saveTrust(ctx context.Context, rows []Trust) error {
	euis := make([]lorawan.EUI, len(rows))
	for i, r := range rows {
		euis[i] = r.DevEUI
	}
	_, err := t.write(ctx, write{euis: euis, statement: `
		UPDATE devices SET trust = saved.size, proven = COALESCE(saved.addr, proven)
		FROM (SELECT CAST(value->>0 AS BIGINT) AS eui, CAST(value->>1 AS BIGINT) AS moment,
			CAST(value->>2 AS BIGINT) AS size, CAST(value->>3 AS BIGINT) AS addr FROM ` + t.db.values("$1") + `) AS saved
		WHERE dev_eui = saved.eui AND created = saved.moment RETURNING ` + columns,
		args: []any{trustList(rows)},
	})
	return err
}

// trustList is the parameter of saveTrust: a list of lists.
func trustList(rows []Trust) string {
	values := make([][4]any, len(rows))
	for i, r := range rows {
		values[i] = [4]any{signed(r.DevEUI), r.Created, r.Size}
		if r.HasProven {
			values[i][3] = int64(r.Proven)
		}
	}
	text, _ := json.Marshal(values) // which always can be
	return string(text)
}
