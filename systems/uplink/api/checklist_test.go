package api

import (
	"net/http"
	"testing"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table"
)

// Bridges do not know a device's JoinEUI and give its DevEUI, and its DevAddr with
// it. Such a row is found by the address, and by any join request of the device.
func TestChecklistBridgeInsert(t *testing.T) {
	tab := openTable(t, table.Config{})
	lamps, _ := serve(t, Config{Table: tab})
	lamps.post("devices/insert", `{"DevEUI":"9c1f4a00d2e80b37","JoinEUI":"9c1f4a00d2e80b37","DevAddr":"06a9d3f1"}`).ok(http.StatusCreated)
	lamps.post("devices/insert", `{"DevEUI":"9c1f4a00d2e80b38","JoinEUI":"4be6027755ad9013"}`).ok(http.StatusCreated)
	rows := tab.ByAddr(nil, 0x06a9d3f1)
	if len(rows) != 1 || rows[0].Customer != "lamps" || rows[0].DevEUI != 0x9c1f4a00d2e80b37 {
		t.Errorf("by the address: %+v", rows)
	}
	for _, tt := range []struct {
		eui, join lorawan.EUI
		want      bool
	}{
		{0x9c1f4a00d2e80b37, 0x4be6027755ad9013, true},
		{0x9c1f4a00d2e80b37, 0, true},
		{0x9c1f4a00d2e80b38, 0x4be6027755ad9013, true},
		{0x9c1f4a00d2e80b38, 0x9c1f4a00d2e80b38, false},
	} {
		if row, ok := tab.ByDevEUI(tt.eui); !ok || row.Joins(tt.join) != tt.want {
			t.Errorf("device %v, JoinEUI %v: %+v, want %v", tt.eui, tt.join, row, tt.want)
		}
	}
}
