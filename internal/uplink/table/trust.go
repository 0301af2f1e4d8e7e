package table

import (
	"context"
	"fmt"
	"math"
	"slices"

	"contend/internal/uplink/lorawan"
)

// A Trust is the size of a device's MIC challenge, 0 to 65535 entries, while it has
// the row that was created then.
type Trust struct {
	DevEUI  lorawan.EUI
	Created int64
	Size    int
}

// Trust returns the size of a device's MIC challenge as it was saved, 0 if none was.
func (t *Table) Trust(eui lorawan.EUI) int { return t.index.trustOf(eui) }

// SaveTrust saves the sizes of the devices' MIC challenges, one for each, for the time
// after a restart. What is saved already is not written again, and rows that are gone
// are left out. After an error some sizes may be saved.
func (t *Table) SaveTrust(ctx context.Context, sizes []Trust) error {
	bySize := map[int][]Trust{}
	for _, s := range sizes {
		if s.Size < 0 || s.Size > math.MaxUint16 {
			return fmt.Errorf("%w: challenge is %d entries; allowed: 0 to 65535", ErrInvalid, s.Size)
		}
		if t.Trust(s.DevEUI) != s.Size {
			bySize[s.Size] = append(bySize[s.Size], s)
		}
	}
	for size, rows := range bySize {
		for chunk := range slices.Chunk(rows, chunkRows) {
			if err := t.saveTrust(ctx, size, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveTrust writes one size. A row that was inserted after one of these was dropped
// is younger than all of them.
func (t *Table) saveTrust(ctx context.Context, size int, rows []Trust) error {
	euis, created := make([]lorawan.EUI, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		euis[i], created[i] = r.DevEUI, r.Created
	}
	_, err := t.write(ctx, write{euis: euis, statement: `
		UPDATE devices SET trust = $1
		WHERE dev_eui IN ` + t.db.set("$2") + ` AND created IN ` + t.db.set("$3") + ` RETURNING ` + columns,
		args: []any{size, list(euis), list(created)},
	})
	return err
}
