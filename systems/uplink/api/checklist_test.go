package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"contend/systems/uplink/lorawan"
	"contend/systems/uplink/table"
)

// The published client's session: every method of its routing table, on both bases,
// and every error code of it as its exception.
func TestChecklistClient(t *testing.T) {
	for _, base := range []string{"", ".0"} {
		t.Run("v1"+base, func(t *testing.T) {
			lamps, _ := serve(t, Config{Table: openTable(t, table.Config{DeviceLimit: 3})})
			lamps.url += base
			insert := func(eui int) answer {
				return lamps.post("devices/insert", fmt.Sprintf(`{"DevEUI": "%016x", "JoinEUI": "%016x"}`, eui, 0xa0+eui))
			}
			for eui := 1; eui <= 3; eui++ {
				d := insert(eui).device(http.StatusCreated)
				if d.eui != uint64(eui) || *d.join != uint64(0xa0+eui) || d.active != nil || d.target != nil || d.details != nil {
					t.Errorf("inserted %+v", d)
				}
			}
			insert(3).fails(http.StatusConflict, "Device.AlreadyExists")
			insert(4).fails(http.StatusForbidden, "Device.LimitExhausted")

			for query, want := range map[string][]uint64{
				"":                  {1, 2, 3},
				"?limit=2":          {1, 2},
				"?offset=1&limit=1": {2},
				"?DevEUIs=0000000000000001&DevEUIs=0000000000000003&DevEUIs=0000000000000009": {1, 3},
				"?DevEUIs=0000000000000001&DevEUIs=0000000000000003&offset=1":                 {3},
			} {
				if got := lamps.get("devices/select" + query).euis(); !slices.Equal(got, want) {
					t.Errorf("select%s: %v, want %v", query, got, want)
				}
			}

			update := `{"DevEUI": "0000000000000002", "JoinEUI": "00000000000000a2", "ActiveDevAddr": "00000001", "TargetDevAddr": "00000002"}`
			if d := lamps.post("devices/update", update).device(http.StatusOK); show(d.active) != "1" || show(d.target) != "2" {
				t.Errorf("updated %+v", d)
			}
			lamps.post("devices/update", strings.Replace(update, "a2", "a3", 1)).fails(http.StatusNotFound, "Device.NotFound")
			if got := lamps.post("devices/update", `{"DevEUI": "2"}`).invalidAt(); len(got) != 2 {
				t.Errorf("error_detail: %q", got)
			}
			(&client{t, lamps.url, "wrong"}).get("devices/select").fails(http.StatusUnauthorized, "Unauthorized")
			lamps.get("devices/replace").fails(http.StatusNotFound, "Unknown")

			if got := lamps.post("devices/drop", `{"DevEUIs": ["0000000000000002", "0000000000000009"]}`).ok(http.StatusOK); got != `{"deleted":1}` {
				t.Errorf("delete: %s", got)
			}
			got := lamps.do(http.MethodPost, "devices/drop-all", "", "Content-Type", "application/octet-stream").ok(http.StatusOK)
			if got != `{"deleted":2}` {
				t.Errorf("delete all: %s", got)
			}
			if got := lamps.get("devices/select").euis(); len(got) != 0 {
				t.Errorf("left are %v", got)
			}
		})
	}
}

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
