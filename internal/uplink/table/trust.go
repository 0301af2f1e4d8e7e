package table

import (
	"context"
	"fmt"
	"math"
	"slices"

	"contend/internal/uplink/lorawan"
)

// Trust returns the size of a device's MIC challenge as it was saved, 0 if none was.
func (t *Table) Trust(eui lorawan.EUI) int { return t.index.trustOf(eui) }

// SaveTrust saves the sizes of the devices' MIC challenges, 0 to 65535, for the time
// after a restart. What is saved already is not written again, and devices that are
// gone are left out. After an error some sizes may be saved.
func (t *Table) SaveTrust(ctx context.Context, sizes map[lorawan.EUI]int) error {
	bySize := map[int][]lorawan.EUI{}
	for eui, size := range sizes {
		if size < 0 || size > math.MaxUint16 {
			return fmt.Errorf("%w: challenge is %d entries; allowed: 0 to 65535", ErrInvalid, size)
		}
		if t.Trust(eui) != size {
			bySize[size] = append(bySize[size], eui)
		}
	}
	for size, euis := range bySize {
		for chunk := range slices.Chunk(euis, chunkRows) {
			if err := t.saveTrust(ctx, size, chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) saveTrust(ctx context.Context, size int, euis []lorawan.EUI) error {
	_, err := t.write(ctx, write{euis: euis, statement: `
		UPDATE devices SET trust = $1 WHERE dev_eui IN ` + t.db.set("$2") + ` RETURNING ` + columns,
		args: []any{size, list(euis)},
	})
	return err
}
